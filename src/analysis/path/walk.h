/* SPDX-License-Identifier: MIT */
#pragma once

/* The path of an interval: why it took so long, as segments from its begin to its end that follow each other without a gap.
 *
 * Who has to act at the end of the interval is followed backward: while a thread runs, it is what the time was for; while it
 * waits for a CPU, others run there; while it sleeps, the time is that of what wakes it at the end: a thread, whose own time is
 * followed, or an interrupt, whose source is followed. A request to a disk is followed stage by stage: the thread whose event
 * ends a stage had to act in it. What a guest's thread did while it ran is what its vCPU's thread did on the host.
 *
 * Invariants:
 *  PATH-1  The segments of an interval add up to it, exactly.
 *  PATH-2  What the trace does not show is PATH_UNKNOWN, with the reason.
 *  PATH-3  A segment has the error of the duration between its two ends, each in its own clock (event/clock_error.h). One that
 *          is shorter than that may be a part of its neighbours.
 *
 * Not thread-safe. */

#include "analysis/path/history.h"

#define PATH_DEPTH_MAX 64
#define PATH_WORKER "worker"     /* as QEMU calls the threads of its pool */
#define PATH_SEGMENTS_MAX 65536u /* of an interval; what follows is unknown */

enum path_what {
    PATH_RUNS,
    PATH_EXIT, /* a vCPU's thread runs outside of its guest, after an exit, whose reason is `name` */
    PATH_WAITS,     /* for a CPU: `behind` says who ran there */
    PATH_QUEUED,    /* a request, in the block layer */
    PATH_DISK,      /* a request, with its device */
    PATH_SLEEPS,    /* only of path_walk_own() */
    PATH_TIMER,     /* it sleeps until a timer */
    PATH_INTERRUPT, /* it sleeps until an interrupt, which may have a name */
    PATH_STAGE,     /* a request, in a stage of a VMM whose host's kernel has no states */
    PATH_UNKNOWN,
};

enum path_reason {
    PATH_REASON_NONE,
    PATH_NO_STATES,     /* its kernel has no scheduler events */
    PATH_OTHER_NUMBERS, /* it was recorded in a PID namespace, whose numbers are not its kernel's */
    PATH_NO_HOST,       /* nor has the host's, which runs the thread of a VMM */
    PATH_NO_THREAD,     /* which thread had to act is not known */
    PATH_NOT_SEEN,      /* events are missing, lost or contradict others */
    PATH_TOO_OLD,       /* it is no longer kept */
    PATH_NO_WAKER,      /* who woke it is not known */
    PATH_NOT_WOKEN,     /* it is woken after the end */
    PATH_MAYBE_IRQ,     /* a thread woke it, or an interrupt on its CPU, which were not recorded */
    PATH_NO_REQUEST,    /* a request to a disk woke it, whose begin is not known */
    PATH_NO_BEGIN,      /* before a request of which it is not known who made it */
    PATH_TOO_DEEP,
};

/* BY ran on a CPU while a thread waited for it: a thread, or RUN_IDLE, RUN_INTERRUPT, RUN_UNKNOWN. */
struct path_behind {
    int32_t by;
    int64_t ticks;
};

/* A begin or an end. */
struct path_limit {
    struct history_clock clock; /* that its time is of */
    bool is_known;              /* it is; else it may be that of the neighbour */
};

/* A part of the path between two times whose clocks are known. */
struct path_bounds {
    const struct path_bounds *outer; /* NULL: none */
    int64_t times[2];
    struct history_clock clocks[2];
};

struct path_segment {
    int64_t begin, end;
    const struct origin *origin; /* NULL: not known */
    int32_t pid;                 /* PID_UNKNOWN */
    int32_t cpu;                 /* that it runs on, or waits for; CPU_UNKNOWN */
    uint8_t what;                /* enum path_what */
    uint8_t reason;              /* enum path_reason */
    const char *name;            /* of an interrupt or a stage; NULL: none */
    /* What it sleeps in; of PATH_RUNS, what thread `wakes` is in, which it wakes later (calls.h). NULL: not known. */
    const char *call;
    int32_t wakes;
    uint64_t device;             /* of a request */
    struct path_limit limits[2]; /* its begin and end */
    uint32_t error_ns;           /* of its duration */
    uint32_t first_behind,
        n_behind; /* PATH_WAITS: those that ran, which add up to the segment; the longest first */
};

struct path_walk {
    const struct history *history;
    struct path_segment *segments;
    unsigned n, room;
    unsigned n_done; /* of the segments; the next one is no part of these */
    struct path_behind *behind;
    unsigned n_behind, behind_room;
    unsigned depth;
    bool is_own; /* path_walk_own() */
    /* Who is walked wakes thread `wakes` of its kernel, which is in `call`; NULL: not known. */
    const char *call;
    int32_t wakes;
    const struct path_bounds *bounds; /* of what is walked now; NULL: none */
    int error;                        /* -ENOMEM */
};

/* What an interval ends with. */
struct path_end {
    const struct origin *origin;
    int32_t pid; /* that has to act; PID_UNKNOWN */
    bool in_interrupt;
    struct wake_cause cause; /* of an interrupt */
};

/* Each starts with an empty path; -ENOMEM. */
int path_walk_thread(struct path_walk *walk, const struct path_end *end, int64_t begin,
                     int64_t until);
int path_walk_request(struct path_walk *walk, const struct io_request *request);
/* What thread PID of ORIGIN did itself: nothing that it waited for is followed. */
int path_walk_own(struct path_walk *walk, const struct origin *origin, int32_t pid, int64_t begin,
                  int64_t until);
void path_walk_done(struct path_walk *walk);
