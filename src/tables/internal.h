/* SPDX-License-Identifier: MIT */
#pragma once

/* What the parts of the sink share. Functions that return int return 0, or a negative errno with the sink's error. */

#include "analysis/exit_events.h"
#include "analysis/spans/spans.h"
#include "analysis/states/states.h"
#include "tables/sink.h"

/* The keys of an open span, as text. */
struct key_slot {
    char *text;
    uint32_t len, room;
    uint32_t next_free;
    bool known;
};

/* The fields of a rule's keys, in the class whose event began its last span. */
struct rule_fields {
    const struct event_class *class;
    int fields[SPAN_KEYS];
    struct exit_class exit; /* used if the rule has no keys */
};

struct span_rows {
    bool wanted;
    struct spans spans;
    struct span_rule_list builtin;
    struct rule_fields *fields; /* by rule */
    struct key_slot *slots;     /* slot 0 is not used */
    uint32_t n_slots, free;
    struct text text;
    /* Out of memory for a key; the functions that are called at begins return no error. */
    bool no_memory;
};

/* Events by CPU. */
struct cpu_counts {
    uint64_t *counts; /* by source * CPU_COUNTS + cpu */
    unsigned n_sources;
};
#define CPU_COUNTS 8192u /* later CPUs are not in `cpu` */

struct tables_sink {
    struct sink sink;
    struct tables_options options;
    const struct tables_ops *ops;
    void *arg;
    struct arena arena;
    struct event_tables events;
    struct tables_class **classes; /* by class->index; NULL before its first event */
    unsigned n_classes;
    struct tables_class *first, *last;
    int64_t n; /* number of events and losses */
    uint64_t n_losses;
    struct map threads; /* the origin, by source and pid */
    uint64_t recent_thread;
    struct cpu_counts cpus;
    struct span_rows spans;
    struct states states;
    bool has_states;
    struct text text;
};

static inline bool tables_want(const struct tables_sink *sink, enum fixed_table table)
{
    return sink->options.wanted & TABLE_BIT(table);
}

static inline int tables_no_memory(struct tables_sink *sink)
{
    return error_set(&sink->sink.error, -ENOMEM, NULL, "out of memory");
}

/* The id of ORIGIN in `source`. */
unsigned tables_source(const struct tables_sink *sink, const struct origin *origin);

/* Makes a cell for the vCPU of ORIGIN. If it has a name, puts it to TEXT, which must be empty. */
struct value tables_vcpu(const struct origin *origin, int32_t vcpu, struct text *text);

int span_rows_open(struct tables_sink *sink);
int span_rows_put(struct tables_sink *sink, const struct item *items, unsigned n);
void span_rows_done(struct tables_sink *sink);

extern const struct states_ops state_rows_ops;

/* Puts the rows of the tables that describe the trace. */
int tables_describe(struct tables_sink *sink);
