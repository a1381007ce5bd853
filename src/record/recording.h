/* SPDX-License-Identifier: MIT */
#pragma once

/* A recording: any number of recorders (record/recorder.h) at once, in one thread, into one trace directory.
 *
 *     new, add …   only makes the directory, or checks that it is empty
 *     run          starts the recorders in their order; sleeps in one ppoll() for all recorders, the signals and the
 *                  nearest due time; stops the recorders by a signal, at the end of --time, when the primary recorders
 *                  have ended or when the disk is full; finishes each
 *     free
 *
 * A recording owns the directory with its lock, the entry in the registry, the manifest, and the disk space that is kept
 * for the manifest. It writes the manifest when all recorders have started, at most ten times a second after changes, and
 * at the end. So the trace of a killed recording can be opened. Nothing here prints. */

#include "record/recorder.h"
#include "record/stop_signals.h"
#include "tracedir/registry.h"

/* All pointers are borrowed, as long as the recording exists. */
struct recording_settings {
    /* The trace directory; NULL: the recorders write elsewhere, and there is no manifest. */
    const char *dir;
    bool restarts; /* the old content of `dir` is kept as a snapshot (record/restart.h) */
    /* Called before that, to save in `dir` what ended programs and agents have left. May be NULL. */
    void (*rescue)(int dir, const char *path);
    const char *limit; /* of --flight, for the registry: "5m,2G"; "": everything is kept */
    /* If `dir` is NULL: a directory that a recorder makes and that the registry lists, or NULL. */
    const char *listed;
    const char *runtime;          /* $XDG_RUNTIME_DIR or NULL */
    struct stop_signals *signals; /* caught by the caller; NULL: none */
    uint64_t time;                /* ns after all recorders have started; 0: no limit */
    uint64_t max_size;            /* bytes of each source; 0: no limit. Each recorder obeys it */
    uint64_t min_free;            /* bytes on the disk; 0: no limit. The recording looks */
    /* Prints what the user should know at once. May be NULL. */
    void (*report)(void *userdata, const char *text);
    void (*begun)(void *userdata); /* called when all recorders have started; may be NULL */
    /* Called every `progress_ns`, unless that is 0. */
    void (*progress)(void *userdata, const struct recording *recording);
    uint64_t progress_ns;
    void *userdata;
};

/* -EEXIST with ERROR: the directory is not empty, or another recording is under way there. Other -errno with ERROR. */
int recording_new(const struct recording_settings *settings, struct recording **ret,
                  struct error *error);
/* The recording then owns RECORDER. -ENOMEM: the caller still does. */
int recording_add(struct recording *recording, struct recorder *recorder);
/* Runs from the start of the first recorder to the end of the last one. -errno with ERROR: a recorder could not be started,
 * and nothing of the recording is left; or the last manifest could not be written. If a recorder fails later, its `error`
 * says so and was reported, and this function succeeds. */
int recording_run(struct recording *recording, struct error *error);
/* True if recording_run() has started all recorders. False for NULL. */
bool recording_has_begun(const struct recording *recording);
/* After recording_run(): removes the recorded data. recording_free() then also removes the directory, if it was made. */
void recording_remove(struct recording *recording);
void recording_free(struct recording *recording);

/* ---- For recorders ---- */

/* The open directory, and its absolute path; -1 and NULL: there is no directory. */
int recording_dir(const struct recording *recording);
const char *recording_path(const struct recording *recording);
const struct recording_settings *recording_settings(const struct recording *recording);
/* Makes the entry in the registry if it is missing. The entry may hold things that live as long as the recording: FIFOs,
 * sockets. -errno with ERROR. */
int recording_register(struct recording *recording, struct error *error);
/* Keeps the entry in the registry at the end, so that the next recorder restores what could not be restored. */
void recording_keep_registry_entry(struct recording *recording);
const struct registry_entry *recording_registry_entry(const struct recording *recording);
/* Starts RECORDER now, which was added after the caller and has not started yet. -errno with ERROR. */
int recording_start(struct recorder *recorder, struct error *error);
/* Writes the manifest now. Call it before the start of something that must not run unless its trace can be opened. -errno
 * with ERROR. */
int recording_note(struct recording *recording, struct error *error);
/* From now on, calls HANDLE for each event of a recorder, within its step() or finish(). A recording has one HANDLE. */
void recording_on_event(struct recording *recording,
                        void (*handle)(void *userdata, const struct recorder_event *event),
                        void *userdata);
/* The time at which --time is up, CLOCK_MONOTONIC, ns; UINT64_MAX: never. */
uint64_t recording_time_up(const struct recording *recording);
/* True if min_free has stopped the recording. */
bool recording_is_full(const struct recording *recording);
struct recorder *const *recording_recorders(const struct recording *recording, unsigned *ret_n);
/* True if anything is being recorded, or will be. A service (recorder.h) does not count. */
bool recording_is_under_way(const struct recording *recording);
/* The number of sleeps of the loop. An idle recording sleeps fewer than five times a second. */
uint64_t recording_wakeups(const struct recording *recording);
/* From now on, measures when the loop is woken up. False: the kernel does not say how long a thread waited for a CPU. */
bool recording_measure_wakeups(struct recording *recording);
/* A time before which no descriptor of the last sleep was ready, CLOCK_MONOTONIC in ns. 0: unknown. */
uint64_t recording_woken_at(const struct recording *recording);
