/* SPDX-License-Identifier: MIT */
#pragma once

/* What events of each class mean in the rules of struct spans. Found once per class. */

#include "analysis/condition.h"
#include "analysis/spans/spans.h"
#include "event/kernel_event.h"

/* What events of a class mean by one rule. */
struct step_use {
    unsigned rule;
    unsigned step;
    uint32_t name;   /* first part of the keys */
    bool begins_too; /* events of this class are also the first step of the rule */
    bool is_simple;  /* it has no condition, and its rule has SIMPLE_SHAPE */
    /* For steps after the first: uses by the same rule from here on, the latest step first. */
    unsigned n_same;
    /* Kind of the spans that it begins; for other steps, of ends without a begin. */
    struct span_kind *kind;
    const struct condition *condition; /* may be NULL */
    int fields[SPAN_KEYS];
    /* The end states its duration in ns, as the difference of two fields, or in one field; -1: it has no such field. */
    int measured_from, measured_to;
};

/* Properties of a rule on which the work per event depends. Most events are of rules with SIMPLE_SHAPE, for which the
 * compiler makes code without loops. */
struct rule_shape {
    unsigned n_steps, n_keys;
    unsigned n_found_by; /* as in struct rule_keys */
    enum span_again again;
};
#define SIMPLE_SHAPE ((struct rule_shape){.n_steps = 2, .again = SPAN_AGAIN_CUT})

struct class_steps {
    unsigned n;
    struct kernel_thread_end thread_end;
    bool switches;          /* its CPU begins to run another thread or vCPU */
    bool is_nothing;        /* no rule is about it, so its events are skipped */
    struct step_use uses[]; /* ends before begins, because an event may be both */
};

/* How the keys of a rule are made. */
struct rule_keys {
    struct map names;    /* by the letters of the '*': number of the name, plus one */
    uint32_t plain_name; /* number of the name without letters; 0 before it is made */
    bool has_star;       /* every step has a '*' */
    /* Steps in other sources than the first step's, as bits 1 << step, by the present classes. A source may get the
     * class of a step later. */
    unsigned crossings;
    bool went_on;        /* the event is a step in between, and does not also begin a span */
    unsigned n_found_by; /* the first keys, by which open spans are found */
};

/* Finds what CLASS means: spans->classes[class->index]. 0, -ENOMEM. */
int span_steps_find(struct spans *spans, const struct event_class *class);
/* RULE is new: classes that it is about will be examined again. */
void span_steps_forget(struct spans *spans, const struct span_rule *rule);
/* Returns the number of the first part of RULE's keys, whose '*' matches STAR. 0 if out of memory. */
uint32_t span_steps_name(struct spans *spans, unsigned rule, const char *star, size_t len);
