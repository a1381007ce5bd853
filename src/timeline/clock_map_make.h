/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of timeline/clock_map.h: what reads pairs hands them to what makes a relation of them. */

#include "timeline/clock_map.h"

/* What a number of a pair is at most: products of two such, and of a time and one, fit in 128 bits. */
#define CLOCK_MAP_NUMBER_MAX (INT64_MAX / 2)

/* Makes RELATION of what it was `told`; the rest of it is zeroed but for `set_back_ns`. HZ as of clock_map_parse().
 * -EINVAL, -ENOMEM with ERROR: it is the caller's to free. */
int clock_map_make(struct clock_map *clock_map, const char *name, uint64_t hz, struct error *error);
