/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of timeline/clock_fit.h: the marks while they are fitted. */

#include "timeline/clock_fit.h"

#define PPM 1e-6

/* MARK_OUTSIDE: an outlier. MARK_LATE: a mark that adds little, which is not a reason to drop it. */
#define MARK_OUTSIDE 1
#define MARK_LATE 2

/* Marks in their order by ticks, as distances from the first: doubles hold 104 days of ns exactly. */
struct clock_fit_state {
    const struct clock_fit_mark *marks;
    size_t n;
    double *x; /* ticks */
    double *y; /* ns */
    double *scratch;
    uint8_t *outside;   /* MARK_OUTSIDE, MARK_LATE */
    double slope;       /* ns per tick */
    double nominal;     /* known ns per tick, or 0 */
    double marks_slope; /* ns per tick by the marks, or 0: none */
    bool measured;
};

static inline double clock_fit_span(const struct clock_fit_state *work)
{
    return work->x[work->n - 1];
}

/* Adds the pair at X with offset NS from the first mark and error at most ERROR, if it keeps the pairs
 * ascending (timeline/clock_map.h). There must be room for it. */
void clock_fit_put_pair(const struct clock_fit_state *work, struct clock_fit *fit, double x,
                        double ns, double error);

/* The median of the N > 0 values V, which it sorts. */
double clock_fit_median(double *v, size_t n);

/* Fits the marks to a line, or to a line in pieces if that is much nearer to them. ORDER: the order of all marks.
 * -ENOMEM. */
int clock_fit_line(const struct clock_fit_state *work, struct clock_fit *fit,
                   enum clock_fit_order order);

/* True if marks that are not left out have both orders. */
bool clock_fit_has_both_orders(const struct clock_fit_state *work);

/* True if the marks clearly show another rate than the known one. *RET_PPM: by how much it differs. */
bool clock_fit_shows_drift(const struct clock_fit_state *work, double *ret_ppm);

/* The range of rates that marks in both orders allow, [*RET_LOW, *RET_HIGH], within CLOCK_MAP_DRIFT_PPM of the known
 * rate, if any. Returns false if no rate is known and the marks do not limit it. If no rate is allowed, because a
 * clock's rate changed or the marks contradict each other, both are set as the marks require. */
bool clock_fit_bound_rates(const struct clock_fit_state *work, double *ret_low, double *ret_high);

/* Fits marks in both orders: the offset lies between them. Returns 1; 0: the rate is unknown and there are too few
 * marks for a bound; -EINVAL with ERROR: they contradict each other; -ENOMEM. */
int clock_fit_bound(struct clock_fit_state *work, struct clock_fit *fit, struct error *error);
