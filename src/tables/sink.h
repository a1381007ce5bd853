/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink that turns items into rows of tables, and passes them to a consumer. If rows of spans and states are wanted,
 * it runs their engines. Rows of events come in the order of time, rows of `span` and `state` when they end. Rows of
 * tables that describe the trace (source, clock, thread, cpu, class, …) come when the sink is finished.
 *
 * Nothing is allocated per row. Not thread-safe. */

#include "analysis/spans/span_rule.h"
#include "event/catalogue.h"
#include "event/sink.h"
#include "tables/event_row.h"

struct trace;

struct tables_ops {
    /* TABLE is new; called before its first event. May be NULL. All functions return 0, or a negative errno with the
     * error of the sink (tables_sink_error()). */
    int (*table)(void *arg, struct event_table *table);
    /* An event. NULL: events are not wanted. */
    int (*event)(void *arg, const struct event_row *row);
    /* A row of any fixed table except TABLE_EVENT, whose rows the consumer makes in event() by all_event_cells(). Cells
     * are lent until it returns. */
    int (*row)(void *arg, enum fixed_table table, const struct value *cells);
};

struct tables_options {
    const struct catalogue *catalogue;
    /* Source of clocks, facts and problems; may be NULL. */
    const struct trace *trace;
    /* The error that ended the reading early; it becomes a row of `problem`, and is read when the sink is finished. May
     * be NULL. */
    const struct error *problem;
    /* The number of an origin's trace, if several traces are read as one. NULL: 0. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    bool errors; /* several clocks were converted to one, so times have error bounds */
    /* TABLE_BIT() of fixed tables whose rows are wanted. TABLE_EVENT has no effect. */
    unsigned wanted;
    /* The rules whose spans are rows; with 0 rules, all built-in ones. They outlive the sink. */
    const struct span_rule *rules;
    unsigned n_rules;
};

/* A class with events. */
struct tables_class {
    const struct event_class *class;
    struct event_table *table;
    struct tables_class *next; /* in the order of their first events */
    unsigned source;           /* id of its origin */
    uint64_t n_events;
};

/* Opens a sink. OPS, ARG and what OPTIONS points to outlive it; OPTIONS itself is copied. 0, or a negative errno with
 * ERROR. */
int tables_sink_open(const struct tables_options *options, const struct tables_ops *ops, void *arg,
                     struct sink **ret_sink, struct error *error);

/* Where the consumer's functions store their errors. */
struct error *tables_sink_error(struct sink *sink);
/* The tables of events so far. */
struct event_tables *tables_sink_events(struct sink *sink);
/* The first class that had events. */
const struct tables_class *tables_sink_classes(struct sink *sink);
