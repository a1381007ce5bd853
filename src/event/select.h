/* SPDX-License-Identifier: MIT */
#pragma once

/* Selects items of a trace: by event patterns, time, CPU, thread, vCPU, layer and number.
 *
 * A selection is of items, which are shown or counted themselves, or of rows, which an analysis makes of several items,
 * for example spans of their begins and ends. For rows, the options have two meanings:
 *
 *  - patterns, layers and the number limit what is read: the analysis lacks the items that they leave out.
 *  - CPUs, threads, vCPUs and times never hide an item from the analysis. They select the rows that begin there:
 *    selection_has_row(). So the rows of the parts of a trace add up to the rows of the whole trace. Items up to
 *    SELECT_AROUND_NS before `from` and after `to` are also read, so that rows that begin before `to` end there, and it
 *    is known what was open or asleep at `from`.
 *
 * Not thread-safe; a selection is for one pass over one trace. */

#include "base/range.h"
#include "base/strings.h"
#include "event/item.h"

#define SELECT_AROUND_NS INT64_C(10000000000)

/* A time limit given by the user: seconds of the trace's clock as they are printed, seconds after the first item, or
 * ticks if the clock's rate is unknown. */
struct time_limit {
    bool given;
    bool relative; /* "+…" */
    bool fraction; /* contains a decimal point, so it cannot be ticks */
    int64_t whole;
    uint32_t ns;
};

/* Numbers and ranges, "0,2-5". */
struct ranges {
    struct range *items; /* ascending, not touching */
    unsigned n;
};

struct select_options {
    struct strings events; /* patterns in order; the last match decides */
    struct time_limit from, to;
    struct ranges cpus, pids, vcpus;
    unsigned layers; /* bit mask of 1 << enum layer; 0: all */
    uint64_t limit;
    bool limited;
};

/* True if a time, CPUs, threads or a number of events are selected, so that a loss of which nothing else is known need
 * not be in the selection. */
bool select_is_part(const struct select_options *options);

/* Parse VALUE into MEMBER, a struct time_limit, a struct ranges, or the mask of layers. -EINVAL with
 * ERROR->what, -ENOMEM. */
int select_parse_time(void *member, const char *value, struct error *error);
int select_parse_ranges(void *member, const char *value, struct error *error);
int select_parse_layers(void *member, const char *value, struct error *error);

void select_options_done(struct select_options *options);

/* The first tick whose printed time is not before LIMIT; with END, the first tick after LIMIT. FIRST: where the trace
 * begins. HZ 0: the rate of the clock is unknown. */
int64_t time_limit_ticks(const struct time_limit *limit, uint64_t hz, int64_t first, bool end);

struct selection {
    const struct select_options *options;
    uint8_t *classes; /* by class->index: SELECT_… */
    unsigned n_classes;
    bool *matched; /* by pattern: it matched a class */
    uint64_t left; /* of the limit */
    bool started;  /* the first item was seen */
    int64_t first;
    uint64_t hz;      /* of the clock of the limits */
    int64_t from, to; /* of items that are passed on: from `from` on, before `to` */
    int64_t rows_from,
        rows_to;      /* limits of rows; equal to `from` and `to` if the selection is of items */
    unsigned n_after; /* consecutive items later than `to` */
    bool of_rows;
    bool all; /* nothing is filtered */
};

/* Of items. 0, -ENOMEM. */
int selection_init(struct selection *selection, const struct select_options *options);
/* Of rows. 0, -ENOMEM. */
int selection_init_rows(struct selection *selection, const struct select_options *options);
/* Of items from the time FROM on, before TO, in ticks. 0, -ENOMEM. */
int selection_init_times(struct selection *selection, int64_t from, int64_t to);
void selection_done(struct selection *selection);

/* Of ITEM, which is not selected: whether a loss at its time and CPU is. */
bool selection_has_loss_after(struct selection *selection, const struct item *item);

/* Finds the first run of selected items in [*START, N) and sets *START to its beginning. Returns its
 * length, 0 if there is none; -EINVAL with ERROR: a time limit cannot be applied to this trace's clock;
 * -ENOMEM. Pass the items of one trace in order, each once. */
int selection_next_run(struct selection *selection, const struct item *items, unsigned n,
                       unsigned *start, struct error *error);

/* True if rows may be left out by CPU, thread, vCPU or time. */
bool selection_limits_rows(const struct select_options *options);
/* True if a row that begins at this time and place is selected. For a selection of rows, and for times of items that
 * were passed to it. */
bool selection_has_row(const struct selection *selection, const struct origin *origin, int64_t time,
                       int32_t cpu, int32_t pid, int32_t vcpu);
/* The same, at the time and place of ITEM. */
static inline bool selection_has_row_at(const struct selection *selection, const struct item *item)
{
    return selection_has_row(selection, item->origin, item->time, item->cpu, item->pid, item->vcpu);
}
/* True if TIME is within the limits of rows. */
static inline bool selection_has_time(const struct selection *selection, int64_t time)
{
    return !selection->started || (time >= selection->rows_from && time < selection->rows_to);
}
/* True if such a row is left out only because CPUs are selected and its own CPU is unknown: it is in no part of the
 * trace by CPU. */
bool selection_lacks_cpu(const struct selection *selection, const struct origin *origin,
                         int64_t time, int32_t cpu, int32_t pid, int32_t vcpu);
/* What of the time from BEGIN to END is within the limits of rows, in ticks. */
int64_t selection_time_within(const struct selection *selection, int64_t begin, int64_t end);
/* True if NUMBER is in RANGES, or RANGES is empty. An unknown number, below 0, is in no range. */
bool ranges_include(const struct ranges *ranges, int32_t number);
/* The next items of [*START, N) that are within the limits of rows by their times: sets *START to the first, and returns
 * how many there are; 0: no more. */
unsigned selection_next_in_time(const struct selection *selection, const struct item *items,
                                unsigned n, unsigned *start);

/* select_is_part() of a selection: one of rows reads all places. */
bool selection_is_part(const struct selection *selection);

/* The time before which no item can be selected, once one run of items was passed. Returns false if there is none, or
 * it is unknown yet. */
bool selection_start(const struct selection *selection, int64_t *ret_time);

/* True if no later item can be selected. */
bool selection_is_over(const struct selection *selection);

/* The end of a selection by time, for a thread that reads ahead of the selecting thread. */
struct selection_end {
    bool is_given;
    int64_t to;
    unsigned n_after;
};

/* The end as known after the items that were passed to SELECTION, some of which had a time. */
void selection_get_end(const struct selection *selection, struct selection_end *ret);

/* True if the selection is over with the next N items, by the same count as selection_is_over(). */
bool selection_end_pass(struct selection_end *end, const struct item *items, unsigned n);

/* Calls PUT with ARG for each pattern that matches no class of CLASSES. */
void selection_unmatched(struct selection *selection, struct event_class *const *classes,
                         unsigned n, void (*put)(void *arg, const char *pattern), void *arg);

/* 1 if the patterns select CLASS; 0 if not; -ENOMEM. */
int selection_has_class(struct selection *selection, const struct event_class *class);
