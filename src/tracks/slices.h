/* SPDX-License-Identifier: MIT */
#pragma once

/* Draws events on tracks. A span between two events (analysis/spans/spans.h) is a slice; the events are its begin and
 * end. All other events are instants. Each event is in exactly one mark, with its fields.
 *
 * Nothing is made up. If a slice's end is not in the trace, it is cut and says why: events were lost, possibly its end;
 * the same slice begins again; a slice around it ends. If the data that would show the end of an open slice end, the
 * slice is cut there and a slice `unknown` follows. Other open slices stay open at the end of the trace. An end without
 * a begin is an instant.
 *
 * If a CPU runs another thread than its switches say (T2 in analysis/states/states.h), it has a slice `unknown` from
 * when it was last seen to run what they say. After a loss it has one until it is known again what it runs (T9); on
 * Xen, until the next switch. If the trace goes on after the time until which the CPU's activity is known
 * (states_cpu_known_until()), a slice `unknown` begins there and stays open. Elsewhere, a CPU without a slice was idle.
 *
 * Slices of a track nest, and times on a track do not step back. */

#include "analysis/coverage/source_ends.h"
#include "analysis/requests/joins.h"
#include "analysis/spans/spans.h"
#include "analysis/states/states.h"
#include "base/text.h"
#include "event/catalogue.h"
#include "tracks/tracks.h"

enum slice_kind {
    SLICE_INSTANT,
    SLICE_BEGIN,
    SLICE_END,
    SLICE_COUNTER,
};

struct slice {
    enum slice_kind kind;
    const struct track *track;
    int64_t ns;
    const struct item *item; /* its fields belong to the slice; may be NULL */
    const char *name;        /* at a begin; UTF-8, borrowed */
    size_t name_len;
    const char
        *cut; /* why a slice ends without an event; NULL if an event or the next slice ends it */
    uint64_t flow;   /* at a begin: number of its flow to or from another slice; 0: none */
    bool flow_joins; /* the flow's other slice began earlier */
    bool is_unknown; /* at a begin: it stands for something unknown */
    int64_t value;   /* SLICE_COUNTER */
};

/* Strings, rules and the catalogue outlive the slices. */
struct slices_options {
    /* Classes and origins, whose number grows while items are read. */
    const struct catalogue *catalogue;
    /* The number of an origin's trace, if several traces are shown as one. NULL: one trace. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    const struct span_rule *rules; /* rules whose spans are shown besides the built-in ones */
    unsigned n_rules;
};

struct slices;

struct slices_ops {
    /* Called for each track before anything is on it. 0, or a negative errno. */
    int (*track)(struct slices *slices, const struct track *track);
    void (*slice)(struct slices *slices, const struct slice *slice);
};

struct slice_class;
struct styled_rule;

struct slices {
    const struct slices_ops *ops;
    struct slices_options options;
    struct tracks tracks;
    struct joins flows;
    bool has_flows;              /* there are several layers, so there may be flows */
    struct slice_class *classes; /* by class->index */
    unsigned n_classes;
    struct text name;
    struct states states;      /* what CPUs run */
    struct spans spans;        /* by options->rules, then by `rules` */
    struct styled_rule *rules; /* the newest first */
    unsigned n_rules_by_name;
    struct drawn_span *free_spans;
    bool has_found; /* a CPU was found to run a task without a switch to it */
    bool in_loss;   /* unknown states are drawn as lost */
    bool is_finishing;
    struct source_ends ends;
    int64_t last; /* latest time of an item of any source, in ns */
    /* For the current item: */
    int64_t ns; /* its time, or the previous item's if it has none */
    struct group *group;
    const struct slice_class *class;
    struct track *contradicted; /* track of a CPU that does not run what it should, or NULL */
    struct track *ending;       /* track whose innermost slice it ends, or NULL */
    bool drawn;                 /* it is in a slice */
    int error;
};

/* SLICES must not be moved afterwards. 0, -ENOMEM. Call slices_done() in both cases. */
int slices_init(struct slices *slices, const struct slices_options *options,
                const struct slices_ops *ops);
/* 0, -ENOMEM. */
int slices_put(struct slices *slices, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
int slices_begin_loss(struct slices *slices, const struct item *item);
/* Call after the last item: draws what is unknown at the end. 0, -ENOMEM. */
int slices_finish(struct slices *slices);
void slices_done(struct slices *slices);

/* True if FIELD, of type FIELD_BYTES, is an array of integers; otherwise it is plain bytes. As in JSON. */
static inline bool field_is_array(const struct field *field)
{
    return field->element > 0;
}

/* The prefix of annotations that are not fields of the event. No field has a name with it. */
#define SLICE_OWN "strata."

/* True if the item has a CPU, thread or vCPU that its track does not show. */
static inline bool slice_tells_cpu(const struct slice *slice)
{
    return slice->item->cpu != CPU_UNKNOWN && slice->item->cpu != slice->track->cpu;
}

static inline bool slice_tells_pid(const struct slice *slice)
{
    return slice->item->pid != PID_UNKNOWN && slice->item->pid != slice->track->pid;
}

static inline bool slice_tells_vcpu(const struct slice *slice)
{
    const struct item *item = slice->item;

    /* A guest's CPUs are the vCPUs. */
    return item->vcpu != VCPU_UNKNOWN && item->vcpu != slice->track->vcpu &&
           !(item->origin->layer == LAYER_GUEST && item->vcpu == item->cpu);
}
