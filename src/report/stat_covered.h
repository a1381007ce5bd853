/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the times by which the rates of stat divide. Times are in ticks of the trace's clock, or in seconds. Not
 * thread-safe. */

#include "analysis/coverage/coverage.h"
#include "report/print_stat.h"

/* The covered time of the trace, or of ORIGIN if sources have different clocks. */
struct stat_covered {
    struct coverage coverage;
    const struct origin *origin;
    /* Rates are lower bounds, because events may be missing in the time that they divide by. */
    bool rates_are_least;
};

/* Call after tally_mark_gaps(). Call coverage_done(&ret->coverage) at the end, also after an error. 0, -ENOMEM. */
int stat_covered_make(const struct stat_report *stat, struct stat_covered *ret);
/* Gets the time that the sources of ROW cover, in seconds; 0 if the clock has no rate. 0, -ENOMEM. */
int stat_covered_seconds(const struct stat_report *stat, struct stat_covered *covered,
                         const struct tally_row *row, double *ret);
