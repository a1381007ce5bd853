/* SPDX-License-Identifier: MIT */
#pragma once

/* Which CPUs lost events, in a few words: all of them if they are few, otherwise those that lost most. */

#include <stdint.h>

struct text;

#define LOST_CPUS_ALL 8   /* up to as many are named, in their order */
#define LOST_CPUS_WORST 4 /* of more, the worst */

/* Zeroed, it has none. Holds no resource. */
struct lost_cpus {
    unsigned n; /* CPUs that lost something */
    unsigned n_kept;
    struct lost_cpu {
        unsigned cpu;
        uint64_t events;
    } kept[LOST_CPUS_ALL];
};

/* Adds CPU, which was not added before. EVENTS may be 0. */
void lost_cpus_add(struct lost_cpus *lost, unsigned cpu, uint64_t events);
/* Writes "CPU 0: 12, CPU 3: 5", or "CPU 3: 900, …, and 252 more CPUs"; nothing without losses. Sorts LOST. */
void lost_cpus_put(struct lost_cpus *lost, struct text *text);
