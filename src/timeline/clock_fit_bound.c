/* SPDX-License-Identifier: MIT */
/* Fits marks in both orders: one order gives lower bounds of the offset, the other upper bounds, each
 * at its time; in between the clocks drift no faster than their rates allow. */

#include <math.h>

#include "base/macro.h"
#include "timeline/clock_fit_internal.h"

#define BOUNDS_MAX 4096

/* The lower or upper bound of the offset that a mark gives. */
static bool at_least(const struct clock_fit_state *work, size_t i, double *ret)
{
    *ret = work->y[i] - (double)work->marks[i].error_ns;
    return work->marks[i].order == CLOCK_FIT_REFERENCE_FIRST && !(work->outside[i] & MARK_OUTSIDE);
}

static bool at_most(const struct clock_fit_state *work, size_t i, double *ret)
{
    *ret = work->y[i] + (double)work->marks[i].error_ns;
    return work->marks[i].order == CLOCK_FIT_REFERENCE_LAST && !(work->outside[i] & MARK_OUTSIDE);
}

/* True if two marks prove that the rate was below SLOPE between them: an earlier lower bound and a
 * later upper bound. */
static bool is_below(const struct clock_fit_state *work, double slope)
{
    double most = -INFINITY, v;

    for (size_t i = 0; i < work->n; i++) {
        if (at_most(work, i, &v) && v - slope * work->x[i] < most)
            return true;
        if (at_least(work, i, &v))
            most = MAX(most, v - slope * work->x[i]);
    }
    return false;
}

static bool is_above(const struct clock_fit_state *work, double slope)
{
    double least = INFINITY, v;

    for (size_t i = 0; i < work->n; i++) {
        if (at_least(work, i, &v) && v - slope * work->x[i] > least)
            return true;
        if (at_most(work, i, &v))
            least = MIN(least, v - slope * work->x[i]);
    }
    return false;
}

/* Where IS turns, between LOW (where it is not) and HIGH (where it is): from the side where it is not. */
static double turn(const struct clock_fit_state *work,
                   bool (*is)(const struct clock_fit_state *, double), double low, double high)
{
    for (unsigned i = 0; i < 80; i++) {
        double middle = low + (high - low) / 2;

        if (is(work, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Where an unknown rate is looked for at most, ns a tick. */
#define RATE_MAX 1e18
/* An unknown rate that may be this many times as high as low is not bound: a line gives more. */
#define RATE_RATIO_MAX 3

bool clock_fit_bound_rates(const struct clock_fit_state *work, double *ret_low, double *ret_high)
{
    bool known = work->nominal > 0;
    double widest = work->nominal * CLOCK_MAP_DRIFT_PPM * PPM;
    double low = known ? work->nominal - widest : 0;
    double high = known ? work->nominal + widest : 1;
    double least, most;
    bool has_low, has_high;

    while (!known && !is_below(work, high) && high < RATE_MAX)
        high *= 2;
    has_low = is_above(work, low);
    has_high = is_below(work, high);
    if (!known && !(has_low && has_high))
        return false;
    /* `is_above` is so below a rate and not above it, `is_below` the other way round. */
    most = has_high ? turn(work, is_below, low, high) : high;
    least = has_low ? turn(work, is_above, high, low) : low;
    *ret_low = MIN(least, most);
    *ret_high = MAX(least, most);
    return known || *ret_high < *ret_low * RATE_RATIO_MAX;
}

/* At each mark the least and the most that the offset from a line of SLOPE can be, when it changes by RATE a
 * tick at most. */
static void spread_bounds(const struct clock_fit_state *work, double slope, double rate,
                          double *least, double *most)
{
    for (size_t i = 0; i < work->n; i++) {
        double v;

        least[i] = at_least(work, i, &v) ? v - slope * work->x[i] : -INFINITY;
        most[i] = at_most(work, i, &v) ? v - slope * work->x[i] : INFINITY;
    }
    for (size_t i = 1; i < work->n; i++) {
        double far = rate * (work->x[i] - work->x[i - 1]);

        least[i] = MAX(least[i], least[i - 1] - far);
        most[i] = MIN(most[i], most[i - 1] + far);
    }
    for (size_t i = work->n - 1; i > 0; i--) {
        double far = rate * (work->x[i] - work->x[i - 1]);

        least[i - 1] = MAX(least[i - 1], least[i] - far);
        most[i - 1] = MIN(most[i - 1], most[i] + far);
    }
}

static int contradict(const struct clock_fit_state *work, size_t i, double by, struct error *error)
{
    double drift_ppm;

    if (clock_fit_shows_drift(work, &drift_ppm))
        return error_set(error, -EINVAL, NULL,
                         "the marks contradict each other by %.1f us: they show clocks that "
                         "drift by %.0f ppm, and no two clocks do; they do not belong together",
                         by / 1000, drift_ppm);
    return error_set(error, -EINVAL, NULL,
                     "the marks contradict each other by %.1f us (near %lld ticks): some were not "
                     "in the stated order, or do not belong together",
                     by / 1000, (long long)work->marks[i].ticks);
}

/* Puts the pairs: in each interval, at the time where the bounds are closest. */
static int put_bounds(const struct clock_fit_state *work, struct clock_fit *fit, double slope,
                      const double *least, const double *most)
{
    unsigned n = (unsigned)MIN(work->n, (size_t)BOUNDS_MAX);
    double stretch = clock_fit_span(work) / n;

    fit->pairs = calloc(n + 2, sizeof *fit->pairs);
    if (!fit->pairs)
        return -ENOMEM;
    for (size_t i = 0; i < work->n && fit->n_pairs <= n;) {
        double end = stretch > 0 ? (floor(work->x[i] / stretch) + 1) * stretch : INFINITY;
        size_t best = i;

        for (; i < work->n && (work->x[i] < end || i == best); i++)
            if (most[i] - least[i] < most[best] - least[best])
                best = i;
        clock_fit_put_pair(work, fit, work->x[best],
                           slope * work->x[best] + (least[best] + most[best]) / 2,
                           (most[best] - least[best]) / 2);
    }
    return 0;
}

bool clock_fit_has_both_orders(const struct clock_fit_state *work)
{
    size_t n_first = 0, n_last = 0;

    for (size_t i = 0; i < work->n; i++) {
        n_first +=
            work->marks[i].order == CLOCK_FIT_REFERENCE_FIRST && !(work->outside[i] & MARK_OUTSIDE);
        n_last +=
            work->marks[i].order == CLOCK_FIT_REFERENCE_LAST && !(work->outside[i] & MARK_OUTSIDE);
    }
    return n_first > 0 && n_last > 0;
}

int clock_fit_bound(struct clock_fit_state *work, struct clock_fit *fit, struct error *error)
{
    _cleanup_free_ double *least = calloc(work->n, sizeof *least);
    _cleanup_free_ double *most = calloc(work->n, sizeof *most);
    double low, high, rate;
    int r;

    if (!least || !most)
        return -ENOMEM;
    if (!clock_fit_bound_rates(work, &low, &high))
        return 0;
    /* Of the known rates, and by how much they are others at any moment. */
    rate = (high - low) / 2 + work->slope * CLOCK_MAP_WANDER_PPM * PPM;
    work->slope = low + (high - low) / 2;
    spread_bounds(work, work->slope, rate, least, most);
    for (size_t i = 0; i < work->n; i++)
        if (least[i] > most[i] + 1)
            return contradict(work, i, least[i] - most[i], error);
    r = put_bounds(work, fit, work->slope, least, most);
    if (r < 0)
        return r;
    fit->kind = CLOCK_FIT_ERROR_BOUND;
    work->measured = true;
    fit->drift_error_ppm = (high - low) / 2 / work->slope / PPM;
    return 1;
}
