/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds how one clock relates to another from events that both recorded ("marks"). The result is pairs
 * of times of both clocks (timeline/clock_map.h), and what is known of their error.
 *
 * The two sides do not record a mark at the same moment: one is first, the other follows after a delay.
 * What the marks say depends on what is known of that delay:
 *
 *   no order is known      The marks are fitted to a line. Their spread around it is known, but not the delay: what all
 *                          marks have in common looks like another offset.
 *   one order              The line is moved so that no mark breaks its order: the fastest has a delay of zero. Its real
 *                          delay is unknown.
 *   both orders            Marks of one order bound the offset from below, those of the other from above, however long
 *                          the delays are.
 *
 * A bound rests on one assumption, that of clock_map.h: the rates of the clocks against each other at
 * any two moments differ by no more than CLOCK_MAP_WANDER_PPM. If both rates are known, the measured
 * rate differs from them by no more than CLOCK_MAP_DRIFT_PPM.
 *
 * Marks in both orders contradict each other if no rate within these limits fits all of them, and only
 * then. Marks in one order, or in none, fit any rate if their delays may have any length: they are
 * rejected if they clearly lie on a line of an impossible rate, or, without an order, on no line at
 * all.
 *
 * A few marks that belong to another event, or with a very long delay, do no harm: outliers are dropped
 * and counted. */

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
    int64_t ticks;    /* of the clock to be related */
    int64_t error_ns; /* by how much the two may be wrong at most */
    enum clock_fit_order order;
};

enum clock_fit_error {
    CLOCK_FIT_ERROR_UNKNOWN, /* one mark, or two: they fit any line */
    CLOCK_FIT_ERROR_SPREAD,  /* the spread of the marks around the line */
    CLOCK_FIT_ERROR_ONE_WAY, /* the same, and none breaks its order */
    CLOCK_FIT_ERROR_BOUND,   /* no time is more wrong than that */
};

struct clock_fit {
    struct clock_map_pair *pairs; /* ascending in both; malloc */
    unsigned n_pairs;
    size_t n_marks;
    size_t n_outside;   /* marks that were left out: the line is fitted without them */
    int64_t outside_ns; /* distance of the worst of these from the bounds */
    int64_t from, to;   /* ticks of the first mark and the last */
    double ns_per_tick; /* over all */
    bool rate_measured; /* from the marks; otherwise it is the known rate */
    double
        drift_ppm; /* rate_measured, and known otherwise, too: by how much faster the reference runs */
    double drift_error_ppm;    /* the largest error of that; 0: not known */
    enum clock_fit_error kind; /* of … */
    int64_t least_ns, most_ns; /* … the errors of the pairs */
};

/* Fits the N marks, which it sorts. HZ: ticks per second; 0: not known. -EINVAL with ERROR, whose text
 * the caller puts after the names of both sides: too few marks, or they contradict each other. -ENOMEM. */
int clock_fit_find(struct clock_fit_mark *marks, size_t n, uint64_t hz, struct clock_fit *ret_fit,
                   struct error *error);
void clock_fit_done(struct clock_fit *fit);
