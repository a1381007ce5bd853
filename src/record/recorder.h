/* SPDX-License-Identifier: MIT */
#pragma once

/* Something that is recorded: per-CPU trace buffers, the rings of a program, QEMU, a kernel by its agent.
 *
 * A recorder is one implementation of `struct recorder_ops`; a recording (record/recording.h) runs any number of them in
 * one thread and one loop. The contract:
 *
 *  R1  The recording calls start() once, in the order in which recorders were added, and nothing but free() before. A
 *      recorder may start one that was added after it sooner (recording_start()). Where start() fails, the recorder has
 *      released and removed what it had made; free() alone follows. So it is for the others, unless it is `is_optional`:
 *      then they are recorded without it, and the trace has its error as a problem.
 *  R2  From then on poll() says what the recorder waits for: descriptors, and the time at which step() is due although
 *      none of them is ready. It is asked before each sleep. A recorder with nothing due names no time: nothing polls by
 *      timers.
 *  R3  step() is called when a descriptor is ready, the time has come, or stop() was called since. It does what can be
 *      done without waiting, and returns 1; or 0 when nothing more will come; or -errno with its error, and the recorder
 *      has failed. One that fails ends alone: the others go on.
 *  R4  stop() asks for the end, more urgently each time (enum recorder_urgency), and returns the time at which the
 *      recording is to ask more urgently by itself; UINT64_MAX: never. Where the time of RECORDER_KILL has passed too,
 *      the recording waits no longer.
 *  R5  finish() is called once, after step() has said that it is the end, has failed, or was waited for in vain. It
 *      reads what is left, restores what was changed, and closes. It may wait for what is bounded. From then on
 *      everything that is known of the recorder is final.
 *  R6  sources() may be called from when start() calls recording_note(), or has returned, until free(). It describes how
 *      things are; a source is `complete` only after finish(). A recorder whose description has changed calls
 *      recorder_changed().
 *  R7  discard() removes from the recording's directory what start() has made there. It is called after finish(), where
 *      the recording as a whole could not begin.
 *  R8  flush() asks that all that was recorded until now be brought to the recorder's files: what a guest's kernel, a
 *      ring or a queue still holds. Where that needs answers, step() goes on with it, and is_flushed() says whether it has been
 *      done. The recording waits for it for a bounded time, and calls nothing where it is not (a guest that does not
 *      answer).
 *
 * No operation prints: messages go through recorder_report() and recorder_problem(). */

#include <poll.h>

#include "base/arena.h"
#include "base/error.h"
#include "tracedir/manifest.h"

struct recorder;
struct recording;

#define RECORDER_PROBLEMS_MAX 16u
#define RECORDER_REPORTS_MAX 32u

/* What a recorder waits for. */
struct recorder_wait {
    struct pollfd *fds;
    unsigned n, room;
    uint64_t until; /* CLOCK_MONOTONIC, ns; UINT64_MAX: no time */
    bool failed;    /* out of memory */
};

/* Adds a descriptor; -1: one that is never ready. */
void recorder_wait_fd(struct recorder_wait *wait, int fd, short events);
/* step() is due at NS (CLOCK_MONOTONIC) at the latest. */
void recorder_wait_until(struct recorder_wait *wait, uint64_t ns);

enum recorder_urgency {
    RECORDER_STOP = 1, /* end in order: what is recorded sends the rest */
    RECORDER_STOP_NOW, /* end now: wait for nothing */
    RECORDER_KILL,     /* by force */
};

enum recorder_reason {
    RECORDER_BY_SIGNAL,
    RECORDER_BY_TIME,  /* --time is up */
    RECORDER_BY_END,   /* what the recording is about has ended, or failed */
    RECORDER_BY_LIMIT, /* the disk has no more room */
};

struct recorder_stop {
    enum recorder_urgency urgency;
    enum recorder_reason reason;
    int signal;    /* by a signal: which */
    bool is_alone; /* … that reached this process alone, not those that share its terminal */
    bool is_early; /* … and may have come before the recorder had started */
};

struct recorder_sources {
    struct manifest_source *items; /* in the arena */
    unsigned n;
    unsigned about; /* which of them the problems of the recorder stand with */
};

struct recorder_stats {
    uint64_t bytes, events, lost;
};

struct recorder_ops {
    int (*start)(struct recorder *recorder, struct error *error);
    /* True when the next recorder may be started. NULL: always true. A recorder that fails before is treated like one whose
     * start() failed, except that finish() and discard() are called. */
    bool (*is_ready)(const struct recorder *recorder);
    void (*poll)(struct recorder *recorder, struct recorder_wait *wait);
    /* FDS: those of poll(), N, in its order. NOW: CLOCK_MONOTONIC, ns. */
    int (*step)(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error);
    uint64_t (*stop)(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now);
    /* NULL: whatever was recorded is in its files after each step. is_flushed NULL: … or after flush(). */
    void (*flush)(struct recorder *recorder, uint64_t now);
    bool (*is_flushed)(const struct recorder *recorder);
    /* Why the latest events may be missing after a flush, or NULL. Op NULL: never missing. */
    const char *(*missing_reason)(const struct recorder *recorder);
    int (*finish)(struct recorder *recorder, struct error *error);
    /* -ENOMEM. What RET points to lives in ARENA, or as long as the recorder and is not changed meanwhile. NULL: none. */
    int (*sources)(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret);
    /* NULL: not counted. */
    void (*stats)(const struct recorder *recorder, struct recorder_stats *ret);
    /* NULL: nothing is made. */
    void (*discard)(struct recorder *recorder);
    void (*free)(struct recorder *recorder);
};

/* The head of an implementation's structure. The implementation sets `ops`, `name`, `is_primary`, `is_service` and
 * `waits`; the rest is the recording's. */
struct recorder {
    const struct recorder_ops *ops;
    const char *name; /* for messages; borrowed */
    /* The recording is about it: when all primary recorders have ended, the others are stopped. */
    bool is_primary;
    /* It records nothing, but serves what the others record (snapshots, metrics). It is stopped when all others have ended. */
    bool is_service;
    /* Before it is ready: it waits for something that may never come. Then the recording waits without limit, and a signal
     * meanwhile fails it. */
    bool waits;
    /* Reports its problems and losses itself, as they occur. */
    bool reports_at_once;
    bool is_end_reported; /* its own end */
    /* Where it cannot be started, the recording goes on without it. */
    bool is_optional;
    bool has_lost_uncounted; /* recorder_lost() was called */
    struct recording *recording;
    enum recorder_state {
        RECORDER_NEW,
        RECORDER_RUNNING,
        RECORDER_FINISHED,
    } state;
    bool is_asked;    /* step() is due as stop() was called */
    unsigned urgency; /* of the last stop(); 0: none */
    uint64_t urge_at; /* … and when the next one is due */
    unsigned first_fd, n_fds;
    uint64_t due_at;
    struct error error; /* why it failed; error 0: it has not */
    const char *problems[RECORDER_PROBLEMS_MAX];
    unsigned n_problems;
    uint64_t reports[RECORDER_REPORTS_MAX]; /* hashes of the newest */
    unsigned n_reports;
};

/* What happens to what is recorded, as triggers may wait for it (record/triggers.h). Strings are valid for the call. */
struct recorder_event {
    enum {
        RECORDER_EVENT_QMP, /* QEMU's monitor sent an event */
        RECORDER_EVENT_END, /* the process that the recording is about has ended, and the recorder has finished */
    } kind;
    const char *name; /* of QMP's: "STOP" */
    const char *text; /* what happened, for people: "STOP {…}", "killed by signal 9" */
    int status;       /* of the process, as of waitpid(); -1: not known */
    uint64_t time;    /* CLOCK_MONOTONIC, ns */
};

/* ---- For implementations ---- */

/* Whether others record on, and were not stopped. */
bool recorder_others_go_on(const struct recorder *recorder);
/* … and RECORDER has ended, or failed, without being stopped. */
bool recorder_has_ended_early(const struct recorder *recorder);
/* The manifest is to be written again, before long. */
void recorder_changed(struct recorder *recorder);
/* step() is due now: another recorder, which it depends on, has changed. */
void recorder_wake(struct recorder *recorder);
/* Something that readers of the trace should know, a sentence: it goes into the manifest. */
void recorder_problem(struct recorder *recorder, const char *format, ...) _printf_(2, 3);
/* The same of events that were lost, or may be missing, and that no count has. */
void recorder_lost(struct recorder *recorder, const char *format, ...) _printf_(2, 3);
/* Something that the user should know now, a sentence. */
void recorder_report(struct recorder *recorder, const char *format, ...) _printf_(2, 3);
/* Reports EVENT to what waits for it (recording_on_event()). The end is reported by what has ended by itself, not by what was
 * stopped. */
void recorder_happened(struct recorder *recorder, const struct recorder_event *event);
/* What is recorded is of no use any more: all that are not stopped yet are. */
void recorder_stop_all(struct recorder *recorder);
/* The disk of PATH has less free than the recording's min_free: all are stopped, and a message says so. */
void recorder_disk_is_full(struct recorder *recorder, const char *path);
