/* SPDX-License-Identifier: MIT */
#pragma once

/* A sink that turns items into rows of tables, and gives them to a consumer. It runs the engines of spans and states if
 * their rows are wanted. Rows of events come in the order of time; rows of `span` and `state` come when they end. The
 * tables that describe the trace (source, clock, thread, cpu, class, …) come when the sink is finished.
 *
 * Nothing is allocated per row. Not thread-safe. */

#include "analysis/spans/span_rule.h"
#include "event/catalogue.h"
#include "event/sink.h"
#include "tables/event_row.h"

struct trace;

struct tables_ops {
    /* TABLE is new: it comes before its first event. NULL: nothing. All functions return 0 or a negative errno, with
     * the error of the sink (tables_sink_error()). */
    int (*table)(void *arg, struct event_table *table);
    /* An event; NULL: they are not wanted. */
    int (*event)(void *arg, const struct event_row *row);
    /* A row of a fixed table but TABLE_EVENT, which the consumer makes of event() by all_event_cells(). Cells are lent
     * until it returns. */
    int (*row)(void *arg, enum fixed_table table, const struct value *cells);
};

struct tables_options {
    const struct catalogue *catalogue;
    /* What clocks, facts and problems are read from; NULL: there are none. */
    const struct trace *trace;
    /* What ended the reading before the end, a problem of its own; read when the sink is finished. NULL: nothing. */
    const struct error *problem;
    /* The number of the trace of an origin, if several traces are read as one. NULL: 0. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    bool errors; /* several clocks were converted to one: times have bounds */
    /* Which fixed tables have rows, TABLE_BIT(); of TABLE_EVENT nothing depends on it. */
    unsigned wanted;
    /* Whose spans are rows; 0: all built-in rules. They outlive the sink. */
    const struct span_rule *rules;
    unsigned n_rules;
};

/* A class that had events. */
struct tables_class {
    const struct event_class *class;
    struct event_table *table;
    struct tables_class *next; /* in the order in which they came */
    unsigned source;           /* id of its origin */
    uint64_t n_events;
};

/* Opens a sink. OPS, ARG and what OPTIONS point to outlive it; OPTIONS are copied. 0, or a negative errno with ERROR. */
int tables_sink_open(const struct tables_options *options, const struct tables_ops *ops, void *arg,
                     struct sink **ret_sink, struct error *error);

/* Where the consumer's functions put their errors. */
struct error *tables_sink_error(struct sink *sink);
/* The tables of events so far. */
struct event_tables *tables_sink_events(struct sink *sink);
/* The first class that had events. */
const struct tables_class *tables_sink_classes(struct sink *sink);
