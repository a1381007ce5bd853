/* SPDX-License-Identifier: MIT */
#pragma once

/* Transfers counters and histograms from a process that counts to a process that serves them. Both have the same
 * families. The counting process sends the increase since its last message. The serving process adds it up, so that its
 * counters never decrease when the counting process starts again. A line for each sample:
 *
 *     NAME TAB VALUE... TAB NUMBER...        VALUEs of the labels; NUMBERs are hexadecimal
 *     +NAME TAB NUMBER                       updates beyond the family's limit
 *
 * A counter has one number, the bits of its double. A histogram has the bits of its sum, and then the count of each bucket.
 * In values a tab is "\t", a line's end "\n" and a backslash "\\". */

#include "base/error.h"
#include "metrics/metrics.h"

/* Limit of a label's value, in bytes. */
#define METRIC_VALUE_MAX 127u
#define METRIC_UPDATE_BOUNDS_MAX 64u

/* Writes the increase since the last call, and sets the samples to 0. Leaves out gauges, and families with more than
 * METRIC_UPDATE_BOUNDS_MAX bounds. Values are cut to METRIC_VALUE_MAX bytes. Errors: text->error; then no sample is set
 * to 0. */
void metrics_put_updates(struct metrics *metrics, struct text *text);
/* Adds LEN bytes of TEXT, whole lines, to METRICS. TEXT is not trusted. -EINVAL with ERROR: a line is not an update of
 * a family of METRICS, and nothing was added; -ENOMEM. */
int metrics_read_updates(struct metrics *metrics, const char *text, size_t len,
                         struct error *error);
