/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts events that are earlier than a previous event of their source, and passes them unchanged. They are damaged,
 * came too late to be sorted, or have a clock that ran backwards. */

#include "event/source.h"

struct late_count;

/* Takes ownership of INPUT, even on failure (-ENOMEM). *RET_COUNT lives as long as the source. */
int late_count_open(struct source *input, struct source **ret_source,
                    const struct late_count **ret_count);
/* The number of such events so far, and the origin of the first one. */
uint64_t late_count(const struct late_count *count);
const struct origin *late_origin(const struct late_count *count);
