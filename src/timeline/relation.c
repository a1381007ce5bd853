/* SPDX-License-Identifier: MIT */
/* From pairs to a relation, and from that to times. */
#include "timeline/relation.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/wide.h"
#include "timeline/relation_make.h"

#define SECOND INT64_C(1000000000)

/* What times told by a piece may be too small by: the start of the piece and the time in it are rounded down,
 * and so is its rate. */
#define ROUNDED 4
/* Bounds beyond this, of 73 years, are told as endless. */
#define ERROR_MAX ((int64_t)1 << 61)
#define MILLION 1000000
/* So many pairs are left out at an end. */
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

/* The time at TICKS, from A to B, rounded down; by how much it may be wrong, rounded up: the wander is told of
 * the way to the farther of the two ends that are equally far. */
static int64_t between(const struct relation *relation, const struct relation_pair *a,
                       const struct relation_pair *b, int64_t ticks, int64_t *ret_error)
{
    wide span = (wide)b->ticks - a->ticks;
    wide done = (wide)ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    wide since = done * ns / span;
    wide error = ((wide)a->error_ns * (span - done) + (wide)b->error_ns * done + span - 1) / span;
    wide nearer = done * 2 < span ? since + 1 : ns - since;

    *ret_error = narrow(error + ppm(nearer, (int64_t)relation->wander_ppm) + a->jump_ns + ROUNDED);
    return narrow(a->host_ns + since);
}

/* ---- From pairs to a relation ---- */

/* Whether A and B tell P, which is between them, better than it does itself, and say nothing else than it. */
static bool is_told_better(const struct relation *relation, const struct relation_pair *a,
                           const struct relation_pair *p, const struct relation_pair *b)
{
    int64_t error;
    int64_t told = between(relation, a, b, p->ticks, &error);

    return error < p->error_ns && distance(told, p->host_ns) <= (wide)error + p->error_ns;
}

/* Takes the pairs without those that others around them tell better. */
static void choose(struct relation *relation)
{
    struct relation_pair *pairs = relation->pairs;
    unsigned kept = 0;

    for (unsigned i = 0; i < relation->n_told; i++) {
        pairs[kept] = relation->told[i];
        pairs[kept++].jump_ns = 0;
        for (; kept >= 3 &&
               is_told_better(relation, &pairs[kept - 3], &pairs[kept - 2], &pairs[kept - 1]);
             kept--)
            pairs[kept - 2] = pairs[kept - 1];
    }
    relation->n = kept;
}

/* What two pairs tell of the rate. */
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

static void set_rate(struct relation *relation, const struct relation_pair *a,
                     const struct relation_pair *b)
{
    relation->rate_ns = b->host_ns - a->host_ns;
    relation->rate_ticks = b->ticks - a->ticks;
    relation->rate_error_ns = a->error_ns + b->error_ns;
    relation->rate_ppm = relation->wander_ppm;
}

/* By how much more or less the clocks came apart from A to B than they do at the usual rate; 0: no more than the
 * pairs may be wrong by, and the clocks wander. */
static int64_t jump(const struct relation *relation, const struct relation_pair *a,
                    const struct relation_pair *b)
{
    wide ticks = (wide)b->ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    wide usual = narrow(ticks * relation->rate_ns / relation->rate_ticks);
    wide off = distance(ns, usual);
    wide most = (wide)a->error_ns + b->error_ns + ppm(MAX(ns, usual), (int64_t)relation->rate_ppm) +
                ticks * relation->rate_error_ns / relation->rate_ticks + ROUNDED;

    return off > most ? narrow(off) : 0;
}

/* By how much more or less the clocks came apart from A to B than they do at the rate that was told, HZ; 0: no
 * more than clocks do. */
static int64_t off_told(const struct relation_pair *a, const struct relation_pair *b, uint64_t hz)
{
    wide ns = (wide)b->host_ns - a->host_ns;
    wide told = narrow(((wide)b->ticks - a->ticks) * SECOND / narrow((wide)hz));
    wide off = distance(ns, told);

    return off > (wide)a->error_ns + b->error_ns + ppm(MAX(ns, told), RELATION_DRIFT_PPM)
               ? narrow(off)
               : 0;
}

/* The rate that half of the time had less than, and half more. Where a rate was told, and clocks mostly are as
 * that says, only of the times when they were. */
static int find_usual_rate(struct relation *relation, uint64_t hz)
{
    const struct relation_pair *pairs = relation->pairs;
    unsigned last = relation->n - 1;
    struct slope *slopes = malloc(last * sizeof *slopes);
    bool as_told = false;
    double half = 0;
    unsigned i, n = 0;

    if (!slopes)
        return -ENOMEM;
    for (i = 0; i < last && hz != 0 && !as_told; i++)
        as_told = off_told(&pairs[i], &pairs[i + 1], hz) == 0;
    for (i = 0; i < last; i++) {
        double ticks = (double)(pairs[i + 1].ticks - pairs[i].ticks);

        if (as_told && off_told(&pairs[i], &pairs[i + 1], hz) != 0)
            continue;
        slopes[n++] = (struct slope){
            .rate = (double)(pairs[i + 1].host_ns - pairs[i].host_ns) / ticks,
            .ticks = ticks,
            .first = i,
        };
        half += ticks / 2;
    }
    qsort(slopes, n, sizeof *slopes, compare_slopes);
    for (i = 0; i + 1 < n && half > slopes[i].ticks; i++)
        half -= slopes[i].ticks;
    set_rate(relation, &pairs[slopes[i].first], &pairs[slopes[i].first + 1]);
    free(slopes);
    return 0;
}

/* Whether the rate that was told, HZ, is none of these clocks': a guest's kernel that measures its counter on a
 * busy machine is wrong by any factor. Then the clocks are never as it says between two pairs, in several places
 * not, and all those pairs are on the line that the two chosen ones tell. A jump is in one place. */
static bool is_told_wrongly(const struct relation *relation, uint64_t hz)
{
    unsigned against = 0;

    for (unsigned i = 0; i + 1 < relation->n_told; i++) {
        const struct relation_pair *a = &relation->told[i], *b = &relation->told[i + 1];

        if (off_told(a, b, hz) != 0)
            against++;
        else if (jump(relation, a, b) != 0)
            return false;
    }
    return against > 1;
}

/* Notes where the clocks jumped, as far as is seen by the usual rate, and takes for that the one over the longest
 * time in which they did not. */
static void note_jumps(struct relation *relation, uint64_t hz)
{
    struct relation_pair *pairs = relation->pairs;
    unsigned last = relation->n - 1;
    unsigned begin = 0, best_begin = 0, best_end = 0;

    for (unsigned i = 0; i < last; i++) {
        int64_t off = jump(relation, &pairs[i], &pairs[i + 1]);

        /* Two pairs alone cannot tell that a clock jumped, or was read badly, but what is told can. */
        if (last == 1 && hz != 0 && !is_told_wrongly(relation, hz))
            off = off_told(&pairs[i], &pairs[i + 1], hz);
        pairs[i].jump_ns = narrow((wide)off + relation->set_back_ns);
        if (off != 0)
            begin = i + 1;
        else if (pairs[i + 1].ticks - pairs[begin].ticks >
                 pairs[best_end].ticks - pairs[best_begin].ticks)
            best_begin = begin, best_end = i + 1;
    }
    if (best_end > best_begin)
        set_rate(relation, &pairs[best_begin], &pairs[best_end]);
}

static int find_rate(struct relation *relation, uint64_t hz)
{
    int r = find_usual_rate(relation, hz);

    if (r < 0)
        return r;
    /* The first time by what two pairs next to each other tell; then smaller jumps are seen. */
    note_jumps(relation, hz);
    note_jumps(relation, hz);
    return 0;
}

static int64_t outside(const struct relation *relation, const struct relation_pair *edge,
                       int64_t ticks, int64_t *ret_error);

/* Whether the pair EDGE, at an end, is told better by NEXT, the one beside it. */
static bool is_worse(const struct relation *relation, const struct relation_pair *edge,
                     const struct relation_pair *next, int64_t jump_ns)
{
    int64_t error;

    (void)outside(relation, next, edge->ticks, &error);
    /* What jumped between them only the end itself tells. */
    return jump_ns == relation->set_back_ns && error < edge->error_ns;
}

/* Leaves out the ends that those beside them tell better: times outside are told from the ends. */
static int trim(struct relation *relation, uint64_t hz)
{
    struct relation_pair *pairs = relation->pairs;
    unsigned first = 0, last = relation->n - 1;

    while (last - first > 1 && first < TRIM_MAX &&
           is_worse(relation, &pairs[first], &pairs[first + 1], pairs[first].jump_ns))
        first++;
    while (last - first > 1 && relation->n - 1 - last < TRIM_MAX &&
           is_worse(relation, &pairs[last], &pairs[last - 1], pairs[last - 1].jump_ns))
        last--;
    if (last - first + 1 == relation->n)
        return 0;
    relation->n = last - first + 1;
    memmove(pairs, pairs + first, relation->n * sizeof *pairs);
    return find_rate(relation, hz);
}

/* What was left out must not say anything else than what is told: bounds are widened until it does not. */
static void hold_to_all(struct relation *relation)
{
    struct relation_pair *pairs = relation->pairs;
    unsigned at = 0; /* the last pair that is not behind */

    for (unsigned i = 0; i < relation->n_told; i++) {
        const struct relation_pair *pair = &relation->told[i];
        int64_t error;
        int64_t told = relation_convert(relation, pair->ticks, &error);
        wide more = distance(told, pair->host_ns) - pair->error_ns - error;

        while (at + 1 < relation->n && pairs[at + 1].ticks <= pair->ticks)
            at++;
        if (more <= 0)
            continue;
        if (pair->ticks < pairs[0].ticks || at + 1 == relation->n)
            pairs[at].error_ns = narrow(pairs[at].error_ns + more);
        else
            pairs[at].jump_ns = narrow(pairs[at].jump_ns + more);
    }
}

/* Makes the relation of the pairs that were told. */
static int make(struct relation *relation, const char *name, struct fault *fault)
{
    uint64_t hz = relation->told_hz;

    choose(relation);
    relation->hz = hz;
    if (relation->n > 1) {
        if (find_rate(relation, hz) < 0 || trim(relation, hz) < 0)
            return fault_plain(fault, -ENOMEM, name, "out of memory");
        relation->hz =
            (uint64_t)narrow((wide)relation->rate_ticks * SECOND / (wide)relation->rate_ns);
    } else {
        relation->rate_ns = SECOND;
        relation->rate_ticks = narrow(hz);
        relation->rate_ppm = relation->wander_ppm ? RELATION_DRIFT_PPM : 0;
    }
    if (relation->hz == 0)
        return fault_plain(fault, -EINVAL, name,
                           relation->n > 1
                               ? "the clocks run apart at a rate that no clocks do"
                               : "holds a single pair, which tells no rate, and no other is known");
    hold_to_all(relation);
    return 0;
}

int relation_make(struct relation *relation, const char *name, uint64_t hz, struct fault *fault)
{
    if (relation->n_told == 0)
        return fault_plain(fault, -EINVAL, name, "holds no pairs: nothing relates the clocks");
    relation->pairs = malloc(relation->n_told * sizeof *relation->pairs);
    if (!relation->pairs)
        return fault_plain(fault, -ENOMEM, name, "out of memory");
    relation->wander_ppm = RELATION_WANDER_PPM;
    relation->told_hz = hz;
    return make(relation, name, fault);
}

int relation_set_steady(struct relation *relation)
{
    relation->wander_ppm = 0;
    return make(relation, NULL, NULL);
}

int relation_copy(const struct relation *relation, struct relation *ret_relation)
{
    struct relation copy = *relation;

    copy.told = malloc(relation->n_told * sizeof *copy.told);
    copy.pairs = malloc(relation->n_told * sizeof *copy.pairs);
    if (!copy.told || !copy.pairs) {
        relation_done(&copy);
        return -ENOMEM;
    }
    memcpy(copy.told, relation->told, relation->n_told * sizeof *copy.told);
    memcpy(copy.pairs, relation->pairs, relation->n * sizeof *copy.pairs);
    *ret_relation = copy;
    return 0;
}

void relation_done(struct relation *relation)
{
    free(relation->pairs);
    free(relation->told);
    *relation = (struct relation){0};
}

/* ---- From a relation to times ---- */

/* From the pair EDGE out, at the usual rate: the time rounded down. */
static int64_t outside(const struct relation *relation, const struct relation_pair *edge,
                       int64_t ticks, int64_t *ret_error)
{
    wide away = (wide)ticks - edge->ticks;
    wide far = away < 0 ? -away : away;
    wide ns = far * relation->rate_ns / relation->rate_ticks;
    wide error = far * relation->rate_error_ns / relation->rate_ticks +
                 ppm(narrow(ns + 1), (int64_t)relation->rate_ppm);

    *ret_error = narrow(error + edge->error_ns + relation->set_back_ns + ROUNDED);
    if (*ret_error > ERROR_MAX)
        *ret_error = INT64_MAX;
    return narrow(away < 0 ? edge->host_ns - ns - 1 : edge->host_ns + ns);
}

/* The rate A / B, times two to the *RET_SHIFT, which is as large as can be. */
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

/* The bound's line in PIECE, which begins with what it is there: by SLOPE / (SPAN * a million) a tick. */
static void set_error(struct relation_piece *piece, wide slope, wide span)
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

/* The half of the way from A to B in which TICKS are: up to the middle the bound's wander grows, from there on it
 * shrinks. */
static void find_between(const struct relation *relation, const struct relation_pair *a,
                         const struct relation_pair *b, int64_t ticks, struct relation_piece *piece)
{
    wide span = (wide)b->ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    int64_t middle = (int64_t)(a->ticks + (span + 1) / 2);
    bool second = ticks >= middle;

    piece->from = second ? middle : a->ticks;
    piece->len = (uint64_t)((second ? b->ticks : middle) - piece->from);
    piece->host_ns = between(relation, a, b, piece->from, &piece->error_ns);
    piece->rate = make_rate(ns, span, false, &piece->shift);
    set_error(piece,
              ((wide)b->error_ns - a->error_ns) * MILLION +
                  (second ? -1 : 1) * ns * relation->wander_ppm,
              span);
}

/* As far out as the numbers reach, which nearly always is far enough. */
static void find_outside(const struct relation *relation, bool behind, int64_t ticks,
                         struct relation_piece *piece)
{
    const struct relation_pair *edge = &relation->pairs[behind ? relation->n - 1 : 0];
    wide slope =
        (wide)relation->rate_error_ns * MILLION + (wide)relation->rate_ns * relation->rate_ppm;

    piece->rate = make_rate(relation->rate_ns, relation->rate_ticks, false, &piece->shift);
    piece->len = (uint64_t)1 << MIN(piece->shift, 61);
    for (; piece->len > 1; piece->len /= 2) {
        int64_t error;

        (void)outside(
            relation, edge,
            behind ? edge->ticks + (int64_t)piece->len : edge->ticks - (int64_t)piece->len, &error);
        if (error <= ERROR_MAX)
            break;
    }
    piece->from = behind ? edge->ticks : edge->ticks - (int64_t)piece->len;
    if (!relation_piece_holds(piece, ticks)) {
        piece->from = ticks;
        piece->len = 1;
    }
    piece->host_ns = outside(relation, edge, piece->from, &piece->error_ns);
    set_error(piece, behind ? slope : -slope, relation->rate_ticks);
}

void relation_find(const struct relation *relation, int64_t ticks, struct relation_piece *ret_piece)
{
    const struct relation_pair *pairs = relation->pairs;
    unsigned low = 0, high = relation->n - 1;

    if (ticks < pairs[0].ticks || ticks >= pairs[high].ticks) {
        find_outside(relation, ticks >= pairs[high].ticks, ticks, ret_piece);
        return;
    }
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;

        if (pairs[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    find_between(relation, &pairs[low], &pairs[low + 1], ticks, ret_piece);
}

int64_t relation_convert(const struct relation *relation, int64_t ticks, int64_t *ret_error_ns)
{
    struct relation_piece piece;
    int64_t error;
    int64_t time;

    relation_find(relation, ticks, &piece);
    time = relation_piece_convert(&piece, ticks, &error);
    if (ret_error_ns)
        *ret_error_ns = error;
    return time;
}

/* Bounds are the widest at pairs, in the middle between two, and where the ticks end. */
int64_t relation_bound(const struct relation *relation, int64_t from, int64_t to)
{
    int64_t most, error;

    (void)relation_convert(relation, from, &most);
    (void)relation_convert(relation, to, &error);
    most = MAX(most, error);
    for (unsigned i = 0; i < relation->n; i++) {
        const struct relation_pair *pair = &relation->pairs[i];
        int64_t middle =
            i + 1 < relation->n ? pair->ticks + (pair[1].ticks - pair->ticks + 1) / 2 : from;

        if (pair->ticks >= from && pair->ticks <= to) {
            (void)relation_convert(relation, pair->ticks, &error);
            most = MAX(most, error);
        }
        if (middle >= from && middle <= to) {
            (void)relation_convert(relation, middle, &error);
            most = MAX(most, error);
        }
    }
    return most;
}
