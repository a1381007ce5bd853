/* SPDX-License-Identifier: MIT */
/* From pairs to a relation, and from that to times. */
#include "timeline/clock_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/wide.h"
#include "timeline/clock_map_internal.h"

/* What times in a piece may be too small by: the start of the piece and the time in it are rounded down,
 * and so is its rate. */
#define ROUNDED 4
/* Bounds beyond this, of 73 years, are infinite. */
#define ERROR_MAX ((int64_t)1 << 61)
#define MILLION 1000000
/* The ns of a rate that is known otherwise than by pairs: numbers that are as large as products allow. */
#define LIMITED_NS ((int64_t)1 << 50)
/* The most pairs that are dropped at an end. */
#define TRIM_MAX 64

/* V of a million, rounded up. */
static wide ppm(wide v, int64_t parts)
{
    v = wide_add(wide_mul(v, wide_of(parts)), wide_of(MILLION - 1));
    return wide_div(v, wide_of(MILLION));
}

static wide distance(wide a, wide b)
{
    return wide_abs(wide_sub(a, b));
}

/* The time at TICKS, from A to B, rounded down; by how much it may be wrong, rounded up: the wander is that of
 * the way to the farther of the two ends that are equally far. */
static int64_t between(const struct clock_map *clock_map, const struct clock_map_pair *a,
                       const struct clock_map_pair *b, int64_t ticks, int64_t *ret_error)
{
    wide span = wide_difference(b->ticks, a->ticks);
    wide done = wide_difference(ticks, a->ticks), rest = wide_sub(span, done);
    wide ns = wide_difference(b->host_ns, a->host_ns);
    wide since = wide_div(wide_mul(done, ns), span);
    wide nearer = wide_is_less(done, rest) ? wide_add(since, wide_of(1)) : wide_sub(ns, since);
    wide error =
        wide_add(wide_mul(wide_of(a->error_ns), rest), wide_mul(wide_of(b->error_ns), done));

    error = wide_div(wide_add(error, wide_sub(span, wide_of(1))), span);
    error = wide_add(error, ppm(nearer, (int64_t)clock_map->wander_ppm));
    *ret_error = narrow(wide_add(error, wide_sum(a->jump_ns, ROUNDED)));
    return narrow(wide_add(wide_of(a->host_ns), since));
}

/* ---- From pairs to a relation ---- */

/* By how much the change of the clocks' offset from A to B exceeds the change at the given rate HZ; 0: within the drift
 * of clocks. */
static int64_t off_nominal(const struct clock_map_pair *a, const struct clock_map_pair *b,
                           uint64_t hz)
{
    wide ns = wide_difference(b->host_ns, a->host_ns);
    wide ticks = wide_mul(wide_difference(b->ticks, a->ticks), wide_of(NSEC_PER_SEC));
    wide nominal = wide_of(narrow(wide_div(ticks, wide_of(narrow(wide_of_u64(hz))))));
    wide off = distance(ns, nominal);
    wide error = wide_add(wide_sum(a->error_ns, b->error_ns),
                          ppm(wide_max(ns, nominal), CLOCK_MAP_DRIFT_PPM));

    return wide_is_less(error, off) ? narrow(off) : 0;
}

/* True if P lies between A and B, and interpolation between them gives a narrower bound than its own
 * and agrees with it. */
static bool is_interpolated_better(const struct clock_map *clock_map,
                                   const struct clock_map_pair *a, const struct clock_map_pair *p,
                                   const struct clock_map_pair *b)
{
    int64_t error;
    int64_t time = between(clock_map, a, b, p->ticks, &error);

    return error < p->error_ns && !wide_is_less(wide_sum(error, p->error_ns),
                                                distance(wide_of(time), wide_of(p->host_ns)));
}

/* True if the clocks follow the given rate from A to P and from P to B, within the bounds, and not from A to B: P shows on
 * which side of it one of them stood still or was set. */
static bool shows_jump(uint64_t hz, const struct clock_map_pair *a, const struct clock_map_pair *p,
                       const struct clock_map_pair *b)
{
    return hz != 0 && off_nominal(a, p, hz) == 0 && off_nominal(p, b, hz) == 0 &&
           off_nominal(a, b, hz) != 0;
}

/* Copies the pairs without those that interpolation between their neighbours gives better. */
static void choose(struct clock_map *clock_map)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    unsigned kept = 0;

    for (unsigned i = 0; i < clock_map->n_given; i++) {
        pairs[kept] = clock_map->given[i];
        pairs[kept++].jump_ns = 0;
        while (kept >= 3 && !pairs[kept - 3].is_paused && !pairs[kept - 2].is_paused &&
               is_interpolated_better(clock_map, &pairs[kept - 3], &pairs[kept - 2],
                                      &pairs[kept - 1]) &&
               !shows_jump(clock_map->given_hz, &pairs[kept - 3], &pairs[kept - 2],
                           &pairs[kept - 1])) {
            pairs[kept - 2] = pairs[kept - 1];
            kept--;
        }
    }
    clock_map->n = kept;
}

/* The rate that two pairs give. */
struct slope {
    double rate; /* ns a tick */
    double ticks;
    unsigned first; /* of the pairs */
};

static int compare_slopes(const void *a, const void *b)
{
    const struct slope *x = a, *y = b;

    return (x->rate > y->rate) - (x->rate < y->rate);
}

static int compare_lengths(const void *a, const void *b)
{
    const struct slope *x = a, *y = b;

    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

static void set_given_rate(struct clock_map *clock_map)
{
    clock_map->rate_ns = NSEC_PER_SEC;
    clock_map->rate_ticks = narrow(wide_of_u64(clock_map->given_hz));
    clock_map->rate_error_ns = 0;
    clock_map->rate_ppm = clock_map->wander_ppm ? CLOCK_MAP_DRIFT_PPM : 0;
}

static void set_rate(struct clock_map *clock_map, const struct clock_map_pair *a,
                     const struct clock_map_pair *b)
{
    clock_map->rate_ns = b->host_ns - a->host_ns;
    clock_map->rate_ticks = b->ticks - a->ticks;
    clock_map->rate_error_ns = a->error_ns + b->error_ns;
    clock_map->rate_ppm = clock_map->wander_ppm;
}

/* TICKS at a rate of NS in the ticks of CLOCK_MAP's rate. */
static wide by_rate(const struct clock_map *clock_map, wide ticks, int64_t ns)
{
    return wide_div(wide_mul(ticks, wide_of(ns)), wide_of(clock_map->rate_ticks));
}

/* By how much the change of the clocks' offset from A to B may exceed the change at the usual rate, besides the errors
 * of A and B; 0: the change is within these errors, the error of the rate and the drift, and no pause is between
 * them. */
static int64_t jump(const struct clock_map *clock_map, const struct clock_map_pair *a,
                    const struct clock_map_pair *b)
{
    wide ticks = wide_difference(b->ticks, a->ticks);
    wide ns = wide_difference(b->host_ns, a->host_ns);
    wide usual = wide_of(narrow(by_rate(clock_map, ticks, clock_map->rate_ns)));
    wide off = distance(ns, usual);
    wide error = ppm(wide_max(ns, usual), (int64_t)clock_map->rate_ppm);

    error = wide_add(error, by_rate(clock_map, ticks, clock_map->rate_error_ns));
    error = wide_add(error, wide_of(ROUNDED));
    /* right after A and right before B, the error is the larger error of the two */
    if (a->is_paused)
        return narrow(
            wide_add(wide_add(off, error), distance(wide_of(a->error_ns), wide_of(b->error_ns))));
    if (!wide_is_less(wide_add(error, wide_sum(a->error_ns, b->error_ns)), off))
        return 0;
    return narrow(wide_add(off, error));
}

/* True if the given rate, HZ, is too low: the clocks exceed it between two pairs. A pause can only make it seem too high. */
static bool is_exceeded(const struct clock_map *clock_map, uint64_t hz)
{
    const struct clock_map_pair *pairs = clock_map->pairs;

    for (unsigned i = 0; i + 1 < clock_map->n; i++) {
        wide ticks = wide_difference(pairs[i + 1].ticks, pairs[i].ticks);
        wide ns = wide_difference(pairs[i + 1].host_ns, pairs[i].host_ns);

        if (off_nominal(&pairs[i], &pairs[i + 1], hz) != 0 &&
            wide_is_less(wide_mul(ns, wide_of(narrow(wide_of_u64(hz)))),
                         wide_mul(ticks, wide_of(NSEC_PER_SEC))))
            return true;
    }
    return false;
}

/* Finds the median rate, weighted by ticks. An interval has at most the median weight, because an interval in which the
 * clock was set ahead may have more ticks than all others. If a rate is given and the clocks mostly follow it, only the
 * intervals in which they do are used. */
static int find_usual_rate(struct clock_map *clock_map, uint64_t hz)
{
    const struct clock_map_pair *pairs = clock_map->pairs;
    unsigned last = clock_map->n - 1;
    struct slope *slopes = malloc(last * sizeof *slopes);
    bool as_nominal = false;
    double half = 0, most;
    unsigned i, n = 0;

    if (!slopes)
        return -ENOMEM;
    for (i = 0; i < last && hz != 0 && !as_nominal; i++)
        as_nominal = !pairs[i].is_paused && off_nominal(&pairs[i], &pairs[i + 1], hz) == 0;
    for (i = 0; i < last; i++) {
        double ticks = (double)(pairs[i + 1].ticks - pairs[i].ticks);

        if (pairs[i].is_paused || (as_nominal && off_nominal(&pairs[i], &pairs[i + 1], hz) != 0))
            continue;
        slopes[n++] = (struct slope){
            .rate = (double)(pairs[i + 1].host_ns - pairs[i].host_ns) / ticks,
            .ticks = ticks,
            .first = i,
        };
    }
    if (n == 0) { /* it stood still between any two */
        if (hz != 0 && !is_exceeded(clock_map, hz)) {
            set_given_rate(clock_map);
        } else { /* it may have run for any part of the time */
            set_rate(clock_map, &pairs[0], &pairs[last]);
            clock_map->rate_error_ns =
                narrow(wide_sum(clock_map->rate_error_ns, clock_map->rate_ns));
        }
        free(slopes);
        return 0;
    }
    qsort(slopes, n, sizeof *slopes, compare_lengths);
    most = slopes[n / 2].ticks;
    for (i = 0; i < n; i++) {
        slopes[i].ticks = MIN(slopes[i].ticks, most);
        half += slopes[i].ticks / 2;
    }
    qsort(slopes, n, sizeof *slopes, compare_slopes);
    for (i = 0; i + 1 < n && half > slopes[i].ticks; i++)
        half -= slopes[i].ticks;
    set_rate(clock_map, &pairs[slopes[i].first], &pairs[slopes[i].first + 1]);
    free(slopes);
    return 0;
}

/* True if the given rate, HZ, is wrong: a guest's kernel that calibrates its counter on a busy machine
 * may be off by any factor. Then the clocks do not follow it between any two pairs, exceed it in
 * several places, and all those pairs are on the line through the two chosen ones. A jump is in one
 * place. */
static bool is_given_wrongly(const struct clock_map *clock_map, uint64_t hz)
{
    unsigned against = 0;

    for (unsigned i = 0; i + 1 < clock_map->n_given; i++) {
        const struct clock_map_pair *a = &clock_map->given[i], *b = &clock_map->given[i + 1];

        if (a->is_paused)
            continue;
        if (off_nominal(a, b, hz) != 0)
            against++;
        else if (jump(clock_map, a, b) != 0)
            return false;
    }
    return against > 1;
}

/* Finds the jumps relative to the usual rate, then uses the rate of the longest interval without a
 * jump. */
static void note_jumps(struct clock_map *clock_map, uint64_t hz)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    unsigned last = clock_map->n - 1;
    unsigned begin = 0, best_begin = 0, best_end = 0;

    for (unsigned i = 0; i < last; i++) {
        int64_t off = jump(clock_map, &pairs[i], &pairs[i + 1]);

        /* Two pairs alone cannot show a jump or a bad reading, but a given rate can. */
        if (last == 1 && hz != 0 && off == 0 && !is_given_wrongly(clock_map, hz))
            off = off_nominal(&pairs[i], &pairs[i + 1], hz);
        pairs[i].jump_ns = narrow(wide_sum(off, clock_map->set_back_ns));
        /* Several small jumps may together show what no two pairs show. */
        if (off != 0 || (i > begin && jump(clock_map, &pairs[begin], &pairs[i + 1]) != 0))
            begin = i + 1;
        else if (pairs[i + 1].ticks - pairs[begin].ticks >
                 pairs[best_end].ticks - pairs[best_begin].ticks)
            best_begin = begin, best_end = i + 1;
    }
    if (best_end == best_begin && last == 1 && !pairs[0].is_paused)
        best_end = last; /* two pairs alone have no other rate */
    if (best_end == best_begin)
        return;
    set_rate(clock_map, &pairs[best_begin], &pairs[best_end]);
    /* The given rate may be wrong by so much, or the clock stood still for so long in all, each time for less than shows. */
    if (hz != 0 && !is_given_wrongly(clock_map, hz)) {
        int64_t off = off_nominal(&pairs[best_begin], &pairs[best_end], hz);

        clock_map->rate_error_ns = narrow(wide_sum(clock_map->rate_error_ns, off));
        clock_map->rate_ppm = off ? CLOCK_MAP_DRIFT_PPM : clock_map->rate_ppm;
    }
}

static int find_rate(struct clock_map *clock_map, uint64_t hz)
{
    int r = find_usual_rate(clock_map, hz);

    if (r < 0)
        return r;
    /* The first time by the rates of two pairs next to each other; then smaller jumps are seen. */
    note_jumps(clock_map, hz);
    note_jumps(clock_map, hz);
    return 0;
}

static int64_t outside(const struct clock_map *clock_map, const struct clock_map_pair *edge,
                       int64_t ticks, int64_t *ret_error);

/* True if NEXT, the neighbour of the end EDGE, gives it a narrower bound than its own. */
static bool is_worse(const struct clock_map *clock_map, const struct clock_map_pair *edge,
                     const struct clock_map_pair *next, int64_t jump_ns)
{
    int64_t error;

    (void)outside(clock_map, next, edge->ticks, &error);
    /* A jump between them shows only in the end itself. */
    return jump_ns == clock_map->set_back_ns && error < edge->error_ns;
}

/* Drops ends for which their neighbours give a narrower bound, because times outside are extrapolated
 * from the ends. */
static int trim(struct clock_map *clock_map, uint64_t hz)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    unsigned first = 0, last = clock_map->n - 1;

    while (last - first > 1 && first < TRIM_MAX &&
           is_worse(clock_map, &pairs[first], &pairs[first + 1], pairs[first].jump_ns))
        first++;
    while (last - first > 1 && clock_map->n - 1 - last < TRIM_MAX &&
           is_worse(clock_map, &pairs[last], &pairs[last - 1], pairs[last - 1].jump_ns))
        last--;
    if (last - first + 1 == clock_map->n)
        return 0;
    clock_map->n = last - first + 1;
    memmove(pairs, pairs + first, clock_map->n * sizeof *pairs);
    return find_rate(clock_map, hz);
}

/* ---- The rate, and what it leaves open ---- */

double clock_map_rate_error(const struct clock_map *clock_map)
{
    return (double)clock_map->rate_error_ns / (double)clock_map->rate_ns +
           (double)clock_map->rate_ppm / MILLION;
}

/* Makes the usual rate what is known of it otherwise, as far as the pairs allow that and it is more exact. */
static void apply_limits(struct clock_map *clock_map)
{
    double rate = (double)clock_map->rate_ns / (double)clock_map->rate_ticks;
    double error = rate * clock_map_rate_error(clock_map);
    double least = MAX(clock_map->limit_least, rate - error);
    double most = MIN(clock_map->limit_most, rate + error);
    double ticks;

    if (clock_map->limit_most == 0)
        return;
    if (clock_map->rate_ticks == 0) { /* one pair, and no given rate */
        least = clock_map->limit_least;
        most = clock_map->limit_most;
        error = most;
    }
    ticks = (double)LIMITED_NS / ((least + most) / 2);
    if (least > most || (most - least) / 2 >= error || ticks < 1 || ticks > (double)ERROR_MAX)
        return;
    clock_map->rate_ns = LIMITED_NS;
    clock_map->rate_ticks = (int64_t)ticks;
    clock_map->rate_error_ns = (int64_t)((most - least) / (most + least) * (double)LIMITED_NS) + 2;
    clock_map->rate_ppm = 0;
}

/* By which part durations between A and B may be wrong, if the clock was steady: the rate is within the limits of any time's,
 * and within those that A and B give. */
static double interval_error(const struct clock_map *clock_map, const struct clock_map_pair *a,
                             const struct clock_map_pair *b)
{
    double ticks = (double)(b->ticks - a->ticks), ns = (double)(b->host_ns - a->host_ns);
    double usual = (double)clock_map->rate_ns / (double)clock_map->rate_ticks * ticks / ns;
    double own = ((double)a->error_ns + (double)b->error_ns + 2) / ns +
                 (double)clock_map->wander_ppm / MILLION;
    double off = usual > 1 ? usual - 1 : 1 - usual;

    return MIN(own, off + usual * clock_map_rate_error(clock_map));
}

/* Numbers the times in which the clock was steady, and finds what durations in them may be wrong by. */
static void find_duration_error(struct clock_map *clock_map)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    double error = clock_map_rate_error(clock_map);
    uint8_t part = 0;

    for (unsigned i = 0; i + 1 < clock_map->n; i++) {
        bool is_steady = pairs[i].jump_ns == 0 && part != CLOCK_UNSTEADY;

        if (is_steady)
            error = MAX(error, interval_error(clock_map, &pairs[i], &pairs[i + 1]));
        pairs[i].part = is_steady ? part : CLOCK_UNSTEADY;
        if (!is_steady && part != CLOCK_UNSTEADY)
            part++;
    }
    pairs[clock_map->n - 1].part = clock_map->set_back_ns > 0 ? CLOCK_UNSTEADY : part;
    clock_map->duration_error = error;
}

/* Dropped pairs must not disagree with the map: bounds are widened until they do not. */
static void hold_to_all(struct clock_map *clock_map)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    unsigned at = 0; /* the last pair at or before the position */

    for (unsigned i = 0; i < clock_map->n_given; i++) {
        const struct clock_map_pair *pair = &clock_map->given[i];
        int64_t error;
        int64_t time = clock_map_convert(clock_map, pair->ticks, &error);
        wide more = wide_sub(distance(wide_of(time), wide_of(pair->host_ns)),
                             wide_sum(pair->error_ns, error));

        while (at + 1 < clock_map->n && pairs[at + 1].ticks <= pair->ticks)
            at++;
        if (!wide_is_less(wide_of(0), more))
            continue;
        if (pair->ticks < pairs[0].ticks || at + 1 == clock_map->n)
            pairs[at].error_ns = narrow(wide_add(wide_of(pairs[at].error_ns), more));
        else
            pairs[at].jump_ns = narrow(wide_add(wide_of(pairs[at].jump_ns), more));
    }
}

static void widen_pairs(struct clock_map *clock_map, int64_t ns)
{
    for (unsigned i = 0; i < clock_map->n; i++)
        clock_map->pairs[i].error_ns = narrow(wide_sum(clock_map->pairs[i].error_ns, ns));
}

/* Makes the map of the given pairs. */
static int make(struct clock_map *clock_map, const char *name, struct error *error)
{
    uint64_t hz = clock_map->given_hz;

    choose(clock_map);
    clock_map->hz = hz;
    if (clock_map->n > 1) {
        if (find_rate(clock_map, hz) < 0 || trim(clock_map, hz) < 0)
            return error_set(error, -ENOMEM, name, "out of memory");
    } else {
        set_given_rate(clock_map);
    }
    apply_limits(clock_map);
    clock_map->hz = (uint64_t)narrow(
        wide_div(wide_product(clock_map->rate_ticks, NSEC_PER_SEC), wide_of(clock_map->rate_ns)));
    if (clock_map->hz == 0)
        return error_set(
            error, -EINVAL, name,
            clock_map->n > 1
                ? "the clocks drift apart impossibly fast"
                : "holds a single pair, which gives no rate, and the rate is not known");
    hold_to_all(clock_map);
    find_duration_error(clock_map);
    widen_pairs(clock_map, clock_map->extra_ns);
    return 0;
}

int clock_map_complete(struct clock_map *clock_map, const char *name, uint64_t hz,
                       struct error *error)
{
    if (clock_map->n_given == 0)
        return error_set(error, -EINVAL, name,
                         "holds no pairs of times, so the clocks cannot be related");
    clock_map->pairs = malloc(clock_map->n_given * sizeof *clock_map->pairs);
    if (!clock_map->pairs)
        return error_set(error, -ENOMEM, name, "out of memory");
    clock_map->wander_ppm = CLOCK_MAP_WANDER_PPM;
    clock_map->given_hz = hz;
    return make(clock_map, name, error);
}

int clock_map_set_steady(struct clock_map *clock_map)
{
    clock_map->wander_ppm = 0;
    return make(clock_map, NULL, NULL);
}

int clock_map_limit_rate(struct clock_map *clock_map, double least, double most)
{
    clock_map->limit_least = MAX(clock_map->limit_least, least);
    clock_map->limit_most = clock_map->limit_most > 0 ? MIN(clock_map->limit_most, most) : most;
    return make(clock_map, NULL, NULL);
}

bool clock_map_has_jumps(const struct clock_map *clock_map)
{
    bool any = clock_map->set_back_ns != 0;

    for (unsigned i = 0; i + 1 < clock_map->n; i++)
        any |= clock_map->pairs[i].jump_ns != 0;
    return any;
}

void clock_map_widen(struct clock_map *clock_map, int64_t ns)
{
    widen_pairs(clock_map, ns);
    clock_map->extra_ns = narrow(wide_sum(clock_map->extra_ns, ns));
}

int clock_map_copy(const struct clock_map *clock_map, struct clock_map *ret_map)
{
    struct clock_map copy = *clock_map;

    copy.given = malloc(clock_map->n_given * sizeof *copy.given);
    copy.pairs = malloc(clock_map->n_given * sizeof *copy.pairs);
    if (!copy.given || !copy.pairs) {
        clock_map_done(&copy);
        return -ENOMEM;
    }
    memcpy(copy.given, clock_map->given, clock_map->n_given * sizeof *copy.given);
    memcpy(copy.pairs, clock_map->pairs, clock_map->n * sizeof *copy.pairs);
    *ret_map = copy;
    return 0;
}

void clock_map_done(struct clock_map *clock_map)
{
    free(clock_map->pairs);
    free(clock_map->given);
    *clock_map = (struct clock_map){0};
}

/* ---- From a relation to times ---- */

/* From the pair EDGE out, at the usual rate: the time rounded down. */
static int64_t outside(const struct clock_map *clock_map, const struct clock_map_pair *edge,
                       int64_t ticks, int64_t *ret_error)
{
    wide away = distance(wide_of(ticks), wide_of(edge->ticks));
    wide ns = by_rate(clock_map, away, clock_map->rate_ns), after = wide_add(ns, wide_of(1));
    wide error = wide_add(by_rate(clock_map, away, clock_map->rate_error_ns),
                          ppm(wide_of(narrow(after)), (int64_t)clock_map->rate_ppm));

    error = wide_add(error, wide_sum(edge->error_ns, clock_map->set_back_ns));
    *ret_error = narrow(wide_add(error, wide_of(ROUNDED)));
    if (*ret_error > ERROR_MAX)
        *ret_error = INT64_MAX;
    if (ticks < edge->ticks)
        return narrow(wide_sub(wide_of(edge->host_ns), after));
    return narrow(wide_add(wide_of(edge->host_ns), ns));
}

/* The rate A / B, times two to the power of *RET_SHIFT, which is as large as possible. */
static uint64_t make_rate(wide a, wide b, bool up, uint8_t *ret_shift)
{
    uint64_t rate = (uint64_t)narrow(wide_div(a, b));
    wide left = wide_rem(a, b);
    uint8_t shift = 0;

    while (rate < (uint64_t)1 << 61 && shift < 62) {
        rate *= 2;
        left = wide_add(left, left);
        if (!wide_is_less(left, b)) {
            left = wide_sub(left, b);
            rate++;
        }
        shift++;
    }
    *ret_shift = shift;
    return rate + (up && wide_is_less(wide_of(0), left));
}

/* Sets the bound's slope in PIECE, SLOPE / (SPAN * a million) per tick, from its value at the start. */
static void set_error(struct clock_map_piece *piece, wide slope, wide span)
{
    wide most;

    piece->error_falls = wide_is_less(slope, wide_of(0));
    piece->error_rate = make_rate(wide_abs(slope), wide_mul(span, wide_of(MILLION)),
                                  !piece->error_falls, &piece->error_shift);
    most = wide_of(piece->error_ns);
    if (!piece->error_falls)
        most = wide_add(most,
                        wide_div(wide_mul(wide_of_u64(piece->len), wide_of_u64(piece->error_rate)),
                                 wide_of(INT64_C(1) << piece->error_shift)));
    if (wide_is_less(wide_of(ERROR_MAX), most)) {
        piece->error_ns = INT64_MAX;
        piece->error_rate = 0;
    }
}

/* Where the second half of the interval from A to B begins. */
static int64_t middle_of(const struct clock_map_pair *a, const struct clock_map_pair *b)
{
    wide span = wide_difference(b->ticks, a->ticks);

    return a->ticks + (int64_t)wide_low(wide_div(wide_add(span, wide_of(1)), wide_of(2)));
}

/* The half of the interval from A to B that contains TICKS: up to the middle the drift part of the
 * bound grows, from there on it shrinks. */
static void find_between(const struct clock_map *clock_map, const struct clock_map_pair *a,
                         const struct clock_map_pair *b, int64_t ticks,
                         struct clock_map_piece *piece)
{
    wide span = wide_difference(b->ticks, a->ticks);
    wide ns = wide_difference(b->host_ns, a->host_ns);
    wide drift = wide_mul(ns, wide_of(clock_map->wander_ppm));
    wide change = wide_mul(wide_difference(b->error_ns, a->error_ns), wide_of(MILLION));
    int64_t middle = middle_of(a, b);
    bool second = ticks >= middle;

    piece->part = a->part;
    piece->from = second ? middle : a->ticks;
    piece->len = (uint64_t)((second ? b->ticks : middle) - piece->from);
    piece->host_ns = between(clock_map, a, b, piece->from, &piece->error_ns);
    piece->rate = make_rate(ns, span, false, &piece->shift);
    set_error(piece, second ? wide_sub(change, drift) : wide_add(change, drift), span);
}

/* Extrapolates as far as the numbers reach, which is nearly always far enough. */
static void find_outside(const struct clock_map *clock_map, bool behind, int64_t ticks,
                         struct clock_map_piece *piece)
{
    const struct clock_map_pair *edge = &clock_map->pairs[behind ? clock_map->n - 1 : 0];
    wide slope = wide_add(wide_product(clock_map->rate_error_ns, MILLION),
                          wide_product(clock_map->rate_ns, clock_map->rate_ppm));

    piece->part = behind ? edge->part : clock_map->set_back_ns > 0 ? CLOCK_UNSTEADY : 0;
    piece->rate = make_rate(wide_of(clock_map->rate_ns), wide_of(clock_map->rate_ticks), false,
                            &piece->shift);
    piece->len = (uint64_t)1 << MIN(piece->shift, 61);
    for (; piece->len > 1; piece->len /= 2) {
        int64_t error;

        (void)outside(
            clock_map, edge,
            behind ? edge->ticks + (int64_t)piece->len : edge->ticks - (int64_t)piece->len, &error);
        if (error <= ERROR_MAX)
            break;
    }
    piece->from = behind ? edge->ticks : edge->ticks - (int64_t)piece->len;
    if (!clock_map_piece_holds(piece, ticks)) {
        piece->from = ticks;
        piece->len = 1;
    }
    piece->host_ns = outside(clock_map, edge, piece->from, &piece->error_ns);
    set_error(piece, behind ? slope : wide_neg(slope), wide_of(clock_map->rate_ticks));
}

void clock_map_find(const struct clock_map *clock_map, int64_t ticks,
                    struct clock_map_piece *ret_piece)
{
    const struct clock_map_pair *pairs = clock_map->pairs;
    unsigned low = 0, high = clock_map->n - 1;

    if (ticks < pairs[0].ticks || ticks >= pairs[high].ticks) {
        find_outside(clock_map, ticks >= pairs[high].ticks, ticks, ret_piece);
        return;
    }
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;

        if (pairs[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    find_between(clock_map, &pairs[low], &pairs[low + 1], ticks, ret_piece);
}

int64_t clock_map_convert(const struct clock_map *clock_map, int64_t ticks, int64_t *ret_error_ns)
{
    struct clock_map_piece piece;
    int64_t error;
    int64_t time;

    clock_map_find(clock_map, ticks, &piece);
    time = clock_map_piece_convert(&piece, ticks, &error);
    if (ret_error_ns)
        *ret_error_ns = error;
    return time;
}

static int64_t bound_at(const struct clock_map *clock_map, int64_t ticks)
{
    int64_t error;

    (void)clock_map_convert(clock_map, ticks, &error);
    return error;
}

/* The larger of the bounds at TICKS, where a piece begins, and right before, as far as these are from FROM to TO. */
static int64_t bound_around(const struct clock_map *clock_map, int64_t ticks, int64_t from,
                            int64_t to)
{
    int64_t most = 0;

    if (ticks >= from && ticks <= to)
        most = bound_at(clock_map, ticks);
    if (ticks > from && ticks - 1 <= to)
        most = MAX(most, bound_at(clock_map, ticks - 1));
    return most;
}

int64_t clock_map_ticks(const struct clock_map *clock_map, int64_t ns)
{
    int64_t low = INT64_MIN, high = INT64_MAX;

    while (low < high) {
        int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);

        if (clock_map_convert(clock_map, middle, NULL) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Within a piece bounds change evenly, from one to the next they may jump. */
int64_t clock_map_bound(const struct clock_map *clock_map, int64_t from, int64_t to)
{
    int64_t most = MAX(bound_at(clock_map, from), bound_at(clock_map, to));

    for (unsigned i = 0; i < clock_map->n; i++) {
        const struct clock_map_pair *pair = &clock_map->pairs[i];

        most = MAX(most, bound_around(clock_map, pair->ticks, from, to));
        if (i + 1 < clock_map->n)
            most = MAX(most, bound_around(clock_map, middle_of(pair, pair + 1), from, to));
    }
    return most;
}
