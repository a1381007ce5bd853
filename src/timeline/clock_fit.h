/* SPDX-License-Identifier: MIT */
#pragma once

/* How one clock relates to another, from things that both saw: marks. What came of it is pairs of both
 * (timeline/clock_map.h), and what is known of their error.
 *
 * A mark was not seen at the same moment on both sides: one saw it first, and the other when word of it had
 * come there. What can be told depends on what is known of that way:
 *
 *   no order is known      The marks are laid on a line. How far they lie around it is told, but not how long the
 *                          ways are: what all marks have in common looks like another offset.
 *   one order              The line is moved so that none of them breaks it: the fastest took no time. What it
 *                          really took cannot be told.
 *   both orders are there  The one kind says that the offset is no less than so much, the other no more, so that
 *                          both together are a bound, however long the ways were.
 *
 * A bound rests on one assumption, which is relation.h's: that the rates of the clocks against each other at
 * any two moments differ by no more than CLOCK_MAP_WANDER_PPM. Where both rates are known, they differ from
 * what is known by no more than CLOCK_MAP_DRIFT_PPM.
 *
 * Marks in both orders contradict each other where no rate within these limits fits all of them, and only there. Marks
 * in one order, or in none, fit any rate if their ways may take any time: they are refused where they clearly lie on
 * a line of a rate that no clock has, or, in no order, on no line at all.
 *
 * A few marks that belong to something else, or whose word took very long, do no harm: what lies far outside of
 * most is left out and counted. */

#include <stddef.h>

#include "base/fault.h"
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
    size_t n_outside;   /* marks that were left out: the line is told without them */
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
 * with FAULT, whose text wants the names of both sides in front: too few marks, or they contradict each
 * other. -ENOMEM. */
int clock_fit_find(struct clock_fit_mark *marks, size_t n, uint64_t hz, struct clock_fit *ret_sync,
                   struct fault *fault);
void clock_fit_done(struct clock_fit *sync);
