/* SPDX-License-Identifier: MIT */
/* From pairs to a relation, and from that to times. */
#include "timeline/clock_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/wide.h"
#include "timeline/clock_map_make.h"

/* What times in a piece may be too small by: the start of the piece and the time in it are rounded down,
 * and so is its rate. */
#define ROUNDED 4
/* Bounds beyond this, of 73 years, are infinite. */
#define ERROR_MAX ((int64_t)1 << 61)
#define MILLION 1000000
/* The most pairs that are dropped at an end. */
#define TRIM_MAX 64

/* V of a million, rounded up. */
static wide ppm(wide v, int64_t parts)
{
    return (v * parts + MILLION - 1) / MILLION;
}

static wide distance(wide a, wide b)
{
    return a > b ? a - b : b - a;
}

/* The time at TICKS, from A to B, rounded down; by how much it may be wrong, rounded up: the wander is that of
 * the way to the farther of the two ends that are equally far. */
static int64_t between(const struct clock_map *clock_map, const struct clock_map_pair *a,
                       const struct clock_map_pair *b, int64_t ticks, int64_t *ret_error)
{
    wide span = (wide)b->ticks - a->ticks;
    wide done = (wide)ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    wide since = done * ns / span;
    wide error = ((wide)a->error_ns * (span - done) + (wide)b->error_ns * done + span - 1) / span;
    wide nearer = done * 2 < span ? since + 1 : ns - since;

    *ret_error = narrow(error + ppm(nearer, (int64_t)clock_map->wander_ppm) + a->jump_ns + ROUNDED);
    return narrow(a->host_ns + since);
}

/* ---- From pairs to a relation ---- */

/* True if P lies between A and B, and interpolation between them gives a narrower bound than its own
 * and agrees with it. */
static bool is_interpolated_better(const struct clock_map *clock_map,
                                   const struct clock_map_pair *a, const struct clock_map_pair *p,
                                   const struct clock_map_pair *b)
{
    int64_t error;
    int64_t time = between(clock_map, a, b, p->ticks, &error);

    return error < p->error_ns && distance(time, p->host_ns) <= (wide)error + p->error_ns;
}

/* Copies the pairs without those that interpolation between their neighbours gives better. */
static void choose(struct clock_map *clock_map)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    unsigned kept = 0;

    for (unsigned i = 0; i < clock_map->n_given; i++) {
        pairs[kept] = clock_map->given[i];
        pairs[kept++].jump_ns = 0;
        for (; kept >= 3 && is_interpolated_better(clock_map, &pairs[kept - 3], &pairs[kept - 2],
                                                   &pairs[kept - 1]);
             kept--)
            pairs[kept - 2] = pairs[kept - 1];
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

static void set_rate(struct clock_map *clock_map, const struct clock_map_pair *a,
                     const struct clock_map_pair *b)
{
    clock_map->rate_ns = b->host_ns - a->host_ns;
    clock_map->rate_ticks = b->ticks - a->ticks;
    clock_map->rate_error_ns = a->error_ns + b->error_ns;
    clock_map->rate_ppm = clock_map->wander_ppm;
}

/* How much the change of the clocks' offset from A to B may exceed that of the usual rate, besides the errors of A and
 * B; 0: the change is within these errors, the error of the rate and the drift. */
static int64_t jump(const struct clock_map *clock_map, const struct clock_map_pair *a,
                    const struct clock_map_pair *b)
{
    wide ticks = (wide)b->ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    wide usual = narrow(ticks * clock_map->rate_ns / clock_map->rate_ticks);
    wide off = distance(ns, usual);
    wide rate_error = ppm(MAX(ns, usual), (int64_t)clock_map->rate_ppm) +
                      ticks * clock_map->rate_error_ns / clock_map->rate_ticks + ROUNDED;

    return off > rate_error + a->error_ns + b->error_ns ? narrow(off + rate_error) : 0;
}

/* How much the change of the clocks' offset from A to B exceeds that of the given rate, HZ; 0: within
 * the drift of clocks. */
static int64_t off_nominal(const struct clock_map_pair *a, const struct clock_map_pair *b,
                           uint64_t hz)
{
    wide ns = (wide)b->host_ns - a->host_ns;
    wide nominal = narrow(((wide)b->ticks - a->ticks) * NSEC_PER_SEC / narrow((wide)hz));
    wide off = distance(ns, nominal);

    return off > (wide)a->error_ns + b->error_ns + ppm(MAX(ns, nominal), CLOCK_MAP_DRIFT_PPM)
               ? narrow(off)
               : 0;
}

/* The median rate, weighted by ticks, of which an interval has at most the median: one in which the clock was set ahead may
 * have more than all others. If a rate is given and the clocks mostly follow it, only of the intervals in which they do. */
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
        as_nominal = off_nominal(&pairs[i], &pairs[i + 1], hz) == 0;
    for (i = 0; i < last; i++) {
        double ticks = (double)(pairs[i + 1].ticks - pairs[i].ticks);

        if (as_nominal && off_nominal(&pairs[i], &pairs[i + 1], hz) != 0)
            continue;
        slopes[n++] = (struct slope){
            .rate = (double)(pairs[i + 1].host_ns - pairs[i].host_ns) / ticks,
            .ticks = ticks,
            .first = i,
        };
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
        if (last == 1 && hz != 0 && !is_given_wrongly(clock_map, hz))
            off = off_nominal(&pairs[i], &pairs[i + 1], hz);
        pairs[i].jump_ns = narrow((wide)off + clock_map->set_back_ns);
        if (off != 0)
            begin = i + 1;
        else if (pairs[i + 1].ticks - pairs[begin].ticks >
                 pairs[best_end].ticks - pairs[best_begin].ticks)
            best_begin = begin, best_end = i + 1;
    }
    if (best_end > best_begin)
        set_rate(clock_map, &pairs[best_begin], &pairs[best_end]);
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

/* Dropped pairs must not disagree with the map: bounds are widened until they do not. */
static void hold_to_all(struct clock_map *clock_map)
{
    struct clock_map_pair *pairs = clock_map->pairs;
    unsigned at = 0; /* the last pair at or before the position */

    for (unsigned i = 0; i < clock_map->n_given; i++) {
        const struct clock_map_pair *pair = &clock_map->given[i];
        int64_t error;
        int64_t time = clock_map_convert(clock_map, pair->ticks, &error);
        wide more = distance(time, pair->host_ns) - pair->error_ns - error;

        while (at + 1 < clock_map->n && pairs[at + 1].ticks <= pair->ticks)
            at++;
        if (more <= 0)
            continue;
        if (pair->ticks < pairs[0].ticks || at + 1 == clock_map->n)
            pairs[at].error_ns = narrow(pairs[at].error_ns + more);
        else
            pairs[at].jump_ns = narrow(pairs[at].jump_ns + more);
    }
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
        clock_map->hz =
            (uint64_t)narrow((wide)clock_map->rate_ticks * NSEC_PER_SEC / (wide)clock_map->rate_ns);
    } else {
        clock_map->rate_ns = NSEC_PER_SEC;
        clock_map->rate_ticks = narrow(hz);
        clock_map->rate_ppm = clock_map->wander_ppm ? CLOCK_MAP_DRIFT_PPM : 0;
    }
    if (clock_map->hz == 0)
        return error_set(
            error, -EINVAL, name,
            clock_map->n > 1
                ? "the clocks drift apart impossibly fast"
                : "holds a single pair, which gives no rate, and the rate is not known");
    hold_to_all(clock_map);
    return 0;
}

int clock_map_make(struct clock_map *clock_map, const char *name, uint64_t hz, struct error *error)
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
    wide away = (wide)ticks - edge->ticks;
    wide far = away < 0 ? -away : away;
    wide ns = far * clock_map->rate_ns / clock_map->rate_ticks;
    wide error = far * clock_map->rate_error_ns / clock_map->rate_ticks +
                 ppm(narrow(ns + 1), (int64_t)clock_map->rate_ppm);

    *ret_error = narrow(error + edge->error_ns + clock_map->set_back_ns + ROUNDED);
    if (*ret_error > ERROR_MAX)
        *ret_error = INT64_MAX;
    return narrow(away < 0 ? edge->host_ns - ns - 1 : edge->host_ns + ns);
}

/* The rate A / B, times two to the power of *RET_SHIFT, which is as large as possible. */
static uint64_t make_rate(wide a, wide b, bool up, uint8_t *ret_shift)
{
    uint64_t rate = (uint64_t)narrow(a / b);
    wide left = a % b;
    uint8_t shift = 0;

    while (rate < (uint64_t)1 << 61 && shift < 62) {
        left *= 2;
        rate = rate * 2 + (left >= b);
        left -= left >= b ? b : 0;
        shift++;
    }
    *ret_shift = shift;
    return rate + (up && left > 0);
}

/* Sets the bound's slope in PIECE, SLOPE / (SPAN * a million) per tick, from its value at the start. */
static void set_error(struct clock_map_piece *piece, wide slope, wide span)
{
    wide most;

    piece->error_falls = slope < 0;
    piece->error_rate =
        make_rate(slope < 0 ? -slope : slope, span * MILLION, slope >= 0, &piece->error_shift);
    most = piece->error_ns;
    if (!piece->error_falls)
        most += (wide)((unsigned __int128)piece->len * piece->error_rate >> piece->error_shift);
    if (most > ERROR_MAX) {
        piece->error_ns = INT64_MAX;
        piece->error_rate = 0;
    }
}

/* The half of the interval from A to B that contains TICKS: up to the middle the drift part of the
 * bound grows, from there on it shrinks. */
static void find_between(const struct clock_map *clock_map, const struct clock_map_pair *a,
                         const struct clock_map_pair *b, int64_t ticks,
                         struct clock_map_piece *piece)
{
    wide span = (wide)b->ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    int64_t middle = (int64_t)(a->ticks + (span + 1) / 2);
    bool second = ticks >= middle;

    piece->from = second ? middle : a->ticks;
    piece->len = (uint64_t)((second ? b->ticks : middle) - piece->from);
    piece->host_ns = between(clock_map, a, b, piece->from, &piece->error_ns);
    piece->rate = make_rate(ns, span, false, &piece->shift);
    set_error(piece,
              ((wide)b->error_ns - a->error_ns) * MILLION +
                  (second ? -1 : 1) * ns * clock_map->wander_ppm,
              span);
}

/* Extrapolates as far as the numbers reach, which is nearly always far enough. */
static void find_outside(const struct clock_map *clock_map, bool behind, int64_t ticks,
                         struct clock_map_piece *piece)
{
    const struct clock_map_pair *edge = &clock_map->pairs[behind ? clock_map->n - 1 : 0];
    wide slope =
        (wide)clock_map->rate_error_ns * MILLION + (wide)clock_map->rate_ns * clock_map->rate_ppm;

    piece->rate = make_rate(clock_map->rate_ns, clock_map->rate_ticks, false, &piece->shift);
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
    set_error(piece, behind ? slope : -slope, clock_map->rate_ticks);
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

/* Bounds are the widest at pairs, in the middle between two, and where the ticks end. */
int64_t clock_map_bound(const struct clock_map *clock_map, int64_t from, int64_t to)
{
    int64_t most, error;

    (void)clock_map_convert(clock_map, from, &most);
    (void)clock_map_convert(clock_map, to, &error);
    most = MAX(most, error);
    for (unsigned i = 0; i < clock_map->n; i++) {
        const struct clock_map_pair *pair = &clock_map->pairs[i];
        int64_t middle =
            i + 1 < clock_map->n ? pair->ticks + (pair[1].ticks - pair->ticks + 1) / 2 : from;

        if (pair->ticks >= from && pair->ticks <= to) {
            (void)clock_map_convert(clock_map, pair->ticks, &error);
            most = MAX(most, error);
        }
        if (middle >= from && middle <= to) {
            (void)clock_map_convert(clock_map, middle, &error);
            most = MAX(most, error);
        }
    }
    return most;
}
