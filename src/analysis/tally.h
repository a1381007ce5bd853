/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts of events and the intervals between them, by class, CPU, task, layer, vCPU or the fields of
 * events; for `strata stat` and `strata info`.
 *
 * Times are summed up in ticks and converted when they are printed: therefore a tally holds events of
 * one clock only. */

#include "analysis/batches.h"
#include "analysis/histogram.h"
#include "analysis/result/grouping.h"
#include "analysis/tally_cover.h"
#include "base/map.h"

/* Rows of TALLY_BY_KEYS; what comes after them is in a last one, "(others)". */
#define TALLY_KEY_ROWS_MAX 65536
/* Periods of a row; what comes after them is counted in the last one. */
#define TALLY_PERIODS_MAX 100000
#define TALLY_GAPS_MAX 10000

enum tally_by {
    TALLY_BY_EVENT, /* of a layer: classes of several sources, as of processes, by their names */
    TALLY_BY_CPU,
    TALLY_BY_TASK, /* pid, or the vCPU if there is none */
    TALLY_BY_LAYER,
    TALLY_BY_VCPU,         /* of a layer; those of no vCPU that is known are one */
    TALLY_BY_SOURCE_EVENT, /* those of several sources are several */
    TALLY_BY_KEYS, /* fields, by tally_options.grouping; events that have none of them are left out */
};

struct tally_options {
    enum tally_by by;
    struct grouping grouping; /* of TALLY_BY_KEYS */
    int64_t every;            /* ticks of a period; 0: none */
    bool period_distances;    /* periods have their own distances, too */
    bool has_intervals;       /* rows have batches of their intervals */
    bool separate;            /* sources have clocks of their own: no gap is from one to another */
    unsigned
        gaps; /* how many of the longest times without an event are kept; at most TALLY_GAPS_MAX */
};

/* Events of a row within one period, by the later end of their intervals. Periods without an event have none. */
struct tally_period {
    struct tally_period *next; /* of the row, in no order */
    uint32_t number;           /* from the first event of the tally on */
    uint64_t count;
    struct histogram *distances; /* NULL: there are none */
};

/* A time without an event. */
struct tally_gap {
    int64_t begin, end;
    const struct origin *origin; /* of the event before it */
    const struct event_class *class;
    bool lost; /* events were lost in it; tally_mark_gaps() sets the last of them */
};

struct tally_row {
    uint64_t count;
    int64_t last; /* time of the newest, and of the first; TIME_UNKNOWN: none had a time */
    int64_t first;
    /* Distances in ticks between each and the one before; NULL until there is one. One that came
     * with an earlier time than the one before is left out, and so is one without a time. */
    struct histogram *distances;
    int64_t max_at;               /* when the longest began */
    struct tally_period *periods; /* the one that was made last is the first */
    struct tally_period *period;  /* of the last event */
    unsigned n_periods;
    struct interval_batches *intervals; /* NULL: not asked for */
    int64_t counted_until;              /* the time of the last event in a period */
    const char *keys[GROUPING_KEYS];    /* BY_KEYS: as text; what the first event of the row has */
    uint64_t numbers[GROUPING_KEYS];    /* BY_KEYS: as numbers (analysis/result/grouping.h) */
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
    struct tally_options options;
    struct arena arena;
    struct text text;        /* in memory */
    uint64_t n_without_keys; /* BY_KEYS: events that were left out; they are in no count */
    struct tally_gap *gaps;  /* the longest first */
    unsigned n_gaps;
    struct tally_gap gap; /* after the latest event */
    bool
        has_ended_gap; /* an event with a time was counted: at its `end`, with the losses before it */
    struct tally_gap before;
    struct tally_cover cover;
    int64_t periods_begin; /* TIME_UNKNOWN: there are none; may be set before the first event */
    struct map periods;    /* by number of the row and of the period */
    bool has_late_periods; /* there are more than TALLY_PERIODS_MAX */
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
/* With more than counts and intervals, at the cost of some time per event. 0, -ENOMEM. */
int tally_init_with(struct tally *tally, const struct tally_options *options);
void tally_done(struct tally *tally);

/* After the last item: sets `lost` of each gap within a loss. 0, -ENOMEM. */
int tally_mark_gaps(struct tally *tally);

/* From the first event to the last in ticks; 0 where no event had a time. */
static inline uint64_t tally_duration(const struct tally *tally)
{
    return (uint64_t)tally->last - (uint64_t)tally->first;
}

/* The rows that have a count, the largest first; equal ones by the names of their events, or else by their first event.
 * *ret_rows is the caller's to free, what it points to is the tally's. 0, -ENOMEM. */
int tally_sorted(const struct tally *tally, const struct tally_row ***ret_rows, unsigned *ret_n);
/* The periods of ROW by their numbers, row->n_periods of them, to be freed. 0, -ENOMEM. */
int tally_sort_periods(const struct tally_row *row, const struct tally_period ***ret);
