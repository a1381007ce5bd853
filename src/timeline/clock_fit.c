/* SPDX-License-Identifier: MIT */
#include "timeline/clock_fit_internal.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"

/* A mark is an outlier if its distance from the median exceeds OUTSIDE_FACTOR times the distance of the nearer half
 * (six standard deviations of a normal distribution) by more than OUTSIDE_NS. */
#define OUTSIDE_FACTOR 9
#define OUTSIDE_NS 1000
/* A delay cannot be negative, so short ones lie close together. */
#define EARLY_FACTOR 3
/* Up to FEW marks, each is compared with each other; with fewer than the second, no outlier can be
 * found. */
#define FEW 64
#define TOO_FEW 5
/* Marks show an impossible drift if there are at least this many, and if they are by this factor nearer
 * to its line than the drift over their time: random delays lie on no line. */
#define DRIFT_MARKS 8
#define DRIFT_FACTOR 10
/* Delays that differ by no more than this contradict nothing. */
#define WAY_NS 1e6
/* Marks in no order that are farther from a line than this part of their time are on none. */
#define NO_LINE 8
/* What a pair of clocks may be (timeline/clock_map.h). */
#define NUMBER_MAX_VALUE (INT64_MAX / 2)

static int compare_marks(const void *pa, const void *pb)
{
    const struct clock_fit_mark *a = pa, *b = pb;

    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static int compare_doubles(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

double clock_fit_median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int work_init(struct clock_fit_state *work, const struct clock_fit_mark *marks, size_t n,
                     uint64_t hz)
{
    *work = (struct clock_fit_state){.marks = marks, .n = n, .nominal = hz ? 1e9 / (double)hz : 0};
    work->x = calloc(n, sizeof *work->x);
    work->y = calloc(n, sizeof *work->y);
    work->scratch = calloc(n, sizeof *work->scratch);
    work->outside = calloc(n, sizeof *work->outside);
    if (!work->x || !work->y || !work->scratch || !work->outside)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        work->x[i] = (double)(marks[i].ticks - marks[0].ticks);
        work->y[i] = (double)(marks[i].ns - marks[0].ns);
    }
    return 0;
}

static void work_done(struct clock_fit_state *work)
{
    free(work->x);
    free(work->y);
    free(work->scratch);
    free(work->outside);
}

/* The distribution of the marks of one order around a line. */
struct around {
    double middle; /* median */
    double half;   /* median distance from the median */
    double early;  /* as far from the middle are a tenth or more on the side of short ways */
};

/* For marks of ORDER and a line of SLOPE. Returns how many there are. */
static size_t look(const struct clock_fit_state *work, double slope, enum clock_fit_order order,
                   struct around *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < work->n; i++)
        if (work->marks[i].order == order)
            work->scratch[n++] = work->y[i] - slope * work->x[i];
    if (n == 0)
        return 0;
    ret->middle = clock_fit_median(work->scratch, n);
    ret->early = order == CLOCK_FIT_REFERENCE_FIRST ? work->scratch[n - 1 - n / 10] - ret->middle
                                                    : ret->middle - work->scratch[n / 10];
    for (size_t i = 0; i < n; i++)
        work->scratch[i] = fabs(work->scratch[i] - ret->middle);
    ret->half = clock_fit_median(work->scratch, n);
    return n;
}

/* The order of most marks. */
static enum clock_fit_order most_common(const struct clock_fit_state *work, size_t *ret_n)
{
    size_t counts[CLOCK_FIT_REFERENCE_LAST + 1] = {0};
    enum clock_fit_order most = CLOCK_FIT_ANY_ORDER;

    for (size_t i = 0; i < work->n; i++)
        counts[work->marks[i].order]++;
    for (enum clock_fit_order order = CLOCK_FIT_ANY_ORDER; order <= CLOCK_FIT_REFERENCE_LAST;
         order++)
        if (counts[order] > counts[most])
            most = order;
    *ret_n = counts[most];
    return most;
}

/* The slope through two marks, weighted by their distance. */
struct slope {
    double slope, weight;
};

static int compare_slopes(const void *pa, const void *pb)
{
    const struct slope *a = pa, *b = pb;

    return (a->slope > b->slope) - (a->slope < b->slope);
}

/* The slope that half of the weight is below. */
static double middle_slope(struct slope *slopes, size_t n)
{
    double half = 0;
    size_t i;

    qsort(slopes, n, sizeof *slopes, compare_slopes);
    for (i = 0; i < n; i++)
        half += slopes[i].weight / 2;
    for (i = 0; i + 1 < n && half > slopes[i].weight; i++)
        half -= slopes[i].weight;
    return slopes[i].slope;
}

/* The slope of the marks of the most frequent order; robust against a quarter of outliers. Each mark
 * gives one slope, with the mark half of all marks later; if there are few, with every other mark. 0:
 * none. -ENOMEM. */
static int measure_slope(const struct clock_fit_state *work, double *ret)
{
    size_t n = 0, k = 0, room;
    enum clock_fit_order order = most_common(work, &n);
    _cleanup_free_ size_t *marks = calloc(n + 1, sizeof *marks);
    _cleanup_free_ struct slope *slopes = NULL;

    room = n <= FEW ? n * n / 2 : n;
    slopes = calloc(room + 1, sizeof *slopes);
    if (!marks || !slopes)
        return -ENOMEM;
    for (size_t i = 0; i < work->n; i++)
        if (work->marks[i].order == order)
            marks[k++] = i;
    k = 0;
    for (size_t i = 0; i < n; i++) {
        size_t step = n <= FEW ? 1 : n - n / 2;

        for (size_t j = n <= FEW ? i + 1 : i + n / 2; j < n; j += step) {
            double ticks = work->x[marks[j]] - work->x[marks[i]];

            if (ticks > 0)
                slopes[k++] =
                    (struct slope){(work->y[marks[j]] - work->y[marks[i]]) / ticks, ticks};
        }
    }
    *ret = k ? middle_slope(slopes, k) : 0;
    return 0;
}

/* Sets the slope: the slope by the marks, or the known slope if the marks are too close together to give a better
 * one. */
static int choose_slope(struct clock_fit_state *work, struct error *error)
{
    struct around around = {0};
    double drift, doubt;
    size_t n;
    enum clock_fit_order order = most_common(work, &n);

    if (measure_slope(work, &work->marks_slope) < 0)
        return -ENOMEM;
    if (work->nominal == 0) {
        double low, high;

        if (work->n < 2 || clock_fit_span(work) <= 0)
            return error_set(error, -EINVAL, NULL,
                             "a single event gives an offset but no rate, and the rate of its "
                             "clock is unknown; name more events, or give --cpu-hz");
        work->slope = work->marks_slope;
        /* If delays exceed the intervals between marks, only their orders bound the rate. */
        if (work->marks_slope <= 0 && clock_fit_bound_rates(work, &low, &high))
            work->slope = low + (high - low) / 2;
        if (work->slope <= 0)
            return error_set(error, -EINVAL, NULL,
                             "the matching events give no rate: their order differs between the "
                             "sides, so they are too close together or do not belong together; "
                             "name more events, or give --cpu-hz");
        work->measured = true;
        return 0;
    }
    work->slope = work->nominal;
    if (n < 2 || clock_fit_span(work) <= 0 || work->marks_slope <= 0)
        return 0;
    drift = fabs(work->marks_slope / work->nominal - 1);
    (void)look(work, work->marks_slope, order, &around);
    doubt = 3 * around.half / (clock_fit_span(work) * work->nominal);
    if (drift <= CLOCK_MAP_DRIFT_PPM * PPM && doubt <= CLOCK_MAP_DRIFT_PPM * PPM) {
        work->slope = work->marks_slope;
        work->measured = true;
    }
    return 0;
}

/* The spread around a line of SLOPE of marks that are not outliers. */
static double width_around(const struct clock_fit_state *work, double slope, size_t *ret_n)
{
    double low = INFINITY, high = -INFINITY;

    *ret_n = 0;
    for (size_t i = 0; i < work->n; i++) {
        double height = work->y[i] - slope * work->x[i];

        if (work->outside[i] & MARK_OUTSIDE)
            continue;
        low = MIN(low, height);
        high = MAX(high, height);
        ++*ret_n;
    }
    return *ret_n ? high - low : 0;
}

bool clock_fit_shows_drift(const struct clock_fit_state *work, double *ret_ppm)
{
    size_t n;
    double width, off;

    if (work->nominal == 0 || work->measured || work->marks_slope <= 0)
        return false;
    off = work->marks_slope - work->nominal;
    width = width_around(work, work->marks_slope, &n);
    *ret_ppm = off / work->nominal / PPM;
    /* A level line is near to marks that came at any time. */
    return n >= DRIFT_MARKS &&
           width * DRIFT_FACTOR < MIN(fabs(off), work->marks_slope) * clock_fit_span(work);
}

/* Marks in no order, or in one, fit any rate if delays may have any length. They are rejected if they
 * lie on a line of an impossible rate, or, in no order, on no line at all. */
static int check_line(const struct clock_fit_state *work, struct error *error)
{
    struct around around = {0};
    double drift_ppm, half;
    size_t n;
    enum clock_fit_order order = most_common(work, &n);

    if (work->nominal == 0 || work->measured || look(work, work->nominal, order, &around) < 2)
        return 0;
    half = around.half / work->nominal;
    if (around.half <= WAY_NS || half <= clock_fit_span(work) / 100)
        return 0;
    if (clock_fit_shows_drift(work, &drift_ppm))
        return error_set(error, -EINVAL, NULL,
                         "the marks contradict each other: they show clocks that drift by %.0f "
                         "ppm, and no two clocks do; they do not belong together",
                         drift_ppm);
    if (order == CLOCK_FIT_ANY_ORDER && n >= TOO_FEW && half > clock_fit_span(work) / NO_LINE)
        return error_set(error, -EINVAL, NULL,
                         "the marks contradict each other: half of them are %.0f us or more from "
                         "a line; they do not belong together",
                         around.half / 1000);
    return 0;
}

/* Drops marks far from the others of their order; if the order is known, only those that claim a
 * tighter bound than most: a long delay only loosens it. */
static int leave_out(struct clock_fit_state *work, struct clock_fit *fit, struct error *error)
{
    fit->n_outside = 0;
    fit->outside_ns = 0;
    for (enum clock_fit_order order = CLOCK_FIT_ANY_ORDER; order <= CLOCK_FIT_REFERENCE_LAST;
         order++) {
        struct around around = {0};

        if (look(work, work->slope, order, &around) < TOO_FEW)
            continue;
        for (size_t i = 0; i < work->n; i++) {
            const struct clock_fit_mark *mark = &work->marks[i];
            double off = work->y[i] - work->slope * work->x[i] - around.middle;
            double more = OUTSIDE_NS + work->slope + 2 * (double)mark->error_ns;
            bool early = order == CLOCK_FIT_REFERENCE_FIRST ? off > 0 : off < 0;
            double far = order != CLOCK_FIT_ANY_ORDER && early ? EARLY_FACTOR * around.early
                                                               : OUTSIDE_FACTOR * around.half;

            if (mark->order != order)
                continue;
            work->outside[i] = 0;
            if (fabs(off) <= far + more)
                continue;
            work->outside[i] = order == CLOCK_FIT_ANY_ORDER || early ? MARK_OUTSIDE : MARK_LATE;
            fit->n_outside += work->outside[i] == MARK_OUTSIDE;
            fit->outside_ns = MAX(fit->outside_ns, (int64_t)MIN(fabs(off), 9e18));
        }
    }
    if (fit->n_outside * 2 > work->n)
        return error_set(
            error, -EINVAL, NULL,
            "the matching events contradict each other: %zu of %zu are far from the rest",
            fit->n_outside, work->n);
    return 0;
}

/* The line of least squares through those that are near to it. */
static void refine(struct clock_fit_state *work)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    size_t n = 0;

    for (size_t i = 0; i < work->n; i++) {
        if (work->outside[i])
            continue;
        sx += work->x[i];
        sy += work->y[i] - work->slope * work->x[i];
        n++;
    }
    if (n < 3)
        return;
    sx /= (double)n;
    sy /= (double)n;
    for (size_t i = 0; i < work->n; i++) {
        double dx = work->x[i] - sx;

        if (work->outside[i])
            continue;
        sxx += dx * dx;
        sxy += dx * (work->y[i] - work->slope * work->x[i] - sy);
    }
    if (sxx > 0)
        work->slope += sxy / sxx;
}

static int64_t to_ns(double v)
{
    return v >= 9e18 ? INT64_MAX : v <= -9e18 ? -INT64_MAX : (int64_t)llround(v);
}

void clock_fit_put_pair(const struct clock_fit_state *work, struct clock_fit *fit, double x,
                        double ns, double error)
{
    struct clock_map_pair pair = {.host_ns = work->marks[0].ns + to_ns(ns),
                                  .ticks = work->marks[0].ticks + to_ns(x),
                                  .error_ns = to_ns(ceil(error)) + 1};
    unsigned n = fit->n_pairs;

    if (pair.host_ns < 0 || pair.ticks < 0 || pair.host_ns > NUMBER_MAX_VALUE ||
        pair.ticks > NUMBER_MAX_VALUE)
        return;
    if (n > 0 &&
        (pair.host_ns <= fit->pairs[n - 1].host_ns || pair.ticks <= fit->pairs[n - 1].ticks))
        return;
    fit->pairs[n] = pair;
    fit->n_pairs = n + 1;
}

/* The only order that occurs; marks without an order add nothing to it. */
static enum clock_fit_order only_order(const struct clock_fit_state *work)
{
    enum clock_fit_order order = work->marks[0].order;

    for (size_t i = 1; i < work->n; i++)
        if (work->marks[i].order != order)
            return CLOCK_FIT_ANY_ORDER;
    return order;
}

static int relate(struct clock_fit_state *work, struct clock_fit *fit, struct error *error)
{
    int r = choose_slope(work, error);

    if (r >= 0)
        r = leave_out(work, fit, error);
    for (unsigned i = 0; i < 2 && r >= 0 && work->measured && !clock_fit_has_both_orders(work);
         i++) {
        refine(work);
        r = leave_out(work, fit, error);
    }
    if (r >= 0 && clock_fit_has_both_orders(work))
        r = clock_fit_bound(work, fit, error);
    else if (r >= 0)
        r = check_line(work, error);
    if (r >= 0 && fit->kind != CLOCK_FIT_ERROR_BOUND)
        r = clock_fit_line(work, fit, only_order(work));
    return r;
}

/* What the pairs amount to. */
static int finish(const struct clock_fit_state *work, struct clock_fit *fit, struct error *error)
{
    if (fit->n_pairs == 0)
        return error_set(error, -EINVAL, NULL, "the matching events' times are out of range");
    fit->n_marks = work->n;
    fit->from = work->marks[0].ticks;
    fit->to = work->marks[work->n - 1].ticks;
    fit->least_ns = INT64_MAX;
    for (unsigned i = 0; i < fit->n_pairs; i++) {
        fit->least_ns = MIN(fit->least_ns, fit->pairs[i].error_ns);
        fit->most_ns = MAX(fit->most_ns, fit->pairs[i].error_ns);
    }
    fit->rate_measured = work->measured;
    fit->ns_per_tick = work->slope;
    if (work->measured && work->nominal > 0)
        fit->drift_ppm = (work->slope / work->nominal - 1) / PPM;
    return 0;
}

int clock_fit_find(struct clock_fit_mark *marks, size_t n, uint64_t hz, struct clock_fit *ret_fit,
                   struct error *error)
{
    struct clock_fit fit = {0};
    struct clock_fit_state work;
    int r;

    if (n == 0)
        return error_set(error, -EINVAL, NULL, "no matching events");
    qsort(marks, n, sizeof *marks, compare_marks);
    r = work_init(&work, marks, n, hz);
    if (r >= 0)
        r = relate(&work, &fit, error);
    if (r >= 0)
        r = finish(&work, &fit, error);
    work_done(&work);
    if (r < 0) {
        clock_fit_done(&fit);
        return error_set(error, r, NULL, "out of memory");
    }
    *ret_fit = fit;
    return 0;
}

void clock_fit_done(struct clock_fit *fit)
{
    free(fit->pairs);
    *fit = (struct clock_fit){0};
}
