/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts the events of a source that are earlier than one before them: what is damaged, or came too late to be put in order, or a clock
 * that ran backwards. They pass as they are. */

#include "event/source.h"

struct late_count;

/* Takes ownership of INPUT, also on failure (-ENOMEM). *RET_COUNT lives as long as the source. */
int late_count_open(struct source *input, struct source **ret_source,
                    const struct late_count **ret_count);
/* How many were lent so far, and the origin of the first of them. */
uint64_t late_count(const struct late_count *count);
const struct origin *late_origin(const struct late_count *count);
