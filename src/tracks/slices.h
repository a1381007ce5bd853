/* SPDX-License-Identifier: MIT */
#pragma once

/* Events as they are drawn on tracks. A span from one event to another (analysis/spans/spans.h) is a slice, of which
 * they are begin and end; all others are instants. Every event is in just one mark, with its fields.
 *
 * Nothing is made up. A slice whose end is not in the trace is cut, and says why: where events were lost, as
 * its end may have been among them; where the same begins once more; where something around it ends. A slice that is open
 * when the data end that would show its end is cut there, and a slice `unknown` follows. Others that are open at the end of
 * the trace stay open. An end whose begin is not there is an instant.
 *
 * Where a CPU runs another thread than its switches say (T2 in analysis/states/states.h), there is a slice `unknown` since it
 * was last seen to run what they say; so there is after a loss, until it is known to run something again (T9); on Xen, until the
 * next switch. If the trace goes on after the time up to which it is known what the CPU did (states_cpu_known_until()), a slice `unknown`
 * begins there, and stays open. Elsewhere, a CPU on which nothing is drawn was idle.
 *
 * Within a track slices nest, and do not step back in time. */

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
    const struct item *item; /* its fields belong to the slice; NULL: none */
    const char *name;        /* of a slice that begins; UTF-8, borrowed */
    size_t name_len;
    const char
        *cut;      /* why a slice ends that no event ends; NULL: an event does, or the next slice */
    uint64_t flow; /* a slice that begins: the number of its flow to or from another; 0: none */
    bool flow_joins; /* the other slice of the flow has begun before */
    bool is_unknown; /* a slice that begins: it stands for what is not known */
    int64_t value;   /* SLICE_COUNTER */
};

/* Strings, rules and the catalogue outlive the slices. */
struct slices_options {
    /* Classes and origins, which grow in number while items are read. */
    const struct catalogue *catalogue;
    /* The number of the trace of an origin, if several traces are shown as one. NULL: one trace. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    const struct span_rule *rules; /* whose spans are shown beside the built-in ones */
    unsigned n_rules;
};

struct slices;

struct slices_ops {
    /* A track, before anything is on it. 0, or a negative errno. */
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
    struct spans spans;        /* of options->rules, then of `rules` */
    struct styled_rule *rules; /* newest first */
    unsigned n_rules_by_name;
    struct drawn_span *free_spans;
    bool has_found; /* a CPU was found to run a task without a switch to it */
    bool in_loss;   /* unknown states are drawn as lost */
    bool is_finishing;
    struct source_ends ends;
    int64_t last; /* the latest time of an item of any source, ns */
    /* Of the item that is put: */
    int64_t ns; /* of the last one, where it has none */
    struct group *group;
    const struct slice_class *class;
    struct track *contradicted; /* whose CPU does not run what it should; NULL: none */
    struct track *ending;       /* whose innermost slice it ends; NULL: none */
    bool drawn;                 /* a slice has it */
    int error;
};

/* SLICES may not be moved afterwards. 0, -ENOMEM; in either case slices_done() follows. */
int slices_init(struct slices *slices, const struct slices_options *options,
                const struct slices_ops *ops);
/* 0, -ENOMEM. */
int slices_put(struct slices *slices, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
int slices_begin_loss(struct slices *slices, const struct item *item);
/* After the last item: draws what is unknown at the end. 0, -ENOMEM. */
int slices_finish(struct slices *slices);
void slices_done(struct slices *slices);

/* Whether FIELD, of type FIELD_BYTES, is an array of integers; else it is plain bytes. As in JSON. */
static inline bool field_is_array(const struct field *field)
{
    return field->element > 0;
}

/* The prefix of what is added to an event's fields. No field has such a name. */
#define SLICE_OWN "strata."

/* Whether the item has a CPU, thread or vCPU that its track does not show. */
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
