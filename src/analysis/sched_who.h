/* SPDX-License-Identifier: MIT */
#pragma once

/* Who ran on a CPU while something waited for it (states/cpu_runs.h), added up: how much of that Strata's own threads ran
 * (event/own_threads.h), and by whom, if that is asked for. What each CPU ran is kept for WHO_RUNS runs; what is older is unknown.
 *
 * The first of these is the difference of two sums, however many runs there were in a wait: pairs look at each. */

#include "analysis/states/cpu_runs.h"

#define WHO_RUNS 16384 /* of a CPU */
#define WHO_PAIRS_MAX 65536

#define WHO_OTHERS (RUN_UNKNOWN - 1) /* what ran, if there are too many pairs */

/* A victim waited while BY ran. */
struct who_pair {
    uint64_t n; /* of waits */
    int64_t sum, max;
    int64_t in_wait; /* of the wait that is looked at */
    uint64_t wait;   /* its number */
    int32_t by;
};

/* What waits, in the caller's memory. Zeroed: it did not wait yet. Its pairs are in one piece of memory, as a wait
 * concerns most of them. */
struct who_victim {
    int64_t waited, own,
        unknown; /* all its waits; while Strata's own threads ran; while it is not known what did */
    struct who_pair *pairs;
    uint32_t n, room;
    uint32_t *slots;  /* a hash table by `by`: the number of the pair, from 1 on; 0: free */
    uint32_t n_slots; /* a power of two, or 0 */
};

/* Number PAIR of VICTIM. */
struct who_entry {
    struct who_victim *victim;
    uint32_t pair;
};

/* Whether thread BY of ORIGIN is Strata's own, as far as is known when a wait is over. */
typedef bool who_is_own_fn(void *arg, const struct origin *origin, int32_t by);

struct sched_who {
    who_is_own_fn *is_own;
    void *arg;
    bool has_pairs; /* they are asked for */
    struct cpu_runs cpus;
    struct who_entry *list; /* all pairs, as they came */
    unsigned n, room;
    struct who_victim others; /* has one pair, WHO_OTHERS, once there are too many */
    uint64_t n_waits;
};

void sched_who_done(struct sched_who *who);
void who_victim_done(struct who_victim *victim);
/* What a CPU did. 0, -ENOMEM. */
int sched_who_ran(struct sched_who *who, const struct state_interval *interval);
/* VICTIM, which outlives the pairs, waited. 0, -ENOMEM. */
int sched_who_waited(struct sched_who *who, struct who_victim *victim,
                     const struct state_interval *interval);
