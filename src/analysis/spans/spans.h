/* SPDX-License-Identifier: MIT */
#pragma once

/* Spans: from an event that begins something to the one that ends it, by rules (analysis/spans/span_rule.h).
 *
 * Invariants:
 *  P1  Each event that begins a span by a rule is in one span: complete, or not and counted by why (enum span_fate).
 *  P2  A span is complete only if nothing was lost that could have been its end: no loss of the source of its end,
 *      on the place of the span (its CPU; any CPU where it has none), came between begin and end. Rules with `unique`
 *      keys are exempt. After a loss without an end (item->is_open), each later span counts as having met it. So does each span
 *      from the begin of a loss, where its reader says that (item->before_loss), to its end, or to the end of the trace where its CPU
 *      has no more data and was not recorded to the end (origin_is_recorded_to_end()); and, before what is kept of all CPUs
 *      of a kernel begins (origin->complete_from), each that may end on another CPU (SPAN_EARLY). A span of a thread that has not
 *      left its CPU meanwhile, as switches show, met the losses of that CPU only. A span is SPAN_OPEN only if the same holds up to the end of the
 *      trace, also of `unique` keys, and of each source that steps after its first may be of. Of a kernel that recorded
 *      only some threads (origin->pid_filter, threads_only), only spans of threads are: others may end while any thread runs; and a span
 *      of a CPU that has run another thread since it began is not complete. Of one
 *      that was cut (origin->is_cut), only spans of CPUs are.
 *  P3  Two keys are the same where all their numbers are equal, whatever their widths, or all their strings. An event
 *      without one of them, or without its place or its time, is in no span and is counted (SPAN_UNKEYED).
 *  P4  Between sources whose clocks are related, a step may come before the begin of its span, by the errors of both at
 *      most. If it is the end, the span is complete, and its duration negative.
 *  P5  At most SPANS_OPEN_MAX are open at a time; beyond, the oldest is given up and counted (SPAN_GIVEN_UP).
 *
 * Strings of keys are compared by 64 bits that are made of them.
 *
 * Spans take time and memory for open spans, never for complete ones. Not thread-safe. */

#include "analysis/spans/span_rule.h"
#include "base/map.h"
#include "event/catalogue.h"
#include "event/item.h"

#define SPANS_OPEN_MAX (1u << 20)

/* What became of a span, or of an end without one. */
enum span_fate {
    SPAN_COMPLETE,
    SPAN_NO_BEGIN,     /* an end whose begin is not in the trace */
    SPAN_OPEN,         /* at the end of the trace */
    SPAN_LOST,         /* events were lost since it began */
    SPAN_EARLY,        /* it began before all CPUs of its kernel begin (struct origin) */
    SPAN_AGAIN,        /* the same began again */
    SPAN_GONE,         /* its thread ended */
    SPAN_CONTRADICTED, /* other events say that it cannot be */
    SPAN_UNKEYED,      /* an event without its keys, its place or its time */
    SPAN_GIVEN_UP,     /* too many were open */
};
#define SPAN_FATES (SPAN_GIVEN_UP + 1)

/* "no_begin", as in JSON. */
const char *span_fate_name(enum span_fate fate);

/* A rule with the letters that its '*' stands for. */
struct span_kind {
    const char *name;
    const struct span_rule *rule;
    unsigned number; /* from 0 */
    unsigned rule_number;
    uint64_t fates[SPAN_FATES]; /* of those that spans->selects selects */
};

/* Lent to spans_ops. Times are ticks of the trace's clock. */
struct span {
    const struct span_kind *kind;
    const struct origin *origin; /* of its begin */
    int64_t at[SPAN_STEPS];      /* of each step; TIME_UNKNOWN: it did not come */
    int32_t cpu, pid, vcpu;      /* of its begin */
    /* The largest error of its duration (event/clock_error.h); of one that is not complete, of its begin. */
    uint32_t error_ns;
    uint32_t begin_error_ns; /* of when it began */
    uint64_t tag;            /* what begin() returned */
};

static inline int64_t span_begin(const struct span *span)
{
    return span->at[0];
}

static inline int64_t span_end(const struct span *span)
{
    return span->at[span->kind->rule->n_steps - 1];
}

struct spans_ops {
    /* ITEM begins a span of KIND, after it ended what it ends. What it returns is the span's `tag`. NULL: 0. */
    uint64_t (*begin)(void *arg, const struct span_kind *kind, const struct item *item);
    /* It is complete; ITEM completed it: its end, or where that came before its begin, that. 0, or a negative errno that
     * spans_put() returns. */
    int (*complete)(void *arg, const struct span *span, const struct item *item);
    /* It is not, by FATE; never SPAN_COMPLETE, SPAN_NO_BEGIN or SPAN_UNKEYED, which are no spans. NULL: nothing. */
    void (*incomplete)(void *arg, const struct span *span, enum span_fate fate);
};

/* Whether what begins at ITEM, or an end without a begin, is counted. */
typedef bool spans_selects_fn(void *arg, const struct item *item);

struct open_span;
struct class_steps;
struct rule_keys;
struct source_losses;

/* Open spans by their age. */
struct span_ages {
    uint32_t oldest, newest; /* numbers; 0: none */
    uint32_t n;
};

struct spans {
    const struct catalogue *catalogue;
    const struct spans_ops *ops;
    void *arg;
    /* Fates of others are not counted, but they are paired, and ops are called. NULL: all are counted. */
    spans_selects_fn *selects;
    const struct span_rule **rules;
    unsigned n_rules;
    struct arena arena;
    struct span_kind **kinds;
    unsigned n_kinds;
    struct rule_keys *rule_keys;  /* of each rule */
    uint32_t n_names;             /* of what keys begin with: a rule, with the letters of its '*' */
    struct class_steps **classes; /* by class->index; NULL: not looked at yet */
    unsigned n_classes;
    char *open; /* struct open_span, `open_size` bytes each; number 0 is none */
    size_t open_size;
    uint32_t n_open, open_room, free;
    struct span_ages begun; /* those that began */
    struct span_ages early; /* ends that came before their begin, maybe */
    uint32_t *buckets;
    uint32_t n_buckets; /* a power of two */
    uint32_t sequence;  /* of losses and of threads' ends */
    struct map sources; /* by origin: struct source_losses */
    const struct origin *recent_origin;
    struct source_losses *recent;
    struct map ended_threads; /* by source and pid: the sequence when it ended */
    unsigned n_ended_threads;
    uint32_t n_sources;
    bool has_threads; /* there are rules whose place is a thread */
    bool has_vcpus;   /* there are rules whose place is a vCPU */
    bool
        narrowed; /* a rule that crossed sources does not any more: what is open by it has no source in its key */
};

/* RULES, N_RULES, and what ARG is outlive SPANS. 0, -ENOMEM. */
int spans_init(struct spans *spans, const struct catalogue *catalogue,
               const struct span_rule *rules, unsigned n_rules, const struct spans_ops *ops,
               void *arg);
/* One rule more, of two steps, for the items from now on; RULE outlives SPANS. Not while ops are called. Returns its
 * number, or -ENOMEM. */
int spans_add_rule(struct spans *spans, const struct span_rule *rule);
/* Items in the order of time. 0, -ENOMEM, or what complete() returned. */
int spans_put(struct spans *spans, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
int spans_begin_loss(struct spans *spans, const struct item *item);
/* Whether events of CLASS are anything by the rules that there are: spans_put() does nothing for others. -ENOMEM. */
int spans_concern(struct spans *spans, const struct event_class *class);
/* Whether LOSS may have taken the end of a span of rule number RULE that began at ORIGIN and CPU (P2). A span across
 * sources: false, as its end may be of any. */
bool spans_may_be_lost(const struct spans *spans, unsigned rule, const struct origin *origin,
                       int32_t cpu, const struct item *loss);
/* At the end of the trace: what is open has no end. */
void spans_finish(struct spans *spans);
void spans_done(struct spans *spans);

static inline bool spans_has_open(const struct spans *spans)
{
    return spans->n_open > 0;
}

/* Whether SPAN, which END ended, needed no data of another CPU: it began and ended on one, and would not count if it might have
 * left that in between. */
bool spans_stayed(struct spans *spans, const struct span *span, const struct item *end);

/* The tag of the span of rule number RULE that is open at the place of ITEM, for a rule that has a place and no keys, and
 * whose steps are of ITEM's source. NULL: none is open, or its end may be among what was lost. For events between the
 * ends of a span that say more of it. */
uint64_t *spans_open_tag(struct spans *spans, unsigned rule, const struct item *item);
