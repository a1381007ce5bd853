/* SPDX-License-Identifier: MIT */
#pragma once

/* What the threads of a VMM and of its vCPUs did on the host while a request was in a stage: the reason why that was
 * slow. The states of all threads and CPUs of the host are kept, at most IO_WHY_MAX intervals. Before these are too many,
 * the user says which times are still needed (io_why_keep_only()). Not thread-safe. */

#include "analysis/states/states.h"
#include "base/text.h"

#define IO_WHY_MAX (1u << 19)
#define IO_WHY_SPANS_MAX 100 /* if more of the slowest are kept, nothing is said of them */

struct io_state {
    int64_t begin, end;
    const struct origin *origin;
    int32_t id; /* the thread; of a CPU, the CPU */
    int32_t cpu, by;
    uint8_t of, state;
};

/* Which thread of the host runs a vCPU. */
struct io_vcpu {
    int32_t vcpu, pid; /* PID_UNKNOWN: several do, as of two virtual machines */
};
#define IO_WHY_VCPUS_MAX 1024

struct io_why {
    struct states states;
    struct io_vcpu *vcpus;
    unsigned n_vcpus;
    int32_t
        all_vcpus; /* the thread of a VMM that runs all of them, one after the other; PID_UNKNOWN: none, or several */
    bool has_all_vcpus;
    struct io_state *kept; /* by the order in which they were known, about that of their ends */
    unsigned n, room;
    unsigned max;       /* IO_WHY_MAX; tests have less */
    unsigned n_crowded; /* when io_why_keep_only() is due */
    /* States that ended before are not all kept, but those of the times that were needed then; INT64_MIN: all are. */
    int64_t gone_until;
    /* ... even those. */
    int64_t all_gone_until;
};

/* A time that is needed. */
struct io_time {
    int64_t begin, end;
};

int io_why_init(struct io_why *why);
/* 0, -ENOMEM. */
int io_why_put(struct io_why *why, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
void io_why_begin_loss(struct io_why *why, const struct item *item);
int io_why_finish(struct io_why *why);

/* Whether io_why_keep_only() is due. */
bool io_why_is_crowded(const struct io_why *why);
/* Forgets states that are in none of the N times, and end before the first of FROMS. Where still too many are left, also
 * those that end before the next one, and so on; and if that is not enough, older ones. TIMES are ordered in place. */
void io_why_keep_only(struct io_why *why, struct io_time *times, unsigned n, const int64_t *froms,
                      unsigned n_froms);
void io_why_done(struct io_why *why);

/* The thread of the host that runs VCPU; PID_UNKNOWN: it is not known. */
int32_t io_why_vcpu_thread(const struct io_why *why, int32_t vcpu);

/* How many ticks of those from BEGIN to END thread PID of the host slept, as far as is known. */
int64_t io_why_slept(const struct io_why *why, int32_t pid, int64_t begin, int64_t end);

/* Puts what thread PID of the host did from BEGIN to END: how long it ran, was runnable, behind whom, slept, and for how
 * much that is unknown, which add up. That it slept comes first if it did so most of the time. Nothing is put if nothing is
 * known: "qemu-system-x86-5559 ran 32.1 us, was runnable 4.03 ms on CPU 0 behind ALL CPUs/TCG-5574 (98% of it)". */
void io_why_put_thread(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                       const struct clock *clock, struct text *text);

/* The same, and before it those that it woke there and that are called "worker". */
void io_why_put_text(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                     const struct clock *clock, struct text *text);
