/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts of events and the intervals between them, by class, CPU, task, layer or vCPU; for `strata
 * stat` and `strata info`.
 *
 * Times are summed up in ticks and converted when they are printed: therefore a tally holds events of
 * one clock only. */

#include "analysis/histogram.h"
#include "analysis/losses.h"
#include "base/map.h"

enum tally_by {
    TALLY_BY_EVENT, /* of a layer: classes of several sources, as of processes, by their names */
    TALLY_BY_CPU,
    TALLY_BY_TASK, /* pid, or the vCPU if there is none */
    TALLY_BY_LAYER,
    TALLY_BY_VCPU,         /* of a layer; those of no vCPU that is known are one */
    TALLY_BY_SOURCE_EVENT, /* those of several sources are several */
};

struct tally_row {
    uint64_t count;
    int64_t last; /* time of the newest, and of the first; TIME_UNKNOWN: none had a time */
    int64_t first;
    /* Distances in ticks between each and the one before; NULL until there is one. One that came
     * with an earlier time than the one before is left out, and so is one without a time. */
    struct histogram *distances;
    /* What the events have in common; of the other kinds NULL or unknown. */
    const struct origin *origin;
    const struct event_class *class;
    int32_t cpu;
    int32_t pid;
    int32_t vcpu;
};

struct tally {
    struct sink sink;
    enum tally_by by;
    struct tally_row
        *rows; /* BY_SOURCE_EVENT: by class->stat_row, those with a count of 0 did not occur */
    unsigned n_rows;
    unsigned capacity;
    unsigned *row_of_class; /* BY_EVENT: by class->stat_row, the number of its row, and one */
    unsigned n_classes;
    struct map numbers; /* otherwise: key → number of its row, and one */
    uint64_t last_key;
    unsigned last_row; /* of last_key; UINT32_MAX: none */

    uint64_t count;
    int64_t first; /* the earliest and the latest time of an event; TIME_UNKNOWN: none had one */
    int64_t last;
    struct losses losses;
    struct layer_losses layers;
};

/* Counts the items that its sink is given, including losses. */
void tally_init(struct tally *tally, enum tally_by by);
void tally_done(struct tally *tally);

/* From the first event to the last in ticks; 0 where no event had a time. */
static inline uint64_t tally_duration(const struct tally *tally)
{
    return (uint64_t)tally->last - (uint64_t)tally->first;
}

/* The rows that have a count, the largest first, equal ones by class or number. *ret_rows is the
 * caller's to free, what it points to is the tally's. 0, -ENOMEM. */
int tally_sorted(const struct tally *tally, const struct tally_row ***ret_rows, unsigned *ret_n);
