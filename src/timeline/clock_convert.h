/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that converts times to another clock by a clock map, with a limit of their error. */

#include "event/source.h"
#include "timeline/clock_map.h"

/* Converts the times of items, and the start times of losses, to the host's clock, and sets `error_ns`. Keeps the order
 * of items. Takes ownership of SOURCE, even on failure (-ENOMEM); CLOCK_MAP is borrowed. The caller changes the clocks
 * of the origins. A loss without a start begins at SINCE, in ns of the host's clock, or TIME_UNKNOWN. */
int clock_convert_open(struct source *source, const struct clock_map *clock_map, int64_t since,
                       struct source **ret_source);

/* The same for times that are already in the host's clock, but may have an error of ERROR_NS. */
int clock_convert_error_open(struct source *source, uint32_t error_ns, struct source **ret_source);
