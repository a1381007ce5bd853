/* SPDX-License-Identifier: MIT */
#pragma once

/* How long spans took: rows of durations by the rule and what else they are grouped by. A sink; the verbs latency,
 * exits and irq show what it found. */

#include "analysis/losses.h"
#include "analysis/rows.h"
#include "analysis/spans.h"

struct latency_options {
    const struct span_rule *rules;
    unsigned n_rules;
    struct grouping grouping; /* beside the rule */
    unsigned slowest;         /* how many of the longest are kept */
    int64_t longer;           /* ticks: shorter spans are left out; 0: none are */
    int64_t every;            /* ticks of a period; 0: none */
    const char *task;         /* a pattern: only spans that such tasks begin; NULL: all */
};

struct latency {
    struct sink sink;
    struct latency_options options;
    struct spans spans;
    struct rows rows;
    /* Told of each complete span that is counted; NULL: nobody is. */
    void (*each)(void *arg, const struct span *span, const struct row *row);
    void *each_arg;
    uint64_t n_events;
    int64_t first, last; /* of events; TIME_UNKNOWN: there were none */
    struct losses losses;
    struct layer_losses layers;
};

/* OPTIONS' rules outlive LATENCY. 0, -ENOMEM. */
int latency_init(struct latency *latency, const struct latency_options *options,
                 const struct catalogue *catalogue);
void latency_done(struct latency *latency);

/* How many spans of all rules had FATE. */
uint64_t latency_fates(const struct latency *latency, enum span_fate fate);
