/* SPDX-License-Identifier: MIT */
#pragma once

/* How long spans take: rows of durations by the rule and by what `--by` adds. */

#include "analysis/result/result_rows.h"
#include "analysis/spans/spans.h"

struct latency {
    struct analysis analysis; /* first */
    struct spans spans;
    struct rows rows;
    struct duration_columns columns;
    bool keeps_empty; /* the result has rows without spans */
};

/* RULES outlive LATENCY, and so do the strings of SETTINGS. 0, -ENOMEM. */
int latency_init(struct latency *latency, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules,
                 const struct catalogue *catalogue);
void latency_done(struct latency *latency);
