/* SPDX-License-Identifier: MIT */
#pragma once

/* How one clock relates to another, from events that both saw: marks. The result is pairs of both
 * (timeline/clock_map.h), and what is known of their error.
 *
 * The two sides do not see a mark at the same moment: one sees it first, the other after a delay. What follows from the
 * marks depends on what is known of that delay:
 *
 *   no order is known      The marks are fitted to a line. Their spread around it is known, but not the delay: what all
 *                          marks have in common looks like another offset.
 *   one order              The line is moved so that no mark breaks its order: the fastest has a delay of zero. Its real
 *                          delay is unknown.
 *   both orders            Marks of one order bound the offset from below, those of the other from above, however long
 *                          the delays are.
 *
 * A bound rests on one assumption, which is clock_map.h's: that the rates of the clocks against each other at any two
 * moments differ by no more than CLOCK_MAP_WANDER_PPM. Where both rates are known, they differ from that by no more than
 * CLOCK_MAP_DRIFT_PPM.
 *
 * Marks in both orders contradict each other where no rate within these limits fits all of them, and only there. Marks
 * in one order, or in none, fit any rate if their delays may be of any length: they are refused where they clearly lie on
 * a line of a rate that no clock has, or, in no order, on no line at all.
 *
 * A few marks that belong to another event, or whose delay was very long, do no harm: outliers are left out and counted. */

#include <stddef.h>

#include "base/error.h"
#include "timeline/clock_map.h"

enum clock_fit_order {
    CLOCK_FIT_ANY_ORDER,
    CLOCK_FIT_REFERENCE_FIRST, /* the reference saw it before the other did */
    CLOCK_FIT_REFERENCE_LAST,
};

struct clock_fit_mark {
    int64_t ns;       /* of the reference, in nanoseconds */
    int64_t ticks;    /* of the clock that is to be related */
    int64_t error_ns; /* by how much the two may be wrong at most */
    enum clock_fit_order order;
};

enum clock_fit_error {
    CLOCK_FIT_ERROR_UNKNOWN, /* one mark, or two: they lie on any line */
    CLOCK_FIT_ERROR_SPREAD,  /* as far do marks lie around the line */
    CLOCK_FIT_ERROR_ONE_WAY, /* the same, and none breaks its order */
    CLOCK_FIT_ERROR_BOUND,   /* no time is more wrong than that */
};

struct clock_fit {
    struct clock_map_pair *pairs; /* ascending in both; malloc */
    unsigned n_pairs;
    size_t n_marks;
    size_t n_outside;   /* marks that were left out: the line is fitted without them */
    int64_t outside_ns; /* how far the worst of these lies outside */
    int64_t from, to;   /* ticks of the first mark and the last */
    double ns_per_tick; /* over all */
    bool rate_measured; /* by the marks, else as it was known */
    double
        drift_ppm; /* rate_measured, and known otherwise, too: by how much faster the reference runs */
    double drift_error_ppm;    /* … by which that is wrong at most; 0: not known */
    enum clock_fit_error kind; /* of … */
    int64_t least_ns, most_ns; /* … the errors of the pairs */
};

/* Relates by the N marks, which it sorts. HZ: the ticks a second, where they are known; 0: they are not. -EINVAL
 * with ERROR, whose text the caller puts after the names of both sides: too few marks, or they contradict each
 * other. -ENOMEM. */
int clock_fit_find(struct clock_fit_mark *marks, size_t n, uint64_t hz, struct clock_fit *ret_fit,
                   struct error *error);
void clock_fit_done(struct clock_fit *fit);
