/* SPDX-License-Identifier: MIT */
#pragma once

/* What threads of the host did in the stages of a request: the reason why a stage was slow. Found in the history of paths
 * (path/history.h), before the states are dropped; put as text at the end, when all threads have names. Not thread-safe. */

#include "analysis/path/walk.h"

#define IO_WHY_SPANS_MAX 10000 /* if more of the slowest are kept, nothing is said of them */

/* What thread PID did in a stage. The times add up to the stage. */
struct io_account {
    int64_t ran, waited, slept, unknown;
    int64_t longest_wait, behind_ticks; /* the longest wait; while BEHIND ran */
    int32_t pid;
    int32_t woken_by;    /* in the stage; PID_UNKNOWN: it is here for itself */
    int32_t cpu;         /* of the longest wait; CPU_UNKNOWN */
    int32_t behind;      /* who ran longest in its waits: a thread, or RUN_INTERRUPT; … */
    uint8_t point;       /* that ends the stage, an enum io_point */
    bool behind_is_seen; /* … nobody */
};

/* Of a request; zeroed: nothing is known. */
struct io_why {
    struct io_account *
        accounts; /* of a stage and a thread that it is here for, in the order in which they were woken */
    unsigned n, room;
};

/* Adds what thread PID of the host did from BEGIN to END, in the stage that ends at POINT; WITH_WOKEN: before it, what the threads
 * did that it woke there, if they are a VMM's pool or have no name yet. Nothing if nothing is known. 0, -ENOMEM. */
int io_why_add(struct io_why *why, struct path_walk *walk, unsigned point, int32_t pid,
               bool with_woken, int64_t begin, int64_t end);
void io_why_done(struct io_why *why);

/* NULL: nothing is known. */
const struct io_account *io_why_find(const struct io_why *why, unsigned point, int32_t pid);

/* Puts how long thread PID of HOST ran, was runnable, behind whom, slept, and how much is unknown. That it slept comes first if it did
 * so most of the time: "qemu-system-x86-5559 ran 32.1 us, was runnable 4.03 ms on CPU 0 behind ALL CPUs/TCG-5574 (98% of it)". */
void io_why_put_thread(const struct io_why *why, const struct origin *host, unsigned point,
                       int32_t pid, const struct clock *clock, struct text *text);
/* The same, and before it those that it woke there and that are called "worker". */
void io_why_put_text(const struct io_why *why, const struct origin *host, unsigned point,
                     int32_t pid, const struct clock *clock, struct text *text);
