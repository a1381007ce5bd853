/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts in several threads: a tally for each part of the trace's time (trace/parallel_read.h), added up. */

#include "report/print_stat.h"
#include "trace/parallel_read.h"

/* Counts all of STAT's trace, of which nothing was read, into STAT's tally, which is initialised by SETTINGS and has counted
 * nothing. OPTIONS: without the functions of its sinks. 0: done, and there is nothing to report but the losses. Otherwise a negative
 * errno: the trace and the tally cannot be used any more, and one thread is to count them from a new opening. */
int stat_parallel(struct stat_report *stat, const struct tally_options *settings,
                  const struct parallel_options *options);

/* Whether stat_parallel() can be tried. */
bool stat_can_parallel(const struct stat_report *stat, const struct parallel_options *options);
