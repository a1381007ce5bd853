/* SPDX-License-Identifier: MIT */
#pragma once

/* Relates one clock to another by pairs of simultaneous times, each with a limit of its error. Any time of one clock
 * can be converted to the other, with a limit of the error.
 *
 * In a file, a pair is a line of three numbers: nanoseconds of the host's clock, ticks of the other clock, and the
 * largest error of the former in ns. Other lines begin with '#', and are ignored except
 *
 *     # paused      the clock stood still between the previous and the next pair, for example a guest's clock while
 *                   its machine is paused, and ran for the rest of that time
 *     # error NS    all times from the other clock have a further error of NS, wherever the line is; the largest of
 *                   several lines counts
 *
 * An incomplete last line is also ignored. The host's times ascend, and ticks ascend too, unless the clock was set back
 * and showed the same ticks twice. All limits are then large enough for both.
 *
 * Times between two pairs are interpolated linearly. Clocks are assumed to drift by at most CLOCK_MAP_WANDER_PPM from
 * the rate between the pairs, which is true for clocks that are not set. Crystals drift by less than 1 ppm within
 * seconds, and adjustment to network time is as slow, once it has settled. So the limit in between is the limits of the
 * pairs, each weighed by its distance, plus the drift since the nearer pair. A pair whose limit is larger than
 * interpolation between its neighbours gives is dropped. If it disagrees with them, this increases the neighbours'
 * limits.
 *
 * If pairs give another rate than the given one, and no two pairs are exact enough to prove it, either may be wrong.
 * The difference is then a part of the rate's error.
 *
 * If two pairs give another rate than most pairs do (if there are only two pairs: than the given rate), by more than
 * their errors, a clock stood still or was set somewhere between them. The limit between these two pairs then increases
 * by the largest possible step. A given rate that pairs on one line contradict in several places was measured wrongly,
 * and is ignored.
 *
 * The same holds for two pairs with a pause between them. No rate follows from them, except that a given rate which
 * they exceed is too low.
 *
 * The error of a duration within the clock is the uncertainty of its rate (event/clock_error.h). The rate at any time
 * is the rate of the longest interval, within the errors of its ends and the drift, and the rate of the interval at
 * that time within the same limits.
 *
 * Before the first pair and after the last pair, the rate of all pairs is used, with the error of its ends. If a clock
 * stood still or was set, the rate is from the longest time without that.
 *
 * A clock map consists of pieces in which both time and limit change linearly. A caller that converts many times keeps
 * the piece of the last time, so the next conversion costs two multiplications. */

#include "base/error.h"
#include "base/wide.h"
#include "event/clock_error.h"

#define CLOCK_MAP_WANDER_PPM 20
/* Assumed largest difference of rates, if a single pair gives no rate. */
#define CLOCK_MAP_DRIFT_PPM 500
#define CLOCK_MAP_PAUSED "# paused"
#define CLOCK_MAP_ERROR "# error "

struct clock_map_pair {
    int64_t host_ns;
    int64_t ticks;
    int64_t error_ns;
    int64_t jump_ns; /* set by the map: increase of the limit up to the next pair */
    /* the clock stood still at least once between this pair and the next one */
    bool is_paused;
    /* Set by the map: number of the steady part up to the next pair, or CLOCK_UNSTEADY. */
    uint8_t part;
};

struct clock_map {
    struct clock_map_pair *given; /* all pairs, ascending in both; malloc */
    unsigned n_given;
    struct clock_map_pair *pairs; /* without the dropped pairs */
    unsigned n;
    uint64_t hz;       /* ticks per second, from the pairs, or given_hz */
    uint64_t given_hz; /* 0: none was given */
    /* The usual rate: RATE_NS nanoseconds, with at most RATE_ERROR_NS error, in RATE_TICKS ticks; without drift. */
    int64_t rate_ns, rate_error_ns, rate_ticks;
    unsigned rate_ppm;
    /* Further limits of the rate in ns per tick at any time; 0: none (clock_map_limit_rate()). */
    double limit_least, limit_most;
    /* The relative error of a converted duration, if the clock was steady meanwhile. */
    double duration_error;
    unsigned wander_ppm; /* CLOCK_MAP_WANDER_PPM, unless the caller knows better */
    int64_t set_back_ns; /* increase of all limits because the clock was set back */
    /* Increase of all limits by '# error': included in `pairs`, not in `given`. */
    int64_t extra_ns;
};

/* LEN ticks from FROM, in which times and their limits change linearly. */
struct clock_map_piece {
    int64_t from;
    uint64_t len; /* 0: empty, like a zeroed piece */
    int64_t host_ns;
    uint64_t rate; /* ns per tick, times 2^shift */
    int64_t error_ns;
    uint64_t error_rate; /* ns of the limit per tick, times 2^error_shift */
    uint8_t shift, error_shift;
    bool error_falls;
    /* The number of the steady part; CLOCK_UNSTEADY: the clock stood still or was set somewhere between the pairs
     * around the piece. If there are too many steady parts, all later ones count as not steady. */
    uint8_t part;
};

/* Reads the file PATH. HZ: the known rate; 0: unknown. -EINVAL with ERROR: no such file, no pairs, or no rate; -ENOMEM;
 * or an errno from reading. */
int clock_map_read(const char *path, uint64_t hz, struct clock_map *ret_map, struct error *error);
/* The same from LEN bytes at TEXT. NAME is for messages. */
int clock_map_parse(const char *text, size_t len, const char *name, uint64_t hz,
                    struct clock_map *ret_map, struct error *error);
/* The same from N pairs, ascending in both, with numbers from 0 to INT64_MAX / 2; copied. -EINVAL with
 * ERROR: invalid pairs, or no rate. */
int clock_map_of_pairs(const struct clock_map_pair *pairs, unsigned n, const char *name,
                       uint64_t hz, struct clock_map *ret_map, struct error *error);
/* Declares that the two clocks run at the same rate, whatever adjusts it, until one of them is set,
 * like the host's CLOCK_REALTIME and CLOCK_MONOTONIC. -ENOMEM. */
int clock_map_set_steady(struct clock_map *clock_map);
/* Declares that the rate is between LEAST and MOST ns per tick whenever the clock was steady. Ignored if the pairs
 * contradict it. -ENOMEM. */
int clock_map_limit_rate(struct clock_map *clock_map, double least, double most);
/* True if the clock was set or stood still anywhere. */
bool clock_map_has_jumps(const struct clock_map *clock_map);
/* The relative error of a duration in ticks that is converted to ns by CLOCK_MAP's hz. */
double clock_map_rate_error(const struct clock_map *clock_map);
/* Increases all limits by NS, also limits set by clock_map_set_steady(). */
void clock_map_widen(struct clock_map *clock_map, int64_t ns);
/* Makes a deep copy. -ENOMEM. */
int clock_map_copy(const struct clock_map *clock_map, struct clock_map *ret_map);
void clock_map_done(struct clock_map *clock_map);

/* The piece that contains TICKS. Every value is in a piece. */
void clock_map_find(const struct clock_map *clock_map, int64_t ticks,
                    struct clock_map_piece *ret_piece);

static inline bool clock_map_piece_holds(const struct clock_map_piece *piece, int64_t ticks)
{
    return (uint64_t)ticks - (uint64_t)piece->from < piece->len;
}

/* Converts TICKS, which PIECE contains, to nanoseconds of the host's clock, and returns the largest
 * error. Monotonic also across pieces. */
static inline int64_t clock_map_piece_convert(const struct clock_map_piece *piece, int64_t ticks,
                                              int64_t *ret_error_ns)
{
    uint64_t done = (uint64_t)ticks - (uint64_t)piece->from;
    int64_t error = (int64_t)mul_shift_u64(done, piece->error_rate, piece->error_shift);

    *ret_error_ns = piece->error_ns + (piece->error_falls ? -error : error);
    return piece->host_ns + (int64_t)mul_shift_u64(done, piece->rate, piece->shift);
}

/* Converts any TICKS. RET_ERROR_NS may be NULL. Saturates. */
int64_t clock_map_convert(const struct clock_map *clock_map, int64_t ticks, int64_t *ret_error_ns);

/* The smallest ticks that are converted to at least NS of the host's clock. */
int64_t clock_map_ticks(const struct clock_map *clock_map, int64_t ns);

/* The largest limit of any ticks from FROM to TO. */
int64_t clock_map_bound(const struct clock_map *clock_map, int64_t from, int64_t to);
