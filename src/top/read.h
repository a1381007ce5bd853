/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a complete trace for `strata top`, window by window. The trace is opened again for each window. */

#include "top/model.h"

/* The longest time before a window that is read again, because spans may begin there. */
#define TOP_LOOK_BACK_MAX_S 10

/* Reads the window from FROM (exclusive) to UNTIL of a complete trace into MODEL. OPTIONS: how the user opens traces.
 * Times are the host's CLOCK_MONOTONIC in ns if the trace can be put on it, otherwise the trace's own ticks. A negative
 * errno with ERROR. */
int top_read_window(const char *path, const struct trace_options *options, struct top_model *model,
                    int64_t from, int64_t until, struct error *error);
/* Finds the times of the first and the last event of a trace, and their clock. -ENODATA if it has no events; a negative
 * errno with ERROR. */
int top_read_ends(const char *path, const struct trace_options *options, int64_t *ret_first,
                  int64_t *ret_last, struct clock *ret_clock, struct error *error);
