/* SPDX-License-Identifier: MIT */
#pragma once

/* How one clock relates to another: pairs of what both showed, each with a bound on its error, from which any time
 * of the one becomes a time of the other, with a bound.
 *
 * In a file, a pair is a line of three numbers: nanoseconds of the host's clock, ticks of the other, and the most ns by
 * which the former may be wrong. Other lines begin with '#', and are skipped but for
 *
 *     # paused      the clock stood still between the pair before and the one after, as a guest's may while its machine is
 *                   paused, and ran for the rest of that time
 *     # error NS    any time taken from the other clock may be wrong by NS besides, wherever the line is; of several, the
 *                   largest holds
 *
 * A last line that was cut off is skipped, too. The host's times ascend, and so do ticks: where they do not, the clock was
 * set back and showed the same ticks twice; all bounds are then wide enough for both.
 *
 * Times between two pairs are interpolated linearly. Clocks are assumed to drift by at most CLOCK_MAP_WANDER_PPM from
 * the rate that the pairs give, which holds for clocks that are not being set. (Crystals wander by less than a millionth
 * within seconds; adjustment to network time is as slow, once it has settled.) So the bound in between is that of the
 * pairs, each weighed by its distance, plus the drift since the nearer one. A pair whose bound is wider than
 * interpolation between its neighbours gives is dropped; any disagreement with it widens the neighbours' bounds.
 *
 * Where pairs give another rate than the given one, and no two of them are exact enough to show it, the one may be wrong as
 * well as the other: the difference is a part of the rate's error.
 *
 * Where two pairs give another rate than most do (two alone: than the given one), by more than they can be wrong, one
 * of the clocks stood still or was set somewhere between them: the bound between these two is wider by the most that this
 * may have been. A given
 * rate that pairs on one line contradict in several places was measured wrongly, and is ignored.
 *
 * So it is between two pairs with a pause between them; no rate follows from these, but that a given one which they exceed
 * is too low.
 *
 * A duration within the clock is wrong by what its rate leaves open (event/clock_error.h). The rate at any time is that of the
 * longest interval, within the errors of its ends and the wander, and that of the time's own interval within the same.
 *
 * Before the first pair and after the last one the rate of all pairs holds (where clocks stood still or were set: that
 * of the longest time in which they did not), with the error of its ends.
 *
 * A clock map consists of pieces in which both time and bound change evenly: a caller that converts many times keeps
 * the piece of the last one, and pays two multiplications for the next. */

#include "base/error.h"
#include "base/wide.h"
#include "event/clock_error.h"

#define CLOCK_MAP_WANDER_PPM 20
/* What clocks may differ by, where a single pair gives no rate. */
#define CLOCK_MAP_DRIFT_PPM 500
#define CLOCK_MAP_PAUSED "# paused"
#define CLOCK_MAP_ERROR "# error "

struct clock_map_pair {
    int64_t host_ns;
    int64_t ticks;
    int64_t error_ns;
    int64_t jump_ns; /* set when a map is made: what the bound is wider by up to the next pair */
    bool is_paused;  /* the clock stood still, once at least, between this pair and the next */
    uint8_t
        part; /* set when a map is made: in which it is steady up to the next pair, or CLOCK_UNSTEADY */
};

struct clock_map {
    struct clock_map_pair *given; /* all that there are, ascending in both; malloc */
    unsigned n_given;
    struct clock_map_pair *pairs; /* those that count: without the dropped ones */
    unsigned n;
    uint64_t hz;       /* ticks per second, from the pairs, or given_hz */
    uint64_t given_hz; /* 0: it was not */
    /* The usual rate: RATE_NS nanoseconds, with at most that error, in RATE_TICKS ticks; drift comes in
     * addition. */
    int64_t rate_ns, rate_error_ns, rate_ticks;
    unsigned rate_ppm;
    /* What is known of the rate otherwise, ns a tick at any time; 0: nothing (clock_map_limit_rate()). */
    double limit_least, limit_most;
    /* By which part of it a duration that is converted may be wrong, if the clock was steady meanwhile. */
    double duration_error;
    unsigned wander_ppm; /* CLOCK_MAP_WANDER_PPM, unless the caller knows better */
    int64_t set_back_ns; /* what all bounds are wider by, as the clock was set back */
    int64_t extra_ns; /* … and by what '# error' says: in the errors of `pairs`, not in `given` */
};

/* LEN ticks from FROM on, in which times and their bounds change linearly. */
struct clock_map_piece {
    int64_t from;
    uint64_t len; /* 0: none, as of a piece that is zeroed */
    int64_t host_ns;
    uint64_t rate; /* ns a tick, times 2^shift */
    int64_t error_ns;
    uint64_t error_rate; /* ns of the bound a tick, times 2^error_shift */
    uint8_t shift, error_shift;
    bool error_falls;
    /* The number of the time in which the clock was steady; CLOCK_UNSTEADY: it stood still or was set somewhere between the
     * pairs around the piece. Where there are too many such times, all the later ones are not steady. */
    uint8_t part;
};

/* HZ: the rate, where it is known otherwise; 0: not. -EINVAL with ERROR: no such file, no pairs, or no rate;
 * -ENOMEM, an errno from reading. */
int clock_map_read(const char *path, uint64_t hz, struct clock_map *ret_map, struct error *error);
/* The same of LEN bytes; NAME is for messages. */
int clock_map_parse(const char *text, size_t len, const char *name, uint64_t hz,
                    struct clock_map *ret_map, struct error *error);
/* The same from N pairs, ascending in both, with numbers from 0 to INT64_MAX / 2; copied. -EINVAL with
 * ERROR: invalid pairs, or no rate. */
int clock_map_of_pairs(const struct clock_map_pair *pairs, unsigned n, const char *name,
                       uint64_t hz, struct clock_map *ret_map, struct error *error);
/* Declares that the two clocks run at the same rate, whatever adjusts it, until one of them is set,
 * like the host's CLOCK_REALTIME and CLOCK_MONOTONIC. -ENOMEM. */
int clock_map_set_steady(struct clock_map *clock_map);
/* Between LEAST and MOST ns a tick, at any time at which it was steady, is known of the rate, however few the pairs are. Is
 * ignored if the pairs contradict it. -ENOMEM. */
int clock_map_limit_rate(struct clock_map *clock_map, double least, double most);
/* Whether the clock was set or stood still somewhere. */
bool clock_map_has_jumps(const struct clock_map *clock_map);
/* By which part of it a duration in ticks may be wrong, of which CLOCK_MAP's hz makes ns. */
double clock_map_rate_error(const struct clock_map *clock_map);
/* All bounds become wider by NS, also those after clock_map_set_steady(). */
void clock_map_widen(struct clock_map *clock_map, int64_t ns);
/* Makes a deep copy. -ENOMEM. */
int clock_map_copy(const struct clock_map *clock_map, struct clock_map *ret_map);
void clock_map_done(struct clock_map *clock_map);

/* The piece that TICKS are in; any ticks are in one. */
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

/* The same of any TICKS. RET_ERROR_NS may be NULL. Saturates. */
int64_t clock_map_convert(const struct clock_map *clock_map, int64_t ticks, int64_t *ret_error_ns);

/* The least ticks that are converted to NS of the host's clock or more. */
int64_t clock_map_ticks(const struct clock_map *clock_map, int64_t ns);

/* The largest bound of any ticks from FROM to TO. */
int64_t clock_map_bound(const struct clock_map *clock_map, int64_t from, int64_t to);
