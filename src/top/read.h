/* SPDX-License-Identifier: MIT */
#pragma once

/* How `strata top` reads a trace that is complete: window by window, as it is opened again for each. */

#include "top/model.h"

/* The longest time before a window that is read again for what began there. */
#define TOP_LOOK_BACK_MAX_S 10

/* OPTIONS: what the user's environment says of opening.
 * Reads the window from FROM, exclusive, until UNTIL into MODEL, of a trace that is complete. Times are the host's
 * CLOCK_MONOTONIC in ns, where the trace can be put on it, else its own ticks. A negative errno with ERROR. */
int top_read_window(const char *path, const struct trace_options *options, struct top_model *model,
                    int64_t from, int64_t until, struct error *error);
/* When the first and the last event of a trace are, and in what clock. -ENODATA: it has none; a negative errno with ERROR. */
int top_read_ends(const char *path, const struct trace_options *options, int64_t *ret_first,
                  int64_t *ret_last, struct clock *ret_clock, struct error *error);
