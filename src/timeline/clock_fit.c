/* SPDX-License-Identifier: MIT */
#include "timeline/clock_fit_work.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"

/* Marks that lie farther from the middle than that many times what half of them do (six standard deviations of
 * what is distributed normally), and this much besides, are outside. */
#define OUTSIDE_FACTOR 9
#define OUTSIDE_NS 1000
/* No way takes less than no time: short ones lie close together. */
#define EARLY_FACTOR 3
/* So few marks that each is compared with each; and such of which none can be told to be wrong. */
#define FEW 64
#define TOO_FEW 5
/* Marks tell a drift that clocks do not have where they are this many, and this much nearer to its line than the
 * drift is over their time: ways of random length lie on no line. */
#define DRIFT_MARKS 8
#define DRIFT_FACTOR 10
/* Ways that differ by no more than this contradict nothing. */
#define WAY_NS 1e6
/* Marks in no order that are farther from a line than this part of their time are on none. */
#define NO_LINE 8
/* Where clocks' rates drift, a line in pieces follows them: of so many marks and ns at least. */
#define PIECE_MARKS 32
#define PIECE_NS 1e9
#define PIECES_MAX 1024
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

/* Of N > 0; sorts them. */
static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int work_init(struct clock_fit_work *work, const struct clock_fit_mark *marks, size_t n,
                     uint64_t hz)
{
    *work = (struct clock_fit_work){.marks = marks, .n = n, .nominal = hz ? 1e9 / (double)hz : 0};
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

static void work_done(struct clock_fit_work *work)
{
    free(work->x);
    free(work->y);
    free(work->scratch);
    free(work->outside);
}

/* How marks of one order lie around a line. */
struct around {
    double middle; /* half of them lie above */
    double half;   /* as near to the middle lies half of them */
    double early;  /* as far from the middle are a tenth or more on the side of short ways */
};

/* For marks of ORDER and a line of SLOPE. Returns how many there are. */
static size_t look(const struct clock_fit_work *work, double slope, enum clock_fit_order order,
                   struct around *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < work->n; i++)
        if (work->marks[i].order == order)
            work->scratch[n++] = work->y[i] - slope * work->x[i];
    if (n == 0)
        return 0;
    ret->middle = median(work->scratch, n);
    ret->early = order == CLOCK_FIT_REFERENCE_FIRST ? work->scratch[n - 1 - n / 10] - ret->middle
                                                    : ret->middle - work->scratch[n / 10];
    for (size_t i = 0; i < n; i++)
        work->scratch[i] = fabs(work->scratch[i] - ret->middle);
    ret->half = median(work->scratch, n);
    return n;
}

/* The order of most marks. */
static enum clock_fit_order most_common(const struct clock_fit_work *work, size_t *ret_n)
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

/* What two marks tell of the slope; those far apart tell it better. */
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

/* The slope that marks of the most common order tell, which a quarter of them cannot turn, however wrong they are.
 * Each tells one with that which is half of all marks later; where they are few, with every other. 0: there is
 * none. -ENOMEM. */
static int tell_slope(const struct clock_fit_work *work, double *ret)
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

/* Sets the slope: the one that the marks tell, or the known one where they are too close together to tell it
 * better. */
static int choose_slope(struct clock_fit_work *work, struct fault *fault)
{
    struct around around = {0};
    double drift, doubt;
    size_t n;
    enum clock_fit_order order = most_common(work, &n);

    if (tell_slope(work, &work->told) < 0)
        return -ENOMEM;
    if (work->nominal == 0) {
        double low, high;

        if (work->n < 2 || clock_fit_span(work) <= 0)
            return fault_plain(fault, -EINVAL, NULL,
                               "a single mark tells an offset but no rate, and the rate of its "
                               "clock is not known: name more events, or give --cpu-hz");
        work->slope = work->told;
        /* Where ways take longer than the time between marks, only their orders bound the rate. */
        if (work->told <= 0 && clock_fit_bound_rates(work, &low, &high))
            work->slope = low + (high - low) / 2;
        if (work->slope <= 0)
            return fault_plain(fault, -EINVAL, NULL,
                               "the marks tell no rate, as later ones are earlier on the other "
                               "side: they are too close together or do not belong together; name "
                               "more events, or give --cpu-hz");
        work->measured = true;
        return 0;
    }
    work->slope = work->nominal;
    if (n < 2 || clock_fit_span(work) <= 0 || work->told <= 0)
        return 0;
    drift = fabs(work->told / work->nominal - 1);
    (void)look(work, work->told, order, &around);
    doubt = 3 * around.half / (clock_fit_span(work) * work->nominal);
    if (drift <= CLOCK_MAP_DRIFT_PPM * SYNC_PPM && doubt <= CLOCK_MAP_DRIFT_PPM * SYNC_PPM) {
        work->slope = work->told;
        work->measured = true;
    }
    return 0;
}

/* How far apart marks that are not left out lie around a line of SLOPE. */
static double width_around(const struct clock_fit_work *work, double slope, size_t *ret_n)
{
    double low = INFINITY, high = -INFINITY;

    *ret_n = 0;
    for (size_t i = 0; i < work->n; i++) {
        double height = work->y[i] - slope * work->x[i];

        if (work->outside[i] & SYNC_OUTSIDE)
            continue;
        low = MIN(low, height);
        high = MAX(high, height);
        ++*ret_n;
    }
    return *ret_n ? high - low : 0;
}

bool clock_fit_tells_drift(const struct clock_fit_work *work, double *ret_ppm)
{
    size_t n;
    double width, off;

    if (work->nominal == 0 || work->measured || work->told <= 0)
        return false;
    off = work->told - work->nominal;
    width = width_around(work, work->told, &n);
    *ret_ppm = off / work->nominal / SYNC_PPM;
    /* A level line is near to marks that came at any time. */
    return n >= DRIFT_MARKS &&
           width * DRIFT_FACTOR < MIN(fabs(off), work->told) * clock_fit_span(work);
}

/* Marks in no order, or in one, fit any rate if their ways may take any time. They are refused where they are on a
 * line of a rate that no clock has, or, in no order, on no line at all. */
static int check_line(const struct clock_fit_work *work, struct fault *fault)
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
    if (clock_fit_tells_drift(work, &drift_ppm))
        return fault_plain(fault, -EINVAL, NULL,
                           "the marks contradict each other: they tell clocks that drift by %.0f "
                           "ppm, and no two clocks do; they do not belong together",
                           drift_ppm);
    if (order == CLOCK_FIT_ANY_ORDER && n >= TOO_FEW && half > clock_fit_span(work) / NO_LINE)
        return fault_plain(fault, -EINVAL, NULL,
                           "the marks contradict each other: half of them are %.0f us or more from "
                           "a line; they do not belong together",
                           around.half / 1000);
    return 0;
}

/* Marks far from most of their kind are left out; of those whose order is known, only where they claim more
 * than most do: a word that took long claims less. */
static int leave_out(struct clock_fit_work *work, struct clock_fit *sync, struct fault *fault)
{
    sync->n_outside = 0;
    sync->outside_ns = 0;
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
            work->outside[i] = order == CLOCK_FIT_ANY_ORDER || early ? SYNC_OUTSIDE : SYNC_LATE;
            sync->n_outside += work->outside[i] == SYNC_OUTSIDE;
            sync->outside_ns = MAX(sync->outside_ns, (int64_t)MIN(fabs(off), 9e18));
        }
    }
    if (sync->n_outside * 2 > work->n)
        return fault_plain(fault, -EINVAL, NULL,
                           "the marks contradict each other: %zu of %zu lie far from the rest",
                           sync->n_outside, work->n);
    return 0;
}

/* The line of least squares through those that are near to it. */
static void refine(struct clock_fit_work *work)
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

void clock_fit_put_pair(const struct clock_fit_work *work, struct clock_fit *sync, double x,
                        double ns, double error)
{
    struct clock_map_pair pair = {.host_ns = work->marks[0].ns + to_ns(ns),
                                  .ticks = work->marks[0].ticks + to_ns(x),
                                  .error_ns = to_ns(ceil(error)) + 1};
    unsigned n = sync->n_pairs;

    if (pair.host_ns < 0 || pair.ticks < 0 || pair.host_ns > NUMBER_MAX_VALUE ||
        pair.ticks > NUMBER_MAX_VALUE)
        return;
    if (n > 0 &&
        (pair.host_ns <= sync->pairs[n - 1].host_ns || pair.ticks <= sync->pairs[n - 1].ticks))
        return;
    sync->pairs[n] = pair;
    sync->n_pairs = n + 1;
}

/* A line in pieces: its height above that of `slope` at each of N + 1 places. */
struct pieces {
    double *at;
    double *height;
    unsigned n;
};

static void pieces_done(struct pieces *pieces)
{
    free(pieces->at);
    free(pieces->height);
}

static double height_at(const struct pieces *pieces, double x)
{
    unsigned low = 0, high = pieces->n;

    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;

        if (pieces->at[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    if (pieces->at[high] <= pieces->at[low])
        return pieces->height[low];
    return pieces->height[low] + (pieces->height[high] - pieces->height[low]) *
                                     (x - pieces->at[low]) / (pieces->at[high] - pieces->at[low]);
}

/* The first mark at X or behind it. */
static size_t first_from(const struct clock_fit_work *work, double x)
{
    size_t low = 0, high = work->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (work->x[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The median height of marks from place LOW to HIGH; all of them are looked at where none is there. */
static double height_around(const struct clock_fit_work *work, double low, double high)
{
    size_t n = 0;

    for (size_t i = first_from(work, low); i < work->n && work->x[i] <= high; i++)
        if (!(work->outside[i] & SYNC_OUTSIDE))
            work->scratch[n++] = work->y[i] - work->slope * work->x[i];
    if (n == 0)
        return height_around(work, -INFINITY, INFINITY);
    return median(work->scratch, n);
}

static int make_pieces(const struct clock_fit_work *work, unsigned n, struct pieces *ret)
{
    double span = clock_fit_span(work);
    struct pieces pieces = {.n = n,
                            .at = calloc(n + 1, sizeof *pieces.at),
                            .height = calloc(n + 1, sizeof *pieces.height)};

    if (!pieces.at || !pieces.height) {
        pieces_done(&pieces);
        return -ENOMEM;
    }
    for (unsigned i = 0; i <= n; i++) {
        double half = span / n / 2;

        pieces.at[i] = span * i / n;
        /* A single piece is a line: it has one height. */
        pieces.height[i] = n > 1 ? height_around(work, pieces.at[i] - half, pieces.at[i] + half)
                                 : height_around(work, -INFINITY, INFINITY);
    }
    *ret = pieces;
    return 0;
}

/* How far marks lie above and below the line. */
static void spread_around(const struct clock_fit_work *work, const struct pieces *pieces,
                          double *ret_low, double *ret_high)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < work->n; i++) {
        double off = work->y[i] - work->slope * work->x[i] - height_at(pieces, work->x[i]);

        if (work->outside[i])
            continue;
        low = MIN(low, off);
        high = MAX(high, off);
    }
    *ret_low = low;
    *ret_high = high;
}

/* What comes late says nothing of the line, either. */
static void count_late(const struct clock_fit_work *work, struct clock_fit *sync)
{
    for (size_t i = 0; i < work->n; i++)
        sync->n_outside += work->outside[i] == SYNC_LATE;
}

static int64_t worst_error(const struct clock_fit_work *work)
{
    int64_t worst = 0;

    for (size_t i = 0; i < work->n; i++)
        worst = MAX(worst, work->marks[i].error_ns);
    return worst;
}

/* The pairs that LINE stands for, SHIFT higher. */
static int put_line(const struct clock_fit_work *work, struct clock_fit *sync,
                    const struct pieces *line, double shift, double error)
{
    unsigned n = clock_fit_span(work) > 0 ? line->n + 1 : 1;

    sync->pairs = calloc(n, sizeof *sync->pairs);
    if (!sync->pairs)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        clock_fit_put_pair(work, sync, line->at[i],
                           work->slope * line->at[i] + line->height[i] + shift, error);
    return 0;
}

/* Lays the marks on a line; one of pieces where that is much nearer to them. */
static int lay_on_line(struct clock_fit_work *work, struct clock_fit *sync,
                       enum clock_fit_order order)
{
    double seconds = clock_fit_span(work) * work->slope / PIECE_NS;
    size_t most = MIN(work->n / PIECE_MARKS, (size_t)PIECES_MAX);
    unsigned n = seconds < (double)most ? (unsigned)seconds : (unsigned)most;
    struct pieces line = {0}, bent = {0};
    double low, high, shift = 0, error;
    int r = make_pieces(work, 1, &line);

    if (r < 0)
        return r;
    spread_around(work, &line, &low, &high);
    if (n > 1) {
        double bent_low, bent_high;

        r = make_pieces(work, n, &bent);
        if (r < 0) {
            pieces_done(&line);
            return r;
        }
        spread_around(work, &bent, &bent_low, &bent_high);
        if ((bent_high - bent_low) * 2 < high - low) {
            struct pieces kept = bent;

            bent = line;
            line = kept;
            low = bent_low;
            high = bent_high;
        }
    }
    if (order == CLOCK_FIT_REFERENCE_FIRST)
        shift = high;
    else if (order == CLOCK_FIT_REFERENCE_LAST)
        shift = low;
    error = MAX(high - shift, shift - low) + (double)worst_error(work);
    count_late(work, sync);
    r = put_line(work, sync, &line, shift, error);
    pieces_done(&line);
    pieces_done(&bent);
    if (r < 0)
        return r;
    sync->kind = work->n < 3                    ? CLOCK_FIT_ERROR_UNKNOWN
                 : order == CLOCK_FIT_ANY_ORDER ? CLOCK_FIT_ERROR_SPREAD
                                                : CLOCK_FIT_ERROR_ONE_WAY;
    return 0;
}

/* One way only: which; those of no order beside it are of no use for that. */
static enum clock_fit_order only_order(const struct clock_fit_work *work)
{
    enum clock_fit_order order = work->marks[0].order;

    for (size_t i = 1; i < work->n; i++)
        if (work->marks[i].order != order)
            return CLOCK_FIT_ANY_ORDER;
    return order;
}

static int relate(struct clock_fit_work *work, struct clock_fit *sync, struct fault *fault)
{
    int r = choose_slope(work, fault);

    if (r >= 0)
        r = leave_out(work, sync, fault);
    for (unsigned i = 0; i < 2 && r >= 0 && work->measured && !clock_fit_has_both_orders(work);
         i++) {
        refine(work);
        r = leave_out(work, sync, fault);
    }
    if (r >= 0 && clock_fit_has_both_orders(work))
        r = clock_fit_bound(work, sync, fault);
    else if (r >= 0)
        r = check_line(work, fault);
    if (r >= 0 && sync->kind != CLOCK_FIT_ERROR_BOUND)
        r = lay_on_line(work, sync, only_order(work));
    return r;
}

/* What is told of the pairs. */
static int finish(const struct clock_fit_work *work, struct clock_fit *sync, struct fault *fault)
{
    if (sync->n_pairs == 0)
        return fault_plain(fault, -EINVAL, NULL, "the marks lie at times that are not told");
    sync->n_marks = work->n;
    sync->from = work->marks[0].ticks;
    sync->to = work->marks[work->n - 1].ticks;
    sync->least_ns = INT64_MAX;
    for (unsigned i = 0; i < sync->n_pairs; i++) {
        sync->least_ns = MIN(sync->least_ns, sync->pairs[i].error_ns);
        sync->most_ns = MAX(sync->most_ns, sync->pairs[i].error_ns);
    }
    sync->rate_measured = work->measured;
    sync->ns_per_tick = work->slope;
    if (work->measured && work->nominal > 0)
        sync->drift_ppm = (work->slope / work->nominal - 1) / SYNC_PPM;
    return 0;
}

int clock_fit_find(struct clock_fit_mark *marks, size_t n, uint64_t hz, struct clock_fit *ret_sync,
                   struct fault *fault)
{
    struct clock_fit sync = {0};
    struct clock_fit_work work;
    int r;

    if (n == 0)
        return fault_plain(fault, -EINVAL, NULL, "there are no marks");
    qsort(marks, n, sizeof *marks, compare_marks);
    r = work_init(&work, marks, n, hz);
    if (r >= 0)
        r = relate(&work, &sync, fault);
    if (r >= 0)
        r = finish(&work, &sync, fault);
    work_done(&work);
    if (r < 0) {
        clock_fit_done(&sync);
        return fault_plain(fault, r, NULL, "out of memory");
    }
    *ret_sync = sync;
    return 0;
}

void clock_fit_done(struct clock_fit *sync)
{
    free(sync->pairs);
    *sync = (struct clock_fit){0};
}
