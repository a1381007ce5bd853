/* SPDX-License-Identifier: MIT */
#pragma once

/* Something that is recorded: per-CPU trace buffers, the rings of a program, QEMU, a kernel by its agent.
 *
 * A recorder is one implementation of `struct recorder_ops`; a recording (record/recording.h) runs any number of them in
 * one thread and one loop. The contract:
 *
 *  REC-1  The recording calls start() once, in the order in which recorders were added. Before start(), it calls only free().
 *         A recorder may start a later recorder sooner (recording_start()). If start() fails, the recorder has released and
 *         removed everything that it made, and only free() follows. The recording then fails, and so do the other recorders.
 *         If the recorder is `is_optional`, the others are recorded without it, and the trace has its error as a problem.
 *  REC-2  From then on, poll() says what the recorder waits for: descriptors, and the time at which step() is due although no
 *         descriptor is ready. The recording asks before each sleep. A recorder with nothing due names no time, so that no
 *         timer wakes an idle recording.
 *  REC-3  step() is called when a descriptor is ready, when the time has come, or after stop(). It does what it can without
 *         waiting. It returns 1; 0 when nothing more will come; or -errno with its error when the recorder has failed. A
 *         recorder that fails ends alone: the others continue.
 *  REC-4  stop() asks for the end, more urgently each time (enum recorder_urgency). It returns the time at which the recording
 *         asks more urgently by itself; UINT64_MAX: never. After the time of RECORDER_KILL, the recording does not wait any
 *         longer.
 *  REC-5  finish() is called once, after step() has returned 0 or failed, or after the recording has stopped waiting. It reads
 *         the rest, restores what was changed, and closes. It may wait for a bounded time. From then on, everything that is
 *         known of the recorder is final.
 *  REC-6  sources() may be called after start() has called recording_note() or has returned, until free(). It describes the
 *         present state; a source is `complete` only after finish(). A recorder whose description has changed calls
 *         recorder_changed().
 *  REC-7  discard() removes what start() has made in the recording's directory. It is called after finish(), if the recording
 *         as a whole could not begin.
 *  REC-8  flush() asks that everything recorded until now reaches the recorder's files: data that a guest's kernel, a ring or a
 *         queue still holds. If that needs answers, step() continues it, and is_flushed() says when it is done. The recording
 *         waits for a bounded time. A flush that does not complete in this time (a guest that does not answer) is no error.
 *
 * No operation prints: messages go through recorder_report() and recorder_problem(). */

#include <poll.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
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
    bool is_alone; /* the signal reached only this process, not others of its terminal */
    bool is_early; /* the signal may have come before the recorder had started */
};

struct recorder_sources {
    struct manifest_source *items; /* in the arena */
    unsigned n;
    unsigned about; /* the source to which the problems of the recorder are added */
    /* Set by the caller: the recorded data is copied up to this moment (CLOCK_MONOTONIC, ns); 0: it is not copied. */
    uint64_t until;
};

struct recorder_stats {
    uint64_t bytes, events, lost;
};

/* What was recorded, for people: lines, each with its newline. */
struct recorder_summary {
    const char *dir; /* set before: the recording's directory */
    bool is_only;    /* set before: the recording has no other recorder */
    struct text result;
    struct text notes; /* what is missing in it, and why */
    bool has_losses;
};

struct recorder_ops {
    int (*start)(struct recorder *recorder, struct error *error);
    /* True when the next recorder may be started. NULL: always true. A recorder that fails before it is ready is treated as if
     * its start() had failed, except that finish() and discard() are called. */
    bool (*is_ready)(const struct recorder *recorder);
    void (*poll)(struct recorder *recorder, struct recorder_wait *wait);
    /* FDS has the N descriptors of poll(), in its order. NOW is CLOCK_MONOTONIC, ns. */
    int (*step)(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error);
    uint64_t (*stop)(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now);
    /* flush NULL: all recorded data is in the files after each step. is_flushed NULL: it is in the files after flush(). */
    void (*flush)(struct recorder *recorder, uint64_t now);
    bool (*is_flushed)(const struct recorder *recorder);
    /* Why the latest events may be missing after a flush, or NULL. Op NULL: never missing. */
    const char *(*missing_reason)(const struct recorder *recorder);
    int (*finish)(struct recorder *recorder, struct error *error);
    /* Pointers in RET are into ARENA, or to data that the recorder keeps and does not change. -ENOMEM. NULL: no sources. */
    int (*sources)(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret);
    /* NULL: not counted. */
    void (*stats)(const struct recorder *recorder, struct recorder_stats *ret);
    /* Called after finish(). The caller frees both texts; a text keeps its own error. NULL: the code that created the
     * recorder prints the result. */
    void (*summarize)(const struct recorder *recorder, struct recorder_summary *summary);
    /* NULL: start() makes nothing. */
    void (*discard)(struct recorder *recorder);
    void (*free)(struct recorder *recorder);
};

/* The head of an implementation's structure. The implementation sets `ops`, `name`, `is_primary`, `is_service` and
 * `waits`; the rest is the recording's. */
struct recorder {
    const struct recorder_ops *ops;
    const char *name; /* for messages; borrowed */
    /* The recording is about this recorder's subject. When all primary recorders have ended, the others are stopped. */
    bool is_primary;
    /* It records nothing, but serves the other recorders (snapshots, metrics). It is stopped when all others have ended. */
    bool is_service;
    /* Until it is ready, it waits for something that may never come. The recording then waits without limit, and a signal
     * in this time makes the recording fail. */
    bool waits;
    /* Reports its problems and losses itself, as they occur. */
    bool reports_at_once;
    bool is_end_reported; /* it has reported its own end */
    /* If it cannot be started, the recording continues without it. */
    bool is_optional;
    bool has_lost_uncounted; /* recorder_lost() was called */
    struct recording *recording;
    enum recorder_state {
        RECORDER_NEW,
        RECORDER_RUNNING,
        RECORDER_FINISHED,
    } state;
    bool is_asked;    /* step() is due because stop() was called */
    unsigned urgency; /* of the last stop(); 0: none */
    uint64_t urge_at; /* when the next stop() is due */
    unsigned first_fd, n_fds;
    uint64_t due_at;
    struct error error; /* why it failed; error 0: it has not */
    const char *problems[RECORDER_PROBLEMS_MAX];
    unsigned n_problems;
    uint64_t reports[RECORDER_REPORTS_MAX]; /* hashes of the newest */
    unsigned n_reports;
};

/* An event of a recorder for which triggers may wait (record/triggers.h). Strings are valid during the call. */
struct recorder_event {
    enum {
        RECORDER_EVENT_QMP, /* QEMU's monitor sent an event */
        RECORDER_EVENT_END, /* the process that the recording is about has ended, and the recorder has finished */
    } kind;
    const char *name; /* of an event of QMP: "STOP" */
    const char *text; /* what happened, for people: "STOP {…}", "killed by signal 9" */
    int status;       /* of the process, from waitpid(); -1: not known */
    uint64_t time;    /* CLOCK_MONOTONIC, ns */
};

/* ---- For implementations ---- */

/* True if other recorders still record, and were not stopped. */
bool recorder_others_go_on(const struct recorder *recorder);
/* True if that holds and RECORDER has ended or failed without being stopped. */
bool recorder_has_ended_early(const struct recorder *recorder);
/* Asks the recording to write the manifest again soon. */
void recorder_changed(struct recorder *recorder);
/* Makes step() due now, because another recorder on which this one depends has changed. */
void recorder_wake(struct recorder *recorder);
/* Adds a sentence to the manifest: something that readers of the trace should know. */
void recorder_problem(struct recorder *recorder, const char *format, ...) _printf_(2, 3);
/* The same, about lost or missing events that no count includes. Only the manifest says this: where the loss has a place, write it
 * into the file, too. */
void recorder_lost(struct recorder *recorder, const char *format, ...) _printf_(2, 3);
/* Tells the user a sentence now. */
void recorder_report(struct recorder *recorder, const char *format, ...) _printf_(2, 3);
/* Reports EVENT to recording_on_event(). A recorder reports its end only if it has ended by itself, not if it was stopped. */
void recorder_happened(struct recorder *recorder, const struct recorder_event *event);
/* Stops all recorders that are not stopped yet, because recording more is of no use. */
void recorder_stop_all(struct recorder *recorder);
/* Stops all recorders with a message, because the disk of PATH has less free space than the recording's min_free. */
void recorder_disk_is_full(struct recorder *recorder, const char *path);
