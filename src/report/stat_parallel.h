/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts in several threads: one tally for each part of the trace's time (trace/parallel_read.h). Then adds them up. */

#include "report/print_stat.h"
#include "trace/parallel_read.h"

/* Counts all of STAT's trace into STAT's tally. Nothing of the trace was read before, and the tally was initialised by
 * SETTINGS. OPTIONS need no functions for sinks. 0: everything was counted, and nothing must be reported but losses.
 * Otherwise a negative errno: the trace and the tally are unusable, and one thread must count from a new opening. */
int stat_parallel(struct stat_report *stat, const struct tally_options *settings,
                  const struct parallel_options *options);

/* True if stat_parallel() may be tried. */
bool stat_can_parallel(const struct stat_report *stat, const struct parallel_options *options);
