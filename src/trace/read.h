/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a selection of a trace, all of it into a sink or run by run.
 *
 *     struct trace_reading reading = {.trace = trace, .selection = &selection, .sink = sink};
 *
 *     r = trace_read(&reading);
 *     trace_reading_done(&reading);
 *
 * When the start of the selection is known, the trace seeks there. The sink gets the selected part of a loss that reaches
 * beyond the selection. To know such losses, reading continues after the selection until they are known
 * (trace/late_losses.h). sink_begin_loss() tells the sink of a loss that begins at an item that the sink does not get.
 *
 * A reading is one pass over one trace, from its beginning. Not thread-safe; a thread may read TRACE ahead
 * (trace_read_ahead()). */

#include "event/open_losses.h"
#include "event/sink.h"
#include "trace/trace.h"
#include "trace/unselected_cpus.h"

struct trace_read_hooks {
    /* Called before each run of the trace. Returns 0; 1 to end reading here; or a negative errno with ERROR to fail.
     * May be NULL. */
    int (*before)(void *arg, struct error *error);
    /* Called with each run of the trace, before the selection is applied. May be NULL. */
    void (*see)(void *arg, const struct item *items, unsigned n);
};

struct trace_reading {
    struct trace *trace;
    struct selection *selection;
    struct sink *sink; /* not finished by trace_read(); NULL with trace_reading_next() */
    struct sink
        *unselected_sink; /* gets a loss for each CPU that the selection leaves out; may be NULL */
    const struct trace_read_hooks *hooks; /* may be NULL */
    void *arg;                            /* passed to the hooks */
    bool has_from;                        /* no item before `from` is needed */
    int64_t from;
    bool only_end; /* only the items of each source at the end of the selection are needed */

    /* Results. */
    struct error error; /* why reading ended early; its code is 0 if it did not */
    bool has_events,
        /* The trace has events; events were selected (within the selected time if the selection is of rows). */
        has_selected;
    bool has_begun;                /* an item was selected */
    bool has_sought;               /* the trace was not read from its beginning */
    int64_t first_time, last_time; /* of events, in ticks of `clock` */
    int64_t last_selected;         /* time of the last selected item */
    struct clock clock;

    /* Internal. */
    const struct item *items; /* the run that the trace has lent */
    unsigned n, i;            /* number of its items, and how many have passed */
    bool is_started, is_over;
    struct open_losses open_losses;
    struct item open_loss;
    struct unselected_cpus unselected_cpus;
};

/* Puts all selected items to the sink. 0, or a negative errno with `error`; then the sink has the items before the
 * error. */
int trace_read(struct trace_reading *reading);

/* Lends the next selected items until the next call. Returns their number, 0 after the last item, or a negative errno
 * with `error`. After an error there are no more items. */
int trace_reading_next(struct trace_reading *reading, const struct item **ret_items);
void trace_reading_done(struct trace_reading *reading);
