/* SPDX-License-Identifier: MIT */
#pragma once

/* Tightens a clock map by what is known of causes and effects: an event of another clock that was certainly before, or
 * certainly after, one of this clock bounds the offset of the two clocks from one side.
 *
 * The offset is the true time of the host's clock minus what the map says. Relative to the straight line of the map's
 * usual rate it drifts by no more than the map allows (timeline/clock_map.h): the error of that rate, and
 * CLOCK_MAP_WANDER_PPM. So a bound at one time is a wider bound at another time.
 *
 * The tightest bound from each side is kept per piece of time, of at most CLOCK_BOUNDS_PIECES: when there are more, pieces
 * become twice as long. What bounds at both ends of the trace leave of the rate makes the drift narrower.
 *
 * Maps in which a clock was set or stood still are not tightened, because an offset then holds for no other time. */

#include "timeline/clock_map.h"

#define CLOCK_BOUNDS_PIECES 4096u

/* The tightest bounds in a piece, ns from the line, and their times. */
struct clock_bounds_piece {
    double low, high;
    int64_t low_at, high_at;
};

struct clock_bounds {
    const struct clock_map *map; /* NULL: not to be tightened; outlives this */
    struct clock_bounds_piece *pieces;
    unsigned n;
    int64_t start; /* ns of the map's time: the first piece */
    int64_t length;
    double drift; /* ns a ns */
};

/* -ENOMEM. A map that cannot be tightened is left out: clock_bounds_add() then does nothing. */
int clock_bounds_init(struct clock_bounds *bounds, const struct clock_map *map);
void clock_bounds_done(struct clock_bounds *bounds);

/* At HOST_NS of the map's time the offset is at most NS. */
void clock_bounds_add_most(struct clock_bounds *bounds, int64_t host_ns, int64_t ns);
/* … at least NS. */
void clock_bounds_add_least(struct clock_bounds *bounds, int64_t host_ns, int64_t ns);

/* Makes the map that all bounds and the map's own ones leave, which the caller frees: on a straight line, if one is within
 * them, so that durations are as exact as what is known of the rate. -EINVAL: they leave none, and
 * *RET_BY_NS says by how much the bounds contradict each other; -ENOENT: the map is not to be tightened; -ENOMEM. */
int clock_bounds_map(const struct clock_bounds *bounds, struct clock_map *ret_map,
                     int64_t *ret_by_ns);

/* The ticks at which MAP gives HOST_NS; saturated. */
int64_t clock_bounds_ticks(const struct clock_map *map, int64_t host_ns);
