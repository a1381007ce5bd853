/* SPDX-License-Identifier: MIT */
#pragma once

/* What the rates of stat divide by. Times are ticks of the trace's clock, or seconds. Not thread-safe. */

#include "analysis/coverage/coverage.h"
#include "report/print_stat.h"

/* What is covered of the trace, or of ORIGIN alone if sources have clocks of their own. */
struct stat_covered {
    struct coverage coverage;
    const struct origin *origin;
    /* Rates are over a time in which events of their rows may be missing: they are the least that they can be. */
    bool rates_are_least;
};

/* After tally_mark_gaps(). coverage_done(&ret->coverage) ends it, also after an error. 0, -ENOMEM. */
int stat_covered_make(const struct stat_report *stat, struct stat_covered *ret);
/* The time that ROW's events are of: what its sources cover; 0: the clock has no rate. 0, -ENOMEM. */
int stat_covered_seconds(const struct stat_report *stat, struct stat_covered *covered,
                         const struct tally_row *row, double *ret);
