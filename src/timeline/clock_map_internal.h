/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of timeline/clock_map.h: makes a clock map from parsed pairs. */

#include "timeline/clock_map.h"

/* The largest number in a pair, so that the product of two numbers, or of a time and a number, fits in 128 bits. */
#define CLOCK_MAP_NUMBER_MAX (INT64_MAX / 2)

/* Completes CLOCK_MAP from the pairs in `given`. On entry, only `given`, `set_back_ns` and `extra_ns` are set. HZ as in
 * clock_map_parse(). -EINVAL, -ENOMEM with ERROR: the caller frees CLOCK_MAP. */
int clock_map_complete(struct clock_map *clock_map, const char *name, uint64_t hz,
                       struct error *error);
