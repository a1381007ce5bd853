/* SPDX-License-Identifier: MIT */
#pragma once

/* Tightens a clock map by causes and effects: an event of another clock that was certainly before or after an event of
 * this clock limits the offset of the two clocks on one side.
 *
 * The offset is the true time of the host's clock minus the result of the map. Relative to the straight line of the
 * map's usual rate, it drifts by no more than the map allows (timeline/clock_map.h): the error of that rate, plus
 * CLOCK_MAP_WANDER_PPM. So a bound at one time is a wider bound at another time.
 *
 * The tightest bound on each side is kept for each of at most CLOCK_BOUNDS_PIECES pieces of time. If there are more,
 * pieces become twice as long. Bounds at both ends of the trace limit the rate, and so reduce the drift.
 *
 * Maps in which a clock was set or stood still are not tightened, because an offset is then valid only at its own
 * time. */

#include "timeline/clock_map.h"

#define CLOCK_BOUNDS_PIECES 4096u

/* The tightest bounds in a piece, in ns from the line, and their times. */
struct clock_bounds_piece {
    double low, high;
    int64_t low_at, high_at;
};

struct clock_bounds {
    const struct clock_map *map; /* must outlive this; NULL: not tightened */
    struct clock_bounds_piece *pieces;
    unsigned n;
    int64_t start; /* ns of the map's time: the first piece */
    int64_t length;
    double drift; /* ns per ns */
};

/* -ENOMEM. If the map cannot be tightened, clock_bounds_add_…() do nothing. */
int clock_bounds_init(struct clock_bounds *bounds, const struct clock_map *map);
void clock_bounds_done(struct clock_bounds *bounds);

/* The offset is at most NS at HOST_NS of the map's time. */
void clock_bounds_add_most(struct clock_bounds *bounds, int64_t host_ns, int64_t ns);
/* The offset is at least NS at HOST_NS of the map's time. */
void clock_bounds_add_least(struct clock_bounds *bounds, int64_t host_ns, int64_t ns);

/* Makes the map that satisfies all bounds and the map's own bounds; the caller frees it. It is a straight line if one
 * is within the bounds, so that durations are as exact as the rate. -EINVAL: no map satisfies them, and *RET_BY_NS says
 * by how much the bounds contradict each other; -ENOENT: the map is not tightened; -ENOMEM. */
int clock_bounds_map(const struct clock_bounds *bounds, struct clock_map *ret_map,
                     int64_t *ret_by_ns);

/* The ticks for which MAP gives HOST_NS; saturates. */
int64_t clock_bounds_ticks(const struct clock_map *map, int64_t host_ns);
