/* SPDX-License-Identifier: MIT */
#include "timeline/sync.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"

#define PPM 1e-6
/* Marks that lie farther from the middle than that many times what half of them do (six standard deviations of
 * what is distributed normally), and this much besides, are outside. */
#define OUTSIDE_FACTOR 9
#define OUTSIDE_NS 1000
/* Where clocks' rates drift, a line in pieces follows them: of so many marks and ns at least. */
#define PIECE_MARKS 32
#define PIECE_NS 1e9
#define PIECES_MAX 1024
#define BOUNDS_MAX 4096
/* What a pair of clocks may be (timeline/relation.h). */
#define NUMBER_MAX_VALUE (INT64_MAX / 2)

/* A mark that is left out, and one that says less than most, which is no reason to do so. */
#define OUTSIDE 1
#define LATE 2

/* Marks in their order by ticks, as distances from the first: doubles hold 104 days of ns exactly. */
struct work {
    const struct sync_mark *marks;
    size_t n;
    double *x; /* ticks */
    double *y; /* ns */
    double *scratch;
    uint8_t *outside; /* OUTSIDE, LATE */
    double slope;     /* ns a tick */
    double nominal;   /* the same as it is known, or 0 */
    bool measured;
};

static int compare_marks(const void *pa, const void *pb)
{
    const struct sync_mark *a = pa, *b = pb;

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

static int work_init(struct work *work, const struct sync_mark *marks, size_t n, uint64_t hz)
{
    *work = (struct work){.marks = marks, .n = n, .nominal = hz ? 1e9 / (double)hz : 0};
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

static void work_done(struct work *work)
{
    free(work->x);
    free(work->y);
    free(work->scratch);
    free(work->outside);
}

static double span_of(const struct work *work)
{
    return work->x[work->n - 1];
}

/* The median distance of marks of ORDER from a line of SLOPE, and half of them lie within *RET_AROUND of that.
 * Returns how many there are. */
static size_t look(const struct work *work, double slope, enum sync_order order, double *ret_middle,
                   double *ret_around)
{
    size_t n = 0;

    for (size_t i = 0; i < work->n; i++)
        if (work->marks[i].order == order)
            work->scratch[n++] = work->y[i] - slope * work->x[i];
    if (n == 0)
        return 0;
    *ret_middle = median(work->scratch, n);
    for (size_t i = 0; i < n; i++)
        work->scratch[i] = fabs(work->scratch[i] - *ret_middle);
    *ret_around = median(work->scratch, n);
    return n;
}

/* The order of most marks. */
static enum sync_order most_common(const struct work *work, size_t *ret_n)
{
    size_t counts[SYNC_REFERENCE_LAST + 1] = {0};
    enum sync_order most = SYNC_ANY_ORDER;

    for (size_t i = 0; i < work->n; i++)
        counts[work->marks[i].order]++;
    for (enum sync_order order = SYNC_ANY_ORDER; order <= SYNC_REFERENCE_LAST; order++)
        if (counts[order] > counts[most])
            most = order;
    *ret_n = counts[most];
    return most;
}

/* A slope that a quarter of the marks cannot turn, however wrong they are: each mark and the one that is half
 * of all marks later tell one. 0: there is none. */
static double tell_slope(const struct work *work)
{
    size_t n = 0, k = 0;
    enum sync_order order = most_common(work, &n);
    _cleanup_free_ size_t *of_order = calloc(n, sizeof *of_order);

    if (!of_order)
        return 0;
    for (size_t i = 0; i < work->n; i++)
        if (work->marks[i].order == order)
            of_order[k++] = i;
    k = 0;
    for (size_t i = 0; i + n / 2 < n && n > 1; i++) {
        size_t a = of_order[i], b = of_order[i + n / 2];

        if (work->x[b] > work->x[a])
            work->scratch[k++] = (work->y[b] - work->y[a]) / (work->x[b] - work->x[a]);
    }
    return k ? median(work->scratch, k) : 0;
}

/* Takes the rate that the marks tell, or that which is known where they are too close together to tell it
 * better. */
static int choose_slope(struct work *work, struct fault *fault)
{
    double told = tell_slope(work);
    double around = 0, middle = 0;
    double drift, doubt;
    size_t n;
    enum sync_order order = most_common(work, &n);

    if (work->nominal == 0) {
        if (work->n < 2 || span_of(work) <= 0)
            return fault_plain(fault, -EINVAL, NULL,
                               "a single mark tells an offset but no rate, and the rate of its "
                               "clock is not known: name more events, or give --cpu-hz");
        if (told <= 0)
            return fault_plain(fault, -EINVAL, NULL,
                               "the marks contradict each other: time would run backwards; they "
                               "do not belong together");
        work->slope = told;
        work->measured = true;
        return 0;
    }
    work->slope = work->nominal;
    if (n < 2 || span_of(work) <= 0 || told <= 0)
        return 0;
    drift = fabs(told / work->nominal - 1);
    (void)look(work, told, order, &middle, &around);
    doubt = 3 * around / (span_of(work) * work->nominal);
    if (drift <= RELATION_DRIFT_PPM * PPM && doubt <= RELATION_DRIFT_PPM * PPM) {
        work->slope = told;
        work->measured = true;
        return 0;
    }
    /* How far they lie apart when clocks drift no more than clocks do. */
    (void)look(work, work->nominal, order, &middle, &around);
    if (around > span_of(work) * work->nominal / 100)
        return fault_plain(fault, -EINVAL, NULL,
                           "the marks contradict each other: they tell clocks that drift by %.0f "
                           "ppm, and no two clocks do; they do not belong together",
                           (told / work->nominal - 1) / PPM);
    return 0;
}

/* Marks far from most of their kind are left out; of those whose order is known, only where they claim more
 * than most do: a word that took long claims less. */
static int leave_out(struct work *work, struct sync *sync, struct fault *fault)
{
    sync->n_outside = 0;
    sync->outside_ns = 0;
    for (enum sync_order order = SYNC_ANY_ORDER; order <= SYNC_REFERENCE_LAST; order++) {
        double middle = 0, around = 0;

        if (look(work, work->slope, order, &middle, &around) == 0)
            continue;
        for (size_t i = 0; i < work->n; i++) {
            const struct sync_mark *mark = &work->marks[i];
            double off = work->y[i] - work->slope * work->x[i] - middle;
            double far =
                OUTSIDE_FACTOR * around + OUTSIDE_NS + work->slope + 2 * (double)mark->error_ns;

            if (mark->order != order)
                continue;
            work->outside[i] = 0;
            if (fabs(off) <= far)
                continue;
            if ((order == SYNC_REFERENCE_FIRST && off < 0) ||
                (order == SYNC_REFERENCE_LAST && off > 0)) {
                work->outside[i] = LATE;
                continue;
            }
            work->outside[i] = OUTSIDE;
            sync->n_outside++;
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
static void refine(struct work *work)
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

/* Adds a pair where relation.h takes it; there is room. */
static void put_pair(const struct work *work, struct sync *sync, double x, double ns, double error)
{
    struct relation_pair pair = {.host_ns = work->marks[0].ns + to_ns(ns),
                                 .ticks = work->marks[0].ticks + to_ns(x),
                                 .error_ns = to_ns(ceil(error)) + 1};
    const struct relation_pair *last = sync->n_pairs ? &sync->pairs[sync->n_pairs - 1] : NULL;

    if (pair.host_ns < 0 || pair.ticks < 0 || pair.host_ns > NUMBER_MAX_VALUE ||
        pair.ticks > NUMBER_MAX_VALUE)
        return;
    if (last && (pair.host_ns <= last->host_ns || pair.ticks <= last->ticks))
        return;
    sync->pairs[sync->n_pairs++] = pair;
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

/* The median height of marks from place LOW to HIGH; all of them are looked at where none is there. */
static double height_around(const struct work *work, double low, double high)
{
    size_t n = 0;

    for (size_t i = 0; i < work->n; i++)
        if (!(work->outside[i] & OUTSIDE) && work->x[i] >= low && work->x[i] <= high)
            work->scratch[n++] = work->y[i] - work->slope * work->x[i];
    if (n == 0)
        return height_around(work, -INFINITY, INFINITY);
    return median(work->scratch, n);
}

static int make_pieces(const struct work *work, unsigned n, struct pieces *ret)
{
    double span = span_of(work);
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
static void spread_around(const struct work *work, const struct pieces *pieces, double *ret_low,
                          double *ret_high)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < work->n; i++) {
        double off = work->y[i] - work->slope * work->x[i] - height_at(pieces, work->x[i]);

        if (work->outside[i] & OUTSIDE)
            continue;
        low = MIN(low, off);
        high = MAX(high, off);
    }
    *ret_low = low;
    *ret_high = high;
}

static int64_t worst_error(const struct work *work)
{
    int64_t worst = 0;

    for (size_t i = 0; i < work->n; i++)
        worst = MAX(worst, work->marks[i].error_ns);
    return worst;
}

/* Lays the marks on a line; one of pieces where that is much nearer to them. */
static int lay_on_line(struct work *work, struct sync *sync, enum sync_order order)
{
    double span_ns = span_of(work) * work->slope;
    unsigned n =
        (unsigned)MIN(MIN((double)(work->n / PIECE_MARKS), span_ns / PIECE_NS), (double)PIECES_MAX);
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
    if (order == SYNC_REFERENCE_FIRST)
        shift = high;
    else if (order == SYNC_REFERENCE_LAST)
        shift = low;
    error = MAX(high - shift, shift - low) + (double)worst_error(work);
    sync->pairs = calloc(line.n + 1, sizeof *sync->pairs);
    if (sync->pairs && span_of(work) > 0)
        for (unsigned i = 0; i <= line.n; i++)
            put_pair(work, sync, line.at[i], work->slope * line.at[i] + line.height[i] + shift,
                     error);
    else if (sync->pairs)
        put_pair(work, sync, 0, line.height[0] + shift, error);
    pieces_done(&line);
    pieces_done(&bent);
    if (!sync->pairs)
        return -ENOMEM;
    sync->kind = work->n < 3               ? SYNC_ERROR_UNKNOWN
                 : order == SYNC_ANY_ORDER ? SYNC_ERROR_SPREAD
                                           : SYNC_ERROR_ONE_WAY;
    return 0;
}

/* What a mark says that the offset is at the least, or at the most. */
static bool at_least(const struct work *work, size_t i, double *ret)
{
    *ret = work->y[i] - (double)work->marks[i].error_ns;
    return work->marks[i].order == SYNC_REFERENCE_FIRST && !(work->outside[i] & OUTSIDE);
}

static bool at_most(const struct work *work, size_t i, double *ret)
{
    *ret = work->y[i] + (double)work->marks[i].error_ns;
    return work->marks[i].order == SYNC_REFERENCE_LAST && !(work->outside[i] & OUTSIDE);
}

/* Whether the marks say that over some time between two of them the rate is below SLOPE: an early one says
 * that the offset is at least so much, and a later one that it is at most so much. */
static bool is_below(const struct work *work, double slope)
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

static bool is_above(const struct work *work, double slope)
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
static double turn(const struct work *work, bool (*is)(const struct work *, double), double low,
                   double high)
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

/* The rates that all marks allow, from *RET_LOW to *RET_HIGH; where they allow none, a clock's rate wandered,
 * and both are as the marks ask for them. */
static bool bound_rates(const struct work *work, double *ret_low, double *ret_high)
{
    double widest = work->nominal > 0 ? work->nominal * RELATION_DRIFT_PPM * PPM : work->slope / 2;
    double middle = work->nominal > 0 ? work->nominal : work->slope;
    double low = middle - widest, high = middle + widest;
    bool known = work->nominal > 0;
    bool low_told = is_above(work, low), high_told = is_below(work, high);

    if (!known && !(low_told && high_told))
        return false;
    /* `is_above` is so below a rate and not above it, `is_below` the other way round. */
    *ret_high = high_told ? turn(work, is_below, low, high) : high;
    *ret_low = low_told ? turn(work, is_above, high, low) : low;
    if (*ret_low > *ret_high) {
        double swapped = *ret_low;

        *ret_low = *ret_high;
        *ret_high = swapped;
    }
    return true;
}

/* At each mark the least and the most that the offset from a line of SLOPE can be, when it changes by RATE a
 * tick at most. */
static void spread_bounds(const struct work *work, double slope, double rate, double *least,
                          double *most)
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

static int contradict(const struct work *work, size_t i, double by, struct fault *fault)
{
    return fault_plain(fault, -EINVAL, NULL,
                       "the marks contradict each other by %.1f us (near %lld ticks): some were "
                       "not in the order that is claimed of them, or do not belong together",
                       by / 1000, (long long)work->marks[i].ticks);
}

/* The pairs: of each stretch the place where the bounds are the closest. */
static int put_bounds(const struct work *work, struct sync *sync, double slope, const double *least,
                      const double *most)
{
    unsigned n = (unsigned)MIN(work->n, (size_t)BOUNDS_MAX);
    double stretch = span_of(work) / n;

    sync->pairs = calloc(n + 2, sizeof *sync->pairs);
    if (!sync->pairs)
        return -ENOMEM;
    for (size_t i = 0; i < work->n && sync->n_pairs <= n;) {
        double end = stretch > 0 ? (floor(work->x[i] / stretch) + 1) * stretch : INFINITY;
        size_t best = i;

        for (; i < work->n && (work->x[i] < end || i == best); i++)
            if (most[i] - least[i] < most[best] - least[best])
                best = i;
        put_pair(work, sync, work->x[best], slope * work->x[best] + (least[best] + most[best]) / 2,
                 (most[best] - least[best]) / 2);
    }
    return 0;
}

static bool has_both_orders(const struct work *work)
{
    size_t n_first = 0, n_last = 0;

    for (size_t i = 0; i < work->n; i++) {
        n_first += work->marks[i].order == SYNC_REFERENCE_FIRST && !(work->outside[i] & OUTSIDE);
        n_last += work->marks[i].order == SYNC_REFERENCE_LAST && !(work->outside[i] & OUTSIDE);
    }
    return n_first > 0 && n_last > 0;
}

/* 0: what the marks tell is no bound. */
static int bound(struct work *work, struct sync *sync, struct fault *fault)
{
    _cleanup_free_ double *least = calloc(work->n, sizeof *least);
    _cleanup_free_ double *most = calloc(work->n, sizeof *most);
    double low, high, rate;
    int r;

    if (!least || !most)
        return -ENOMEM;
    if (!bound_rates(work, &low, &high))
        return 0;
    /* Of the rates that were told, and by how much they are others at any moment. */
    rate = (high - low) / 2 + work->slope * RELATION_WANDER_PPM * PPM;
    work->slope = low + (high - low) / 2;
    spread_bounds(work, work->slope, rate, least, most);
    for (size_t i = 0; i < work->n; i++)
        if (least[i] > most[i] + 1)
            return contradict(work, i, least[i] - most[i], fault);
    r = put_bounds(work, sync, work->slope, least, most);
    if (r < 0)
        return r;
    sync->kind = SYNC_ERROR_BOUND;
    return 1;
}

/* One way only: which; those of no order beside it are of no use for that. */
static enum sync_order only_order(const struct work *work)
{
    enum sync_order order = work->marks[0].order;

    for (size_t i = 1; i < work->n; i++)
        if (work->marks[i].order != order)
            return SYNC_ANY_ORDER;
    return order;
}

static int relate(struct work *work, struct sync *sync, struct fault *fault)
{
    int r = choose_slope(work, fault);

    if (r >= 0)
        r = leave_out(work, sync, fault);
    for (unsigned i = 0; i < 2 && r >= 0 && work->measured && !has_both_orders(work); i++) {
        refine(work);
        r = leave_out(work, sync, fault);
    }
    if (r >= 0 && has_both_orders(work))
        r = bound(work, sync, fault);
    if (r >= 0 && sync->kind != SYNC_ERROR_BOUND)
        r = lay_on_line(work, sync, only_order(work));
    return r;
}

/* What is told of the pairs. */
static int finish(const struct work *work, struct sync *sync, struct fault *fault)
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
        sync->drift_ppm = (work->slope / work->nominal - 1) / PPM;
    return 0;
}

int sync_relate(struct sync_mark *marks, size_t n, uint64_t hz, struct sync *ret_sync,
                struct fault *fault)
{
    struct sync sync = {0};
    struct work work;
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
        sync_done(&sync);
        return fault_plain(fault, r, NULL, "out of memory");
    }
    *ret_sync = sync;
    return 0;
}

void sync_done(struct sync *sync)
{
    free(sync->pairs);
    *sync = (struct sync){0};
}
