/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the result of an analysis, "stat", from the counts and intervals of a tally by event, to compare two of
 * them. */

#include "analysis/analysis.h"
#include "analysis/tally.h"

struct tally_result {
    struct analysis analysis; /* first */
    struct tally tally;
    unsigned n, rate, p50, p99, max; /* columns */
};

/* 0, -ENOMEM. */
int tally_result_init(struct tally_result *tally, const struct analysis_settings *settings);
void tally_result_done(struct tally_result *tally);
