/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds spans, from an event that begins something to the event that ends it, by rules (analysis/spans/span_rule.h).
 *
 * Invariants:
 *  P1  Each event that begins a span by a rule is in one span, which is complete, or is counted by why it is not (enum
 *      span_fate).
 *  P2  A span is complete only if no loss could have contained its end: between begin and end there was no loss in the
 *      source of its end, at the place of the span (its CPU, or any CPU if it has none). Rules with `unique` keys are
 *      exempt. A span counts as having met a loss in these cases, too: it begins after a loss without an end
 *      (item->is_open). It begins after the begin of a loss, if the reader states that (item->before_loss), and before
 *      its end, or before the end of the trace if its CPU has no more data and was not recorded to the end
 *      (origin_is_recorded_to_end()). It begins before all CPUs of a kernel have data (origin->complete_from), and may
 *      end on another CPU (SPAN_EARLY). A span of a thread that has not left its CPU meanwhile, as switches show, meets
 *      only that CPU's losses. A span is SPAN_OPEN only if the same holds up to the end of the trace, also with
 *      `unique` keys, and for each source in which later steps may be. If a kernel recorded only some threads
 *      (origin->pid_filter, threads_only), only spans of threads are open, because others may end while any thread
 *      runs; and a span of a CPU that has run another thread since its begin is not complete. In a source that was cut
 *      (origin->is_cut), only spans of CPUs are open.
 *  P3  Two keys are equal if all their numbers are equal, whatever their widths, and all their strings. An event
 *      without one of them, or without its place or its time, is in no span, and is counted (SPAN_UNKEYED).
 *  P4  Between sources with related clocks, a step may come before the begin of its span, at most by the errors of both
 *      clocks. If it is the end, the span is complete, and its duration is negative.
 *  P5  At most SPANS_OPEN_MAX spans are open at a time. Beyond, the oldest is given up and counted (SPAN_GIVEN_UP).
 *
 * Strings of keys are compared by 64-bit hashes.
 *
 * Spans take time and memory while they are open, but not after. Not thread-safe. */

#include "analysis/spans/span_rule.h"
#include "base/map.h"
#include "event/catalogue.h"
#include "event/item.h"

#define SPANS_OPEN_MAX (1u << 20)

/* The fate of a span, or of an end without one. */
enum span_fate {
    SPAN_COMPLETE,
    SPAN_NO_BEGIN,     /* an end whose begin is not in the trace */
    SPAN_OPEN,         /* at the end of the trace */
    SPAN_LOST,         /* events were lost since it began */
    SPAN_EARLY,        /* it began before all CPUs of its kernel begin (struct origin) */
    SPAN_AGAIN,        /* the same began again */
    SPAN_GONE,         /* its thread ended */
    SPAN_CONTRADICTED, /* other events contradict it */
    SPAN_UNKEYED,      /* an event without its keys, its place or its time */
    SPAN_GIVEN_UP,     /* too many were open */
};
#define SPAN_FATES (SPAN_GIVEN_UP + 1)

/* "no_begin", as in JSON. */
const char *span_fate_name(enum span_fate fate);

/* A rule with the letters that its '*' matches. */
struct span_kind {
    const char *name;
    const struct span_rule *rule;
    unsigned number; /* from 0 */
    unsigned rule_number;
    uint64_t fates[SPAN_FATES]; /* of the spans that spans->selects selects */
};

/* Lent to spans_ops. Times are ticks of the trace's clock. */
struct span {
    const struct span_kind *kind;
    const struct origin *origin; /* of its begin */
    int64_t at[SPAN_STEPS];      /* times of the steps; TIME_UNKNOWN if a step did not occur */
    int32_t cpu, pid, vcpu;      /* of its begin */
    /* The largest error of its duration (event/clock_error.h); for an incomplete span, of its begin. */
    uint32_t error_ns;
    uint32_t begin_error_ns; /* of its begin's time */
    uint64_t tag;            /* the result of begin() */
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
    /* ITEM begins a span of KIND, after it ended what it ends. Returns the span's `tag`. NULL: 0. */
    uint64_t (*begin)(void *arg, const struct span_kind *kind, const struct item *item);
    /* The span is complete. ITEM is its end, or its begin, if the end came before the begin. Returns 0, or a negative
     * errno that spans_put() returns. */
    int (*complete)(void *arg, const struct span *span, const struct item *item);
    /* The span is not complete, by FATE, which is never SPAN_COMPLETE, SPAN_NO_BEGIN or SPAN_UNKEYED, because those are
     * not spans. May be NULL. */
    void (*incomplete)(void *arg, const struct span *span, enum span_fate fate);
};

/* True if a span that begins at ITEM, or an end without a begin, is counted. */
typedef bool spans_selects_fn(void *arg, const struct item *item);

struct open_span;
struct class_steps;
struct rule_keys;
struct source_losses;

/* Open spans by age. */
struct span_ages {
    uint32_t oldest, newest; /* numbers; 0: none */
    uint32_t n;
};

struct spans {
    const struct catalogue *catalogue;
    const struct spans_ops *ops;
    void *arg;
    /* Fates of other spans are not counted, but they are paired and passed to ops. NULL: all are counted. */
    spans_selects_fn *selects;
    const struct span_rule **rules;
    unsigned n_rules;
    struct arena arena;
    struct span_kind **kinds;
    unsigned n_kinds;
    struct rule_keys *rule_keys;  /* for each rule */
    uint32_t n_names;             /* first parts of keys: a rule with the letters of its '*' */
    struct class_steps **classes; /* by class->index; NULL before it was examined */
    unsigned n_classes;
    char *open; /* struct open_span, `open_size` bytes each; number 0 is not used */
    size_t open_size;
    uint32_t n_open, open_room, free;
    struct span_ages begun; /* spans that have begun */
    struct span_ages early; /* ends that may have come before their begin */
    uint32_t *buckets;
    uint32_t n_buckets; /* a power of two */
    uint32_t sequence;  /* counts losses and ends of threads */
    struct map sources; /* by origin: struct source_losses */
    const struct origin *recent_origin;
    struct source_losses *recent;
    struct map ended_threads; /* by source and pid: the sequence at its end */
    unsigned n_ended_threads;
    uint32_t n_sources;
    bool has_threads; /* some rule's place is a thread */
    bool has_vcpus;   /* some rule's place is a vCPU */
    /* A rule does not cross sources any more: its open spans have no source in their keys. */
    bool narrowed;
};

/* N_RULES RULES and what ARG points to outlive SPANS. 0, -ENOMEM. */
int spans_init(struct spans *spans, const struct catalogue *catalogue,
               const struct span_rule *rules, unsigned n_rules, const struct spans_ops *ops,
               void *arg);
/* Adds a rule of two steps for the following items. RULE outlives SPANS. Must not be called in ops. Returns the rule's
 * number, or -ENOMEM. */
int spans_add_rule(struct spans *spans, const struct span_rule *rule);
/* Adds items in the order of time. 0, -ENOMEM, or the result of complete(). */
int spans_put(struct spans *spans, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
int spans_begin_loss(struct spans *spans, const struct item *item);
/* True if some rule is about events of CLASS; spans_put() does nothing for others. -ENOMEM. */
int spans_concern(struct spans *spans, const struct event_class *class);
/* True if LOSS may contain the end of a span of rule number RULE that began at ORIGIN and CPU (P2). False for a span
 * across sources, whose end may be in any. */
bool spans_may_be_lost(const struct spans *spans, unsigned rule, const struct origin *origin,
                       int32_t cpu, const struct item *loss);
/* At the end of the trace: open spans have no end. */
void spans_finish(struct spans *spans);
void spans_done(struct spans *spans);

static inline bool spans_has_open(const struct spans *spans)
{
    return spans->n_open > 0;
}

/* True if SPAN, which END ended, depends on no data of another CPU: it began and ended on one CPU, and would not count
 * if it might have left this CPU in between. */
bool spans_stayed(struct spans *spans, const struct span *span, const struct item *end);

/* Returns the tag of the open span of rule number RULE at the place of ITEM. The rule has a place and no keys, and its
 * steps are in ITEM's source. NULL if none is open, or its end may be lost. For events between the ends of a span that
 * tell more about it. */
uint64_t *spans_open_tag(struct spans *spans, unsigned rule, const struct item *item);
