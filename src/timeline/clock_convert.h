/* SPDX-License-Identifier: MIT */
#pragma once

/* A stage that tells times in another clock, by how the two relate, and by how much they may be wrong. */

#include "event/source.h"
#include "timeline/clock_map.h"

/* Takes SOURCE over, also when it fails (-ENOMEM); RELATION is borrowed. Times, and since when losses are, become
 * the host's; each item's `error_ns` is set. The order of items stays. Whoever opens it changes the clocks of the
 * origins. */
int clock_convert_open(struct source *source, const struct clock_map *clock_map,
                       struct source **ret_source);

/* The same for times that are the host's as they are, but may be wrong by ERROR_NS. */
int clock_convert_error_open(struct source *source, uint32_t error_ns, struct source **ret_source);
