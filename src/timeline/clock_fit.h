/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds how one clock relates to another from events that both recorded ("marks"). The result is pairs of times of both
 * clocks (timeline/clock_map.h), and their error as far as known.
 *
 * The two sides do not record a mark at the same moment: one is first, and the other follows after a delay. The result
 * depends on what is known of the delay:
 *
 *   no order is known      The marks are fitted to a line. Their spread around it is known, but not the delay: a delay
 *                          common to all marks looks like another offset.
 *   one order              The line is moved so that no mark breaks its order: the fastest mark has a delay of zero.
 *                          Its real delay is unknown.
 *   both orders            Marks of one order limit the offset from below, marks of the other order from above,
 *                          however long the delays are.
 *
 * A bound requires one assumption of clock_map.h: the relative rates of the clocks at any two moments differ by no more
 * than CLOCK_MAP_WANDER_PPM. If both rates are known, the measured rate differs from them by no more than
 * CLOCK_MAP_DRIFT_PPM.
 *
 * Marks in both orders contradict each other if no rate within these limits fits all of them, and only then. Marks in
 * one order, or without an order, fit any rate if their delays may have any length. They are rejected if they clearly
 * lie on a line of an impossible rate, or, without an order, if they lie on no line at all.
 *
 * A few marks of other events, or with a very long delay, do no harm: outliers are dropped and counted. */

#include <stddef.h>

#include "base/error.h"
#include "timeline/clock_map.h"

enum clock_fit_order {
    CLOCK_FIT_ANY_ORDER,
    CLOCK_FIT_REFERENCE_FIRST, /* the reference recorded the event first */
    CLOCK_FIT_REFERENCE_LAST,
};

struct clock_fit_mark {
    int64_t ns;       /* of the reference, in nanoseconds */
    int64_t ticks;    /* of the other clock */
    int64_t error_ns; /* largest error of `ns` and `ticks` together */
    enum clock_fit_order order;
};

enum clock_fit_error {
    CLOCK_FIT_ERROR_UNKNOWN, /* unknown, because one or two marks fit any line */
    CLOCK_FIT_ERROR_SPREAD,  /* the spread of the marks around the line */
    CLOCK_FIT_ERROR_ONE_WAY, /* the spread, and no mark breaks its order */
    CLOCK_FIT_ERROR_BOUND,   /* a limit of the error of all times */
};

struct clock_fit {
    struct clock_map_pair *pairs; /* ascending in both; malloc */
    unsigned n_pairs;
    size_t n_marks;
    size_t n_outside;   /* marks that were left out of the fit */
    int64_t outside_ns; /* distance of the worst left-out mark from the bounds */
    int64_t from, to;   /* ticks of the first and the last mark */
    double ns_per_tick; /* over all marks */
    bool rate_measured; /* the rate is from the marks; otherwise it is the known rate */
    /* If rate_measured and a rate was known before: by how much faster the reference runs. */
    double drift_ppm;
    double drift_error_ppm;    /* largest error of drift_ppm; 0: unknown */
    enum clock_fit_error kind; /* meaning of least_ns and most_ns */
    int64_t least_ns, most_ns; /* range of the errors of the pairs */
};

/* Fits the N marks, and sorts them. HZ: ticks per second; 0: unknown. -EINVAL with ERROR: too few marks, or they
 * contradict each other; the caller puts its text after the names of both sides. -ENOMEM. */
int clock_fit_find(struct clock_fit_mark *marks, size_t n, uint64_t hz, struct clock_fit *ret_fit,
                   struct error *error);
void clock_fit_done(struct clock_fit *fit);
