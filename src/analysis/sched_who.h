/* SPDX-License-Identifier: MIT */
#pragma once

/* Who ran on a CPU while something waited for it. What each CPU ran is kept for WHO_RUNS runs; what is older is
 * unknown. */

#include "analysis/states.h"

#define WHO_RUNS 16384 /* of a CPU */
#define WHO_PAIRS_MAX 65536

/* What ran, if not a thread or a vCPU. */
enum {
    WHO_IDLE = -1,
    WHO_INTERRUPT = -2,
    WHO_UNKNOWN = -3, /* events were lost or are missing, or it is too long ago */
    WHO_OTHERS = -4,  /* there are too many pairs */
};

/* VICTIM waited while BY ran. */
struct who_pair {
    void *victim;
    const struct origin *origin;
    int32_t by;
    uint64_t n; /* of waits */
    int64_t sum, max;
    int64_t in_wait; /* of the wait that is looked at */
    uint64_t wait;   /* its number */
};

struct who_cpu;

struct sched_who {
    struct map cpus; /* by origin and CPU */
    struct map pairs;
    struct who_pair **list;
    unsigned n, room;
    uint64_t n_waits;
};

void sched_who_done(struct sched_who *who);
/* What a CPU did. 0, -ENOMEM. */
int sched_who_ran(struct sched_who *who, const struct state_interval *interval);
/* VICTIM waited. 0, -ENOMEM. */
int sched_who_waited(struct sched_who *who, void *victim, const struct state_interval *interval);
