/* SPDX-License-Identifier: MIT */
#pragma once

/* A recording: any number of recorders (record/recorder.h) at once, in one thread, into one trace directory.
 *
 *     new, add …   nothing is touched but the directory, which is made, or has to be empty
 *     run          starts the recorders in their order; sleeps in one ppoll() for all of them, the signals and the
 *                  nearest time that something is due; stops them by a signal, at the end of --time, when those that
 *                  lead have ended or the disk is full; finishes each
 *     free
 *
 * It owns the directory with its lock, the entry in the registry, the manifest and the room that is kept for it on the
 * disk. The manifest is written when all have started, at most ten times a second when one has changed, and at the
 * end; so the trace of a recording that was killed opens. Nothing here prints. */

#include "record/recorder.h"
#include "record/stop_signals.h"
#include "tracedir/registry.h"

/* All borrowed, for as long as the recording is there. */
struct recording_settings {
    /* The trace directory; NULL: the recorders write elsewhere, and there is no manifest. */
    const char *dir;
    bool restarts; /* what `dir` has is kept as a snapshot (record/restart.h), after … */
    /* … has saved in it what ended programs and agents have left; NULL: nothing does */
    void (*rescue)(int dir, const char *path);
    const char *limit; /* what is kept, for the registry: "5m,2G"; "": everything */
    /* Where `dir` is NULL, a directory that a recorder makes, and the registry lists; NULL: none. */
    const char *listed;
    const char *runtime;          /* $XDG_RUNTIME_DIR or NULL */
    struct stop_signals *signals; /* caught by the caller; NULL: none */
    uint64_t time;                /* ns from when all have started; 0: no limit */
    uint64_t max_size;            /* of each source, bytes; 0: any */
    uint64_t min_free;            /* bytes on the disk; 0: any */
    /* Prints what the user should know at once; NULL: nothing does. */
    void (*report)(void *userdata, const char *text);
    void (*begun)(void *userdata); /* all have started; NULL: nothing is called */
    /* Is called every `progress_ns` where that is not 0. */
    void (*progress)(void *userdata, const struct recording *recording);
    uint64_t progress_ns;
    void *userdata;
};

/* -EEXIST with ERROR: there is something in the directory, or another recording is under way there. -errno with
 * ERROR. */
int recording_new(const struct recording_settings *settings, struct recording **ret,
                  struct error *error);
/* RECORDER is freed with the recording. -ENOMEM: it stays the caller's. */
int recording_add(struct recording *recording, struct recorder *recorder);
/* From the start of the first recorder to the end of the last one. -errno with ERROR: a recorder could not be started,
 * and nothing is left of the recording; or the last manifest could not be written. That a recorder fails later is no
 * failure of this: its `error` says so, and was reported. */
int recording_run(struct recording *recording, struct error *error);
/* Whether recording_run() had started all recorders; not so where RECORDING is NULL. */
bool recording_has_begun(const struct recording *recording);
/* After recording_run(): removes what was recorded, and with recording_free() the directory, if it was made. */
void recording_remove(struct recording *recording);
void recording_free(struct recording *recording);

/* ---- For recorders ---- */

/* The directory, open, and its absolute path; -1 and NULL: there is none. */
int recording_dir(const struct recording *recording);
const char *recording_path(const struct recording *recording);
const struct recording_settings *recording_settings(const struct recording *recording);
/* Makes sure that there is an entry in the registry, for things that live as long as the recording: FIFOs, sockets. -errno
 * with ERROR. */
int recording_register(struct recording *recording, struct error *error);
/* Leaves the recording's entry in the registry to the next recorder at the end, as what it says to restore is not restored. */
void recording_keep_registry_entry(struct recording *recording);
const struct registry_entry *recording_registry_entry(const struct recording *recording);
/* Starts RECORDER, which was added after the caller and has not started yet, now. -errno with ERROR. */
int recording_start(struct recorder *recorder, struct error *error);
/* Writes the manifest now: before something starts that is not to run unless its trace can be opened. -errno with ERROR. */
int recording_note(struct recording *recording, struct error *error);
/* HANDLE is called for each event of a recorder from now on, within its step() or finish(). One per recording. */
void recording_on_event(struct recording *recording,
                        void (*handle)(void *userdata, const struct recorder_event *event),
                        void *userdata);
/* CLOCK_MONOTONIC, ns, when --time is up; UINT64_MAX: never. */
uint64_t recording_time_up(const struct recording *recording);
/* Whether it was stopped by min_free. */
bool recording_is_full(const struct recording *recording);
struct recorder *const *recording_recorders(const struct recording *recording, unsigned *ret_n);
/* Whether anything is being recorded, or will be: a service (recorder.h) does not count. */
bool recording_is_under_way(const struct recording *recording);
/* How often the loop has slept: an idle recording does so fewer than five times a second. */
uint64_t recording_wakeups(const struct recording *recording);
/* From now on the time at which the loop is woken up is measured. False: the kernel does not say how long a thread waited
 * for a CPU. */
bool recording_measure_wakeups(struct recording *recording);
/* CLOCK_MONOTONIC, ns: until then, surely, no descriptor that the loop last slept for was ready. 0: not known. */
uint64_t recording_woken_at(const struct recording *recording);
