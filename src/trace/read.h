/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads what is selected of a trace: all of it into a sink, or run by run.
 *
 *     struct trace_reading reading = {.trace = trace, .selection = &selection, .sink = sink};
 *
 *     r = trace_read(&reading);
 *     trace_reading_done(&reading);
 *
 * As soon as it is known where the selection starts, the trace is sought to there. A loss that reaches beyond what is selected is
 * put as far as it is in the selection: for that, what follows is read until it is known (trace/late_losses.h). The sink is told
 * of losses that begin before an item that it does not get (sink_begin_loss()).
 *
 * For one pass over one trace, of which nothing was read. Not thread-safe; a thread may read TRACE ahead (trace_read_ahead()). */

#include "event/open_losses.h"
#include "event/sink.h"
#include "trace/trace.h"
#include "trace/unselected_cpus.h"

struct trace_read_hooks {
    /* Before a run of the trace is asked for. 1: reading ends here; a negative errno with ERROR: it fails. NULL: nothing. */
    int (*before)(void *arg, struct error *error);
    /* A run of the trace, before anything is selected of it. NULL: nothing. */
    void (*see)(void *arg, const struct item *items, unsigned n);
};

struct trace_reading {
    struct trace *trace;
    struct selection *selection;
    struct sink *sink; /* not finished; NULL, of trace_reading_next(): it is told nothing */
    struct sink *
        unselected_sink; /* gets a loss of each CPU that the selection leaves out; NULL: none does */
    const struct trace_read_hooks *hooks; /* NULL: none */
    void *arg;                            /* of the hooks */
    bool has_from; /* no item before `from` is needed, whatever is selected */
    int64_t from;
    bool only_end; /* of each source only what it has at the end of the selection */

    /* What was seen. */
    struct error error; /* what ended it before the end; code 0: nothing */
    bool has_events,
        has_selected; /* of the trace; of them, selected ones, for rows those within the time */
    bool has_begun;   /* an item was selected */
    bool has_sought;  /* the trace was not read from its beginning on */
    int64_t first_time, last_time; /* of events, in ticks of `clock` */
    int64_t last_selected;         /* item */
    struct clock clock;

    /* Its own. */
    const struct item *items; /* what the trace has lent */
    unsigned n, i;            /* of them, and how many were passed */
    bool is_started, is_over;
    struct open_losses open_losses;
    struct item open_loss;
    struct unselected_cpus unselected_cpus;
};

/* Puts all that is selected to the sink. 0, or a negative errno with `error`: the sink has what was readable. */
int trace_read(struct trace_reading *reading);

/* Lends the next selected items, until it is called again: how many; 0: there are no more. A negative errno with `error`; then
 * there are no more. */
int trace_reading_next(struct trace_reading *reading, const struct item **ret_items);
void trace_reading_done(struct trace_reading *reading);
