/* SPDX-License-Identifier: MIT */
#pragma once

/* Analyses how long spans take: rows of durations by rule and by the keys of `--by`. */

#include "analysis/result/result_rows.h"
#include "analysis/spans/spans.h"

struct latency {
    struct analysis analysis; /* first */
    struct spans spans;
    struct rows rows;
    struct duration_columns columns;
    bool keeps_empty; /* the result also has rows without spans */
};

/* RULES and the strings of SETTINGS outlive LATENCY. 0, -ENOMEM. */
int latency_init(struct latency *latency, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules,
                 const struct catalogue *catalogue);
void latency_done(struct latency *latency);
