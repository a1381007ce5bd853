/* SPDX-License-Identifier: MIT */
#pragma once

/* What the events of each class are in the rules of struct spans: looked up once for a class. */

#include "analysis/condition.h"
#include "analysis/spans/spans.h"
#include "event/kernel_event.h"

/* What the events of a class are by one rule. */
struct step_use {
    unsigned rule;
    unsigned step;
    uint32_t name;   /* what the keys begin with */
    bool begins_too; /* events of this class are the first step of the rule, too */
    bool is_simple;  /* it has no condition, and its rule has SIMPLE_SHAPE */
    unsigned
        n_same; /* of a step after the first: uses by the same rule from here on, the latest step first */
    struct span_kind *kind; /* of what begins by it; of others, of ends without a begin */
    const struct condition *condition; /* NULL: none */
    int fields[SPAN_KEYS];
    /* The end says how long it took: from one field to the other, or in one alone, ns. -1: it has no such field. */
    int measured_from, measured_to;
};

/* What of a rule the work for an event loops over, or depends on. Most events are of rules with SIMPLE_SHAPE: the compiler makes
 * code without the loops for these. */
struct rule_shape {
    unsigned n_steps, n_keys;
    unsigned n_found_by; /* as in struct rule_keys */
    enum span_again again;
};
#define SIMPLE_SHAPE ((struct rule_shape){.n_steps = 2, .again = SPAN_AGAIN_CUT})

struct class_steps {
    unsigned n;
    struct kernel_thread_end thread_end;
    bool switches;          /* its CPU comes to run another thread, or vCPU */
    bool is_nothing;        /* by all rules: its events are passed over */
    struct step_use uses[]; /* ends before begins: an event may be both */
};

/* How the keys of a rule are made. */
struct rule_keys {
    struct map names;    /* by the letters of the '*': the name's number, and one */
    uint32_t plain_name; /* the number of the name without letters; 0: there is none yet */
    bool has_star;       /* in every step */
    /* Which steps are of other sources than the first, bit 1 << step, by the classes that there are: a source may get the
     * class of a step later. */
    unsigned crossings;
    bool went_on;        /* the event is a step in between, and does not begin a span as well */
    unsigned n_found_by; /* keys by which open spans are found: the first ones */
};

/* Finds out what CLASS is: spans->classes[class->index]. 0, -ENOMEM. */
int span_steps_find(struct spans *spans, const struct event_class *class);
/* RULE is new: classes that it is about are to be looked at again. */
void span_steps_forget(struct spans *spans, const struct span_rule *rule);
/* The number of what the keys of RULE begin with, where its '*' stands for STAR. 0: memory is out. */
uint32_t span_steps_name(struct spans *spans, unsigned rule, const char *star, size_t len);
