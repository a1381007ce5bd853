/* SPDX-License-Identifier: MIT */
#include "timeline/relation.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/macro.h"

/* Ten hours of pairs are 2 MB. */
#define FILE_MAX ((size_t)1 << 30)
#define PAIRS_MAX 20000000u
#define SECOND INT64_C(1000000000)
/* Products of two such, and of a time and one, fit in 128 bits. */
#define NUMBER_MAX_VALUE (INT64_MAX / 2)

/* What times told by a piece may be too small by: the start of the piece and the time in it are rounded down,
 * and so is its rate. */
#define ROUNDED 4
/* Bounds beyond this, of 73 years, are told as endless. */
#define ERROR_MAX ((int64_t)1 << 61)
#define MILLION 1000000

__extension__ typedef __int128 wide;

static int64_t narrow(wide v)
{
    if (v > INT64_MAX)
        return INT64_MAX;
    return v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}

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

/* Leaves out pairs that those around them tell better. */
static void choose(struct relation *relation)
{
    struct relation_pair *pairs = relation->pairs;
    unsigned kept = 0;

    for (unsigned i = 0; i < relation->n; i++) {
        int64_t error;

        if (kept > 0 && i + 1 < relation->n) {
            (void)between(relation, &pairs[kept - 1], &pairs[i + 1], pairs[i].ticks, &error);
            if (error < pairs[i].error_ns)
                continue;
        }
        pairs[kept++] = pairs[i];
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
        if (last == 1 && hz != 0)
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
    relation->told_hz = hz;
    /* The first time by what two pairs next to each other tell; then smaller jumps are seen. */
    note_jumps(relation, hz);
    note_jumps(relation, hz);
    return 0;
}

static int finish(struct relation *relation, const char *name, uint64_t hz, struct fault *fault)
{
    if (relation->n == 0)
        return fault_plain(fault, -EINVAL, name, "holds no pairs: nothing relates the clocks");
    for (unsigned i = 0; i < relation->n; i++)
        relation->pairs[i].jump_ns = 0;
    relation->n_told = relation->n;
    relation->wander_ppm = RELATION_WANDER_PPM;
    choose(relation);
    relation->hz = hz;
    if (relation->n > 1) {
        if (find_rate(relation, hz) < 0)
            return fault_plain(fault, -ENOMEM, name, "out of memory");
        relation->hz =
            (uint64_t)narrow((wide)relation->rate_ticks * SECOND / (wide)relation->rate_ns);
    } else {
        relation->rate_ns = SECOND;
        relation->rate_ticks = narrow(hz);
        relation->rate_ppm = RELATION_DRIFT_PPM;
    }
    if (relation->hz == 0)
        return fault_plain(fault, -EINVAL, name,
                           relation->n > 1
                               ? "the clocks run apart at a rate that no clocks do"
                               : "holds a single pair, which tells no rate, and no other is known");
    return 0;
}

static const char *get_number(const char *p, const char *end, int64_t *ret)
{
    int64_t v = 0;
    const char *start;

    while (p < end && *p == ' ')
        p++;
    for (start = p; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v) ||
            v > NUMBER_MAX_VALUE)
            return NULL;
    *ret = v;
    return p > start ? p : NULL;
}

static bool get_pair(const char *p, const char *end, struct relation_pair *ret)
{
    p = get_number(p, end, &ret->host_ns);
    if (p)
        p = get_number(p, end, &ret->ticks);
    if (p)
        p = get_number(p, end, &ret->error_ns);
    return p == end;
}

static int add_pair(struct relation *relation, unsigned *capacity, const struct relation_pair *pair)
{
    if (!relation->pairs || relation->n == *capacity) {
        unsigned more = MAX(*capacity * 2, 64u);
        struct relation_pair *bigger = realloc(relation->pairs, more * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        relation->pairs = bigger;
        *capacity = more;
    }
    relation->pairs[relation->n++] = *pair;
    return 0;
}

/* PAIR tells ticks that there were before: at the host's time of the last pair with fewer, or later. Up to PAIR's
 * time they may mean any of both. */
static void note_set_back(struct relation *relation, const struct relation_pair *pair)
{
    const struct relation_pair *before = relation->pairs;

    for (unsigned i = relation->n; i-- > 0;) {
        if (relation->pairs[i].ticks <= pair->ticks) {
            before = &relation->pairs[i];
            break;
        }
    }
    relation->set_back_ns =
        MAX(relation->set_back_ns, narrow((wide)pair->host_ns + pair->error_ns - before->host_ns));
}

int relation_parse(const char *text, size_t len, const char *name, uint64_t hz,
                   struct relation *ret_relation, struct fault *fault)
{
    struct relation relation = {0};
    const char *end = text + len;
    int64_t last = 0; /* of the host's times */
    unsigned capacity = 0;
    uint32_t line = 0;
    int r = 0;

    while (text < end && r == 0) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct relation_pair pair = {0};

        line++;
        if (!stop)
            break; /* cut off while it was written */
        if (*text == '#' || stop == text) {
            text = stop + 1;
            continue;
        }
        if (!get_pair(text, stop, &pair))
            r = fault_line(fault, -EINVAL, name, line, "is not a pair of clocks: three numbers");
        else if (relation.n > 0 && pair.host_ns <= last)
            r = fault_line(fault, -EINVAL, name, line, "the host's clock steps back");
        else if (relation.n == PAIRS_MAX)
            r = fault_line(fault, -EFBIG, name, line, "more pairs than can be");
        else if (relation.n > 0 && pair.ticks <= relation.pairs[relation.n - 1].ticks)
            note_set_back(&relation, &pair);
        else if (add_pair(&relation, &capacity, &pair) < 0)
            r = fault_plain(fault, -ENOMEM, name, "out of memory");
        last = pair.host_ns;
        text = stop + 1;
    }
    if (r == 0)
        r = finish(&relation, name, hz, fault);
    if (r < 0) {
        relation_done(&relation);
        return r;
    }
    *ret_relation = relation;
    return 0;
}

int relation_of_pairs(const struct relation_pair *pairs, unsigned n, const char *name, uint64_t hz,
                      struct relation *ret_relation, struct fault *fault)
{
    struct relation relation = {.n = n, .pairs = calloc(n + 1, sizeof *pairs)};
    int r = 0;

    if (!relation.pairs)
        return fault_plain(fault, -ENOMEM, name, "out of memory");
    for (unsigned i = 0; i < n && r == 0; i++) {
        relation.pairs[i] = pairs[i];
        if (MAX(MAX(pairs[i].host_ns, pairs[i].ticks), pairs[i].error_ns) > NUMBER_MAX_VALUE ||
            MIN(MIN(pairs[i].host_ns, pairs[i].ticks), pairs[i].error_ns) < 0)
            r = fault_plain(fault, -EINVAL, name, "the clocks are out of range");
        else if (i > 0 &&
                 (pairs[i].ticks <= pairs[i - 1].ticks || pairs[i].host_ns <= pairs[i - 1].host_ns))
            r = fault_plain(fault, -EINVAL, name, "the clocks step back");
    }
    if (r == 0)
        r = finish(&relation, name, hz, fault);
    if (r < 0)
        relation_done(&relation);
    else
        *ret_relation = relation;
    return r;
}

int relation_read(const char *path, uint64_t hz, struct relation *ret_relation, struct fault *fault)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    struct stat st;
    int r;

    if (fd < 0)
        return fault_plain(fault, -errno, path, "cannot open it: %s", strerror(errno));
    if (fstat(fd, &st) < 0)
        r = fault_plain(fault, -errno, path, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
        r = fault_plain(fault, -EINVAL, path, "is not a file of pairs of clocks");
    else
        r = input_read_file(fd, (size_t)st.st_size, path, &text, &len, fault);
    close(fd);
    return r < 0 ? r : relation_parse(text, len, path, hz, ret_relation, fault);
}

int relation_set_steady(struct relation *relation)
{
    relation->wander_ppm = 0;
    if (relation->n > 1)
        return find_rate(relation, relation->told_hz);
    relation->rate_ppm = 0;
    return 0;
}

void relation_done(struct relation *relation)
{
    free(relation->pairs);
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
