/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts events and the intervals between them, by class, CPU, task, layer, vCPU or fields of events, for `strata stat`
 * and `strata info`.
 *
 * Times are added up in ticks and converted when they are printed. Therefore a tally has events of only one clock. */

#include "analysis/batches.h"
#include "analysis/histogram.h"
#include "analysis/result/grouping.h"
#include "analysis/tally_cover.h"
#include "base/map.h"

/* Rows of TALLY_BY_KEYS; further events are in a last row "(others)". */
#define TALLY_KEY_ROWS_MAX 65536
/* Periods of a row; later events count in the last one. */
#define TALLY_PERIODS_MAX 100000
#define TALLY_GAPS_MAX 10000

enum tally_by {
    /* Of a layer: classes with equal names in several sources, such as processes, are one. */
    TALLY_BY_EVENT,
    TALLY_BY_CPU,
    TALLY_BY_TASK, /* pid, or the vCPU without a pid */
    TALLY_BY_LAYER,
    TALLY_BY_VCPU,         /* of a layer; all events without a known vCPU are one */
    TALLY_BY_SOURCE_EVENT, /* classes of several sources are separate */
    TALLY_BY_KEYS, /* fields, by tally_options.grouping; events without any of them are left out */
};

struct tally_options {
    enum tally_by by;
    struct grouping grouping; /* for TALLY_BY_KEYS */
    int64_t every;            /* length of a period in ticks; 0: none */
    bool period_distances;    /* periods have their own distances */
    bool has_intervals;       /* rows have batches of their intervals */
    bool separate; /* sources have clocks of their own: no gap extends from one to another */
    unsigned
        gaps; /* how many of the longest times without events are kept; at most TALLY_GAPS_MAX */
};

/* Events of a row in one period. An interval belongs to the period of its end. There is none for periods without
 * events. */
struct tally_period {
    struct tally_period *next; /* of the same row, in no particular order */
    uint32_t number;           /* from the first event of the tally on */
    uint64_t count;
    struct histogram *distances; /* NULL if there are none */
};

/* A time without events. */
struct tally_gap {
    int64_t begin, end;
    const struct origin *origin; /* of the preceding event */
    const struct event_class *class;
    bool lost; /* events were lost in it; tally_mark_gaps() sets it */
};

struct tally_row {
    uint64_t count;
    int64_t last; /* times of the last and the first event; TIME_UNKNOWN if no event has a time */
    int64_t first;
    /* Distances in ticks between consecutive events; NULL before there is one. Events without a time, or with an
     * earlier time than the previous one, are left out. */
    struct histogram *distances;
    int64_t max_at;               /* begin of the longest distance */
    struct tally_period *periods; /* the latest made is the first */
    struct tally_period *period;  /* of the last event */
    unsigned n_periods;
    struct interval_batches *intervals; /* may be NULL */
    int64_t counted_until;              /* time of the last event in a period */
    const char *keys[GROUPING_KEYS];    /* BY_KEYS: as text, from the first event of the row */
    uint64_t numbers[GROUPING_KEYS];    /* BY_KEYS: as numbers (analysis/result/grouping.h) */
    /* What the events of the row share; NULL or unknown for the others. */
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
    uint64_t n_without_keys; /* BY_KEYS: events that were left out of all counts */
    struct tally_gap *gaps;  /* the longest first */
    unsigned n_gaps;
    struct tally_gap gap; /* after the latest event */
    /* An event with a time was counted: at its `end`, after the losses before it. */
    bool has_ended_gap;
    struct tally_gap before;
    struct tally_cover cover;
    /* TIME_UNKNOWN if there are no periods; may be set before the first event */
    int64_t periods_begin;
    struct map periods;    /* by numbers of the row and the period */
    bool has_late_periods; /* there are more than TALLY_PERIODS_MAX */
    struct tally_row
        *rows; /* BY_SOURCE_EVENT: by class->stat_row; rows with a count of 0 did not occur */
    unsigned n_rows;
    unsigned capacity;
    unsigned *row_of_class; /* BY_EVENT: by class->stat_row, the row's number plus one */
    unsigned n_classes;
    struct map numbers; /* otherwise: the row's number plus one, by key */
    uint64_t last_key;
    unsigned last_row; /* of last_key; UINT32_MAX if there is none */

    uint64_t count;
    int64_t first; /* earliest and latest time of an event; TIME_UNKNOWN if no event has a time */
    int64_t last;
    struct losses losses;
    struct layer_losses layers;
};

/* Counts the items that its sink gets, including losses. */
void tally_init(struct tally *tally, enum tally_by by);
/* Counts more than events and intervals, which costs some time per event. 0, -ENOMEM. */
int tally_init_with(struct tally *tally, const struct tally_options *options);
void tally_done(struct tally *tally);

/* Call after the last item: sets `lost` of each gap within a loss. 0, -ENOMEM. */
int tally_mark_gaps(struct tally *tally);

/* The time from the first to the last event in ticks; 0 if no event has a time. */
static inline uint64_t tally_duration(const struct tally *tally)
{
    return (uint64_t)tally->last - (uint64_t)tally->first;
}

/* Sorts the rows that have a count, the largest first. Equal rows are sorted by the names of their events, otherwise by
 * their first events. The caller frees *ret_rows, but not the rows. 0, -ENOMEM. */
int tally_sorted(const struct tally *tally, const struct tally_row ***ret_rows, unsigned *ret_n);
/* Sorts the row->n_periods periods of ROW by their numbers. The caller frees *RET. 0, -ENOMEM. */
int tally_sort_periods(const struct tally_row *row, const struct tally_period ***ret);
