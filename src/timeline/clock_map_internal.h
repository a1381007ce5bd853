/* SPDX-License-Identifier: MIT */
#pragma once

/* Inside timeline/clock_map.h: from parsed pairs to a clock map. */

#include "timeline/clock_map.h"

/* The largest number of a pair: products of two such, and of a time and one, fit in 128 bits. */
#define CLOCK_MAP_NUMBER_MAX (INT64_MAX / 2)

/* Completes CLOCK_MAP from the pairs in `given`; on entry, only `given`, `set_back_ns` and `extra_ns` are set. HZ as of
 * clock_map_parse(). -EINVAL, -ENOMEM with ERROR: it is the caller's to free. */
int clock_map_complete(struct clock_map *clock_map, const char *name, uint64_t hz,
                       struct error *error);
