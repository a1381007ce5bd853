/* SPDX-License-Identifier: MIT */
#include "timeline/clock_tighten.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* The first length of a piece, ns. */
#define PIECE_NS (INT64_C(1) << 27)
/* What the map's rounding may be, ns (timeline/clock_map.c). */
#define ROUNDED 8
/* How often bounds narrow the rate, and the rate bounds. */
#define ROUNDS 4

/* What is known of the offset from the line at a time of the map. */
struct knot {
    int64_t host_ns;
    double low, high;
};

int clock_bounds_init(struct clock_bounds *bounds, const struct clock_map *map)
{
    *bounds = (struct clock_bounds){.length = PIECE_NS};
    if (!map || map->wander_ppm == 0 || map->n == 0 || clock_map_has_jumps(map))
        return 0;
    bounds->pieces = calloc(CLOCK_BOUNDS_PIECES, sizeof *bounds->pieces);
    if (!bounds->pieces)
        return -ENOMEM;
    bounds->map = map;
    bounds->drift = clock_map_rate_error(map);
    return 0;
}

void clock_bounds_done(struct clock_bounds *bounds)
{
    free(bounds->pieces);
    *bounds = (struct clock_bounds){0};
}

/* Ticks since the first pair at HOST_NS of the map's time. */
static double ticks_at(const struct clock_map *map, int64_t host_ns)
{
    const struct clock_map_pair *pairs = map->pairs;
    double rate = (double)map->rate_ticks / (double)map->rate_ns;
    unsigned low = 0, high = map->n - 1;

    if (host_ns >= pairs[high].host_ns)
        return (double)(pairs[high].ticks - pairs[0].ticks) +
               (double)(host_ns - pairs[high].host_ns) * rate;
    if (host_ns < pairs[0].host_ns)
        return (double)(host_ns - pairs[0].host_ns) * rate;
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;

        if (pairs[middle].host_ns <= host_ns)
            low = middle;
        else
            high = middle;
    }
    return (double)(pairs[low].ticks - pairs[0].ticks) +
           (double)(host_ns - pairs[low].host_ns) * (double)(pairs[high].ticks - pairs[low].ticks) /
               (double)(pairs[high].host_ns - pairs[low].host_ns);
}

int64_t clock_bounds_ticks(const struct clock_map *map, int64_t host_ns)
{
    double ticks = (double)map->pairs[0].ticks + round(ticks_at(map, host_ns));

    return ticks >= 9e18 ? INT64_MAX : ticks <= -9e18 ? INT64_MIN : (int64_t)ticks;
}

/* What the map says at HOST_NS of its time, ns from the line. */
static double above_line(const struct clock_map *map, int64_t host_ns)
{
    return (double)(host_ns - map->pairs[0].host_ns) -
           ticks_at(map, host_ns) * (double)map->rate_ns / (double)map->rate_ticks;
}

static void clear(struct clock_bounds_piece *piece)
{
    *piece = (struct clock_bounds_piece){.low = -INFINITY, .high = INFINITY};
}

/* Adds a bound to PIECE, if none there makes it superfluous. */
static void add_to_piece(struct clock_bounds_piece *piece, int64_t at, double line, bool most)
{
    if (most && line < piece->high) {
        piece->high = line;
        piece->high_at = at;
    } else if (!most && line > piece->low) {
        piece->low = line;
        piece->low_at = at;
    }
}

/* Makes pieces twice as long. */
static void coarsen(struct clock_bounds *bounds)
{
    unsigned n = (bounds->n + 1) / 2;

    for (unsigned i = 0; i < n; i++) {
        struct clock_bounds_piece piece = bounds->pieces[2 * i];

        if (2 * i + 1 < bounds->n) {
            const struct clock_bounds_piece *next = &bounds->pieces[2 * i + 1];

            add_to_piece(&piece, next->low_at, next->low, false);
            add_to_piece(&piece, next->high_at, next->high, true);
        }
        bounds->pieces[i] = piece;
    }
    bounds->n = n;
    bounds->length *= 2;
}

static unsigned find_piece(struct clock_bounds *bounds, int64_t host_ns)
{
    uint64_t at;

    if (bounds->n == 0)
        bounds->start = host_ns;
    if (host_ns <= bounds->start)
        at = 0;
    else
        while ((at = ((uint64_t)host_ns - (uint64_t)bounds->start) / (uint64_t)bounds->length) >=
               CLOCK_BOUNDS_PIECES)
            coarsen(bounds);
    while (bounds->n <= at)
        clear(&bounds->pieces[bounds->n++]);
    return (unsigned)at;
}

static void add(struct clock_bounds *bounds, int64_t host_ns, int64_t ns, bool most)
{
    unsigned piece;

    if (!bounds->map || host_ns < 0 || host_ns > INT64_MAX / 2)
        return;
    piece = find_piece(bounds, host_ns);
    add_to_piece(&bounds->pieces[piece], host_ns, (double)ns + above_line(bounds->map, host_ns),
                 most);
}

void clock_bounds_add_most(struct clock_bounds *bounds, int64_t host_ns, int64_t ns)
{
    add(bounds, host_ns, ns, true);
}

void clock_bounds_add_least(struct clock_bounds *bounds, int64_t host_ns, int64_t ns)
{
    add(bounds, host_ns, ns, false);
}

static int compare_knots(const void *pa, const void *pb)
{
    const struct knot *a = pa, *b = pb;

    return (a->host_ns > b->host_ns) - (a->host_ns < b->host_ns);
}

/* The pairs of the map, and the pieces that have bounds. Returns how many. */
static unsigned collect(const struct clock_bounds *bounds, struct knot *knots)
{
    const struct clock_map *map = bounds->map;
    unsigned n = 0;

    for (unsigned i = 0; i < map->n; i++) {
        const struct clock_map_pair *pair = &map->pairs[i];
        double line = above_line(map, pair->host_ns);

        knots[n++] = (struct knot){pair->host_ns, line - (double)pair->error_ns - ROUNDED,
                                   line + (double)pair->error_ns + ROUNDED};
    }
    for (unsigned i = 0; i < bounds->n; i++) {
        const struct clock_bounds_piece *piece = &bounds->pieces[i];

        if (isfinite(piece->low))
            knots[n++] = (struct knot){piece->low_at, piece->low, INFINITY};
        if (isfinite(piece->high))
            knots[n++] = (struct knot){piece->high_at, -INFINITY, piece->high};
    }
    qsort(knots, n, sizeof *knots, compare_knots);
    return n;
}

/* What the offset may change by, ns a ns. */
struct slopes {
    double least, most;
};

/* Makes each knot as narrow as all others allow. Returns by how much the worst has no room. */
static double narrow_all(struct knot *knots, unsigned n, const struct slopes *slopes)
{
    double by = 0;

    for (unsigned i = 1; i < n; i++) {
        double ns = (double)(knots[i].host_ns - knots[i - 1].host_ns);

        knots[i].low = MAX(knots[i].low, knots[i - 1].low + ns * slopes->least);
        knots[i].high = MIN(knots[i].high, knots[i - 1].high + ns * slopes->most);
    }
    for (unsigned i = n - 1; i-- > 0;) {
        double ns = (double)(knots[i + 1].host_ns - knots[i].host_ns);

        knots[i].low = MAX(knots[i].low, knots[i + 1].low - ns * slopes->most);
        knots[i].high = MIN(knots[i].high, knots[i + 1].high - ns * slopes->least);
    }
    for (unsigned i = 0; i < n; i++)
        by = MAX(by, knots[i].low - knots[i].high);
    return by;
}

/* What the ends leave of the mean rate, and so of the rate at any time. */
static void narrow_slopes(const struct knot *knots, unsigned n, double wander,
                          struct slopes *slopes)
{
    double ns = (double)(knots[n - 1].host_ns - knots[0].host_ns);

    if (ns <= 0)
        return;
    slopes->least = MAX(slopes->least, (knots[n - 1].low - knots[0].high) / ns - wander);
    slopes->most = MIN(slopes->most, (knots[n - 1].high - knots[0].low) / ns + wander);
}

/* Where times are put within the knots' bounds: on one straight line, which keeps the durations of the clock as they are;
 * in the middle if no line through the middle of the narrowest knot is within all bounds. */
struct course {
    bool is_line;
    const struct knot *through;
    double slope;
};

static double middle_of(const struct knot *knot)
{
    return (knot->low + knot->high) / 2;
}

static struct course find_course(const struct knot *knots, unsigned n, const struct slopes *rates)
{
    const struct knot *through = &knots[0];
    struct slopes slopes = {-INFINITY, INFINITY};

    for (unsigned i = 1; i < n; i++)
        if (knots[i].high - knots[i].low < through->high - through->low)
            through = &knots[i];
    for (unsigned i = 0; i < n; i++) {
        double ns = (double)(knots[i].host_ns - through->host_ns);
        double a = (knots[i].low - middle_of(through)) / ns;
        double b = (knots[i].high - middle_of(through)) / ns;

        if (ns == 0)
            continue;
        slopes.least = MAX(slopes.least, MIN(a, b));
        slopes.most = MIN(slopes.most, MAX(a, b));
    }
    /* The rate that is known, too, as far as it is within all bounds. */
    if (MAX(slopes.least, rates->least) <= MIN(slopes.most, rates->most)) {
        slopes.least = MAX(slopes.least, rates->least);
        slopes.most = MIN(slopes.most, rates->most);
    }
    return (struct course){
        .is_line = isfinite(slopes.least) && slopes.least <= slopes.most,
        .through = through,
        .slope = (slopes.least + slopes.most) / 2,
    };
}

static double follow(const struct course *course, const struct knot *knot)
{
    return course->is_line ? middle_of(course->through) +
                                 course->slope * (double)(knot->host_ns - course->through->host_ns)
                           : middle_of(knot);
}

/* The knots as pairs of a map. Returns how many. */
static unsigned make_pairs(const struct clock_map *map, const struct knot *knots, unsigned n,
                           const struct slopes *rates, struct clock_map_pair *pairs)
{
    double rate = (double)map->rate_ns / (double)map->rate_ticks;
    const struct course course = find_course(knots, n, rates);
    unsigned kept = 0;

    for (unsigned i = 0; i < n; i++) {
        double line = follow(&course, &knots[i]);
        double ticks = round(ticks_at(map, knots[i].host_ns));
        double ns = ticks * rate + line;
        struct clock_map_pair pair = {
            .ticks = map->pairs[0].ticks + (int64_t)ticks,
            .host_ns = map->pairs[0].host_ns + (int64_t)llround(ns),
            .error_ns = (int64_t)ceil(MAX(knots[i].high - line, line - knots[i].low)) + 2,
        };

        if (pair.ticks < 0 || pair.host_ns < 0 ||
            (kept > 0 &&
             (pair.ticks <= pairs[kept - 1].ticks || pair.host_ns <= pairs[kept - 1].host_ns)))
            continue;
        pairs[kept++] = pair;
    }
    return kept;
}

/* What is known of the rate holds for MAP, too, whose pairs do not say it. SLOPES are by times of the first map, which may
 * differ from the true ones as much as these. */
static int limit_rate(const struct clock_bounds *bounds, const struct slopes *slopes,
                      struct clock_map *map)
{
    double rate = (double)bounds->map->rate_ns / (double)bounds->map->rate_ticks;
    double more = bounds->drift * bounds->drift;
    int r = clock_map_limit_rate(map, rate * (1 + slopes->least - more),
                                 rate * (1 + slopes->most + more));

    map->extra_ns = bounds->map->extra_ns; /* its pairs have it */
    return r;
}

int clock_bounds_map(const struct clock_bounds *bounds, struct clock_map *ret_map,
                     int64_t *ret_by_ns)
{
    _cleanup_free_ struct knot *knots = NULL;
    _cleanup_free_ struct clock_map_pair *pairs = NULL;
    struct error error;
    struct slopes slopes = {-bounds->drift, bounds->drift};
    double by = 0;
    unsigned n;
    int r;

    if (!bounds->map)
        return -ENOENT;
    knots = calloc(bounds->map->n + (size_t)2 * bounds->n, sizeof *knots);
    pairs = calloc(bounds->map->n + (size_t)2 * bounds->n, sizeof *pairs);
    if (!knots || !pairs)
        return -ENOMEM;
    n = collect(bounds, knots);
    for (unsigned i = 0; i < ROUNDS && by <= ROUNDED; i++) {
        by = narrow_all(knots, n, &slopes);
        narrow_slopes(knots, n, (double)bounds->map->wander_ppm / 1e6, &slopes);
    }
    if (by > ROUNDED) {
        *ret_by_ns = (int64_t)by;
        return -EINVAL;
    }
    for (unsigned i = 0; i < n; i++)
        if (knots[i].low > knots[i].high)
            knots[i].low = knots[i].high = (knots[i].low + knots[i].high) / 2;
    n = make_pairs(bounds->map, knots, n, &slopes, pairs);
    error_clear(&error);
    r = n == 0 ? -ENOENT
               : clock_map_of_pairs(pairs, n, "cause and effect", bounds->map->given_hz, ret_map,
                                    &error);
    if (r == 0) {
        r = limit_rate(bounds, &slopes, ret_map);
        if (r < 0)
            clock_map_done(ret_map);
    }
    return r == 0 || r == -ENOMEM ? r : -ENOENT;
}
