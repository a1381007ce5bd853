/* SPDX-License-Identifier: MIT */
/* Clocks related by what both saw (timeline/clock_fit.h), and which of what both saw is the same
 * (timeline/event_match.h). */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "random.h"
#include "timeline/clock_fit.h"
#include "timeline/event_match.h"

/* A way that takes FASTEST ns at the least, mostly little more, and now and then a lot. */
static double way(double fastest)
{
    double jitter = -log(1 - random_part()) * fastest / 2;

    return fastest + jitter + (random_part() < 0.02 ? fastest * 100 * random_part() : 0);
}

/* A clock: its ticks at a time of the reference. */
struct simulated {
    double hz, drift, wander, period, start;
};

static int64_t ticks_at(const struct simulated *clock, double ns)
{
    /* Rates swing by `wander` to either side. */
    double swing =
        clock->wander * clock->period / (2 * M_PI) * (1 - cos(2 * M_PI * ns / clock->period));

    return (int64_t)(clock->start + clock->hz * 1e-9 * (ns * (1 + clock->drift) + swing));
}

#define BASE INT64_C(5572000000000)

/* N marks within SECONDS, sorted by nothing: of ORDER, or of both in turn where that is CLOCK_FIT_ANY_ORDER and BOTH. */
static void make_marks(const struct simulated *clock, struct clock_fit_mark *marks, size_t n,
                       double seconds, double fastest, bool both, enum clock_fit_order order)
{
    for (size_t i = 0; i < n; i++) {
        double sent = random_part() * seconds * 1e9;
        double came = sent + way(fastest);
        enum clock_fit_order way_of = !both   ? order
                                      : i % 3 ? CLOCK_FIT_REFERENCE_FIRST
                                              : CLOCK_FIT_REFERENCE_LAST;
        bool first = way_of != CLOCK_FIT_REFERENCE_LAST;

        marks[i] = (struct clock_fit_mark){
            .ns = BASE + (int64_t)floor(first ? sent : came),
            .ticks = ticks_at(clock, first ? came : sent),
            .order = way_of,
            .error_ns = 1, /* both are cut to whole numbers */
        };
    }
}

/* How wrong times told by SYNC are over SECONDS, a second more on either side; fails where that is more than it
 * says, when CHECKED. */
static double worst(const struct simulated *clock, const struct clock_fit *sync, uint64_t hz,
                    double seconds, bool checked)
{
    struct clock_map clock_map;
    struct error error = {0};
    double most = 0;

    if (clock_map_of_pairs(sync->pairs, sync->n_pairs, "pairs", hz, &clock_map, &error) < 0)
        fail_msg("%s", error.what);

    for (unsigned i = 0; i < 2000; i++) {
        double ns = (random_part() * (seconds + 2) - 1) * 1e9;
        int64_t err = 0;
        int64_t told = clock_map_convert(&clock_map, ticks_at(clock, ns), &err);
        double off = fabs((double)(told - BASE) - ns);

        if (checked && off > (double)err + 2e9 / clock->hz)
            fail_msg("at %.0f ns it is wrong by %.0f ns, and says at most %lld", ns, off,
                     (long long)err);
        most = MAX(most, off);
    }
    clock_map_done(&clock_map);
    return most;
}

static const struct simulated clocks[] = {
    {1e9, 0, 0, 1e9, 4e9},
    {1e9, 31e-6, 0, 1e9, 4e9},
    {1e9, -400e-6, 5e-6, 20e9, 1e12},
    {2.4e9, 12e-6, 10e-6, 60e9, 7e12},
    {1e6, 3e-6, 3e-6, 7e9, 1e7},
    {2.4e9, -90e-6, 9e-6, 3e9, 7e15},
};

static void bounds_hold(void **state)
{
    for (size_t c = 0; c < ARRAY_SIZE(clocks); c++) {
        for (unsigned round = 0; round < 12; round++) {
            static const size_t counts[] = {2, 3, 10, 100, 1000, 3000};
            static const double times[] = {0.05, 2, 40};
            size_t n = counts[round % ARRAY_SIZE(counts)];
            double seconds = times[round % ARRAY_SIZE(times)];
            bool known = round % 2 == 0;
            struct clock_fit_mark marks[3000];
            struct error error = {0};
            struct clock_fit sync;

            make_marks(&clocks[c], marks, n, seconds, 5000, true, CLOCK_FIT_ANY_ORDER);
            /* Some belong to something else: they claim a lot, and wrongly. */
            for (size_t i = 0; n >= 100 && round >= 6 && i < 6; i++)
                marks[i * 11].ns += (i % 2 ? 1 : -1) * (int64_t)(3e7 * (double)(i + 1));
            if (clock_fit_find(marks, n, known ? (uint64_t)clocks[c].hz : 0, &sync, &error) < 0)
                fail_msg("%zu %u: %s", c, round, error.what);
            if (known)
                assert_int_equal(sync.kind, CLOCK_FIT_ERROR_BOUND);
            if (sync.kind == CLOCK_FIT_ERROR_BOUND)
                (void)worst(&clocks[c], &sync, (uint64_t)clocks[c].hz, seconds, true);
            /* Many marks bound well: not much more than the ways take. */
            if (n >= 1000 && sync.kind == CLOCK_FIT_ERROR_BOUND)
                assert_true(sync.least_ns < 12000);
            clock_fit_done(&sync);
        }
    }
}

/* With marks of no order, or of one: what cannot be seen is the shortest way. */
static void lines_are_near(void **state)
{
    for (size_t c = 0; c < ARRAY_SIZE(clocks); c++) {
        for (unsigned round = 0; round < 9; round++) {
            static const enum clock_fit_order orders[] = {
                CLOCK_FIT_ANY_ORDER, CLOCK_FIT_REFERENCE_FIRST, CLOCK_FIT_REFERENCE_LAST};
            static const double times[] = {0.5, 5, 60};
            enum clock_fit_order order = orders[round % 3];
            double seconds = times[round / 3];
            struct clock_fit_mark marks[1000];
            struct error error = {0};
            struct clock_fit sync;

            make_marks(&clocks[c], marks, 1000, seconds, 5000, false, order);
            /* Five belong to something else. */
            for (unsigned i = 0; i < 5; i++)
                marks[i * 7].ns += (int64_t)(1e8 * (i + 1));
            if (clock_fit_find(marks, 1000, (uint64_t)clocks[c].hz, &sync, &error) < 0)
                fail_msg("%zu %u: %s", c, round, error.what);
            assert_int_equal(sync.kind, order == CLOCK_FIT_ANY_ORDER ? CLOCK_FIT_ERROR_SPREAD
                                                                     : CLOCK_FIT_ERROR_ONE_WAY);
            assert_true(sync.n_outside <= 60);
            if (order != CLOCK_FIT_REFERENCE_LAST)
                assert_true(sync.n_outside >= 5);
            assert_true(sync.outside_ns >= 90000000 || order == CLOCK_FIT_REFERENCE_LAST);
            assert_true(worst(&clocks[c], &sync, (uint64_t)clocks[c].hz, seconds, false) <
                        (double)sync.most_ns + 15000 + 30e3);
            if (sync.rate_measured)
                assert_true(fabs(sync.drift_ppm + clocks[c].drift * 1e6) < 25);
            clock_fit_done(&sync);
        }
    }
}

static void long_recordings_bend(void **state)
{
    /* Ten minutes of a clock whose rate swings: a line is wrong by ms, one in pieces is not. */
    static const struct simulated clock = {1e9, 20e-6, 8e-6, 600e9, 4e9};
    struct clock_fit_mark *marks = calloc(20000, sizeof *marks);
    struct error error = {0};
    struct clock_fit sync;

    make_marks(&clock, marks, 20000, 600, 5000, false, CLOCK_FIT_ANY_ORDER);
    assert_int_equal(clock_fit_find(marks, 20000, 1000000000, &sync, &error), 0);
    assert_true(sync.n_pairs > 100);
    assert_true(sync.most_ns < 700000);
    assert_true(worst(&clock, &sync, 1000000000, 600, false) < 50000);
    clock_fit_done(&sync);
    free(marks);
}

static void few_marks(void **state)
{
    struct clock_fit_mark one = {.ns = BASE, .ticks = 1000};
    struct clock_fit_mark two[] = {{.ns = BASE, .ticks = 1000},
                                   {.ns = BASE + 1000010, .ticks = 1001000}};
    struct clock_fit_mark three[] = {{.ns = BASE, .ticks = 1000},
                                     {.ns = BASE + 50020000, .ticks = 50001000},
                                     {.ns = BASE + 20000000000, .ticks = 20000001000}};
    struct error error = {0};
    struct clock_fit sync;

    assert_int_equal(clock_fit_find(&one, 1, 1000000000, &sync, &error), 0);
    assert_int_equal(sync.n_pairs, 1);
    assert_int_equal(sync.kind, CLOCK_FIT_ERROR_UNKNOWN);
    assert_false(sync.rate_measured);
    clock_fit_done(&sync);
    assert_int_equal(clock_fit_find(&one, 1, 0, &sync, &error), -EINVAL);
    assert_non_null(strstr(error.what, "--cpu-hz"));
    error_clear(&error);
    assert_int_equal(clock_fit_find(two, 2, 1000000000, &sync, &error), 0);
    assert_int_equal(sync.n_pairs, 2);
    assert_int_equal(sync.kind, CLOCK_FIT_ERROR_UNKNOWN);
    assert_true(sync.rate_measured && fabs(sync.drift_ppm - 10) < 0.1);
    clock_fit_done(&sync);
    assert_int_equal(clock_fit_find(two, 2, 0, &sync, &error), 0);
    assert_true(fabs(sync.ns_per_tick - 1.00001) < 1e-9);
    clock_fit_done(&sync);
    /* The far one tells the rate, and near ones no nonsense of it. */
    assert_int_equal(clock_fit_find(three, 3, 1000000000, &sync, &error), 0);
    assert_int_equal(sync.n_outside, 0);
    assert_int_equal(sync.kind, CLOCK_FIT_ERROR_SPREAD);
    assert_true(sync.rate_measured && fabs(sync.drift_ppm) < 5);
    assert_true(sync.most_ns < 30000);
    clock_fit_done(&sync);
    assert_int_equal(clock_fit_find(NULL, 0, 0, &sync, &error), -EINVAL);
}

static void contradictions(void **state)
{
    struct clock_fit_mark marks[100];
    struct error error = {0};
    struct clock_fit sync;

    /* They belong to other things. */
    for (size_t i = 0; i < 100; i++)
        marks[i] = (struct clock_fit_mark){.ns = BASE + (int64_t)(random_part() * 1e9),
                                           .ticks = (int64_t)(random_part() * 1e9)};
    assert_int_equal(clock_fit_find(marks, 100, 1000000000, &sync, &error), -EINVAL);
    assert_non_null(strstr(error.what, "contradict"));
    error_clear(&error);
    /* They came before they were sent. */
    for (size_t i = 0; i < 100; i++)
        marks[i] = (struct clock_fit_mark){.ns = BASE + (int64_t)i * 1000000,
                                           .ticks = (int64_t)i * 1000000 + (i % 2 ? 5000 : -5000),
                                           .order = i % 2 ? CLOCK_FIT_REFERENCE_LAST
                                                          : CLOCK_FIT_REFERENCE_FIRST};
    for (size_t i = 0; i < 100; i++)
        marks[i].ticks += 1000000;
    assert_int_equal(clock_fit_find(marks, 100, 1000000000, &sync, &error), -EINVAL);
    assert_non_null(strstr(error.what, "contradict"));
}

/* ---- Marks in any number and any ways, against an exact evaluation ---- */

#ifdef __SIZEOF_INT128__ /* whose numbers this takes */

#define EXACT_MARKS 24
#define ROUNDS 4000
/* Rates are taken in whole parts of 1e12: the products below fit in 128 bits. */
#define EXACT_UNIT INT64_C(1000000000000)

/* The offset that MARK is a bound of, less what RATE (ns a tick, in EXACT_UNIT) makes of its ticks; in
 * EXACT_UNIT. */
static __int128 exact_height(const struct clock_fit_mark *mark, int64_t rate)
{
    int64_t ns = mark->ns - BASE +
                 (mark->order == CLOCK_FIT_REFERENCE_FIRST ? -mark->error_ns : mark->error_ns);

    return (__int128)ns * EXACT_UNIT - (__int128)mark->ticks * rate;
}

/* The largest height that marks of the one order allow at RATE, less the least that those of the other do. A line
 * of this rate fits all marks where it is not negative. */
static __int128 exact_room(const struct clock_fit_mark *marks, size_t n, int64_t rate)
{
    bool first = true, last = true;
    __int128 least = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        __int128 height = exact_height(&marks[i], rate);

        if (marks[i].order == CLOCK_FIT_REFERENCE_FIRST && (first || height > least))
            least = height, first = false;
        if (marks[i].order == CLOCK_FIT_REFERENCE_LAST && (last || height < most))
            most = height, last = false;
    }
    return first || last ? 0 : most - least;
}

/* A way from 10 ns to 100 ms, each size as likely. */
static double any_way(void)
{
    return pow(10, 1 + 7 * random_part());
}

/* N marks of a clock of which a tick is DRIFT_PPM longer than a ns, some with times that are known to a us alone. */
static void make_any(struct clock_fit_mark *marks, size_t n, int drift_ppm, bool both)
{
    double seconds = pow(10, -5 + 7 * random_part());
    double slowest = random_part() < 0.5 ? any_way() : 0;
    /* In one order alone, ways that grow evenly are a clock of another rate. */
    bool grows = both && random_part() < 0.3;
    int64_t step = random_part() < 0.3 ? 1000 : 1;
    unsigned one = random_part() < 0.5;

    for (size_t i = 0; i < n; i++) {
        double sent = random_part() * seconds * 1e9;
        double way_ns = grows ? slowest * sent / (seconds * 1e9) : random_part() * slowest;
        double came = sent + (slowest > 0 ? way_ns : any_way());
        bool first = both ? (i < 2 ? i == 0 : random_part() < 0.5) : one;
        double clock_ns = first ? came : sent;

        marks[i] = (struct clock_fit_mark){
            .ns = BASE + (int64_t)floor(first ? sent : came) / step * step,
            .ticks = (int64_t)(1e9 + clock_ns / (1 + drift_ppm * 1e-6)),
            .order = first ? CLOCK_FIT_REFERENCE_FIRST : CLOCK_FIT_REFERENCE_LAST,
            .error_ns = step + 1,
        };
    }
}

static void fail_marks(const struct clock_fit_mark *marks, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        print_error("%c ns %lld ticks %lld error %lld\n",
                    marks[i].order == CLOCK_FIT_REFERENCE_FIRST ? '<' : '>',
                    (long long)(marks[i].ns - BASE), (long long)marks[i].ticks,
                    (long long)marks[i].error_ns);
    fail_msg("%s", what);
}

/* Whether a rate of whole ppm within CLOCK_MAP_DRIFT_PPM of 1 fits all marks. */
static bool exact_fits(const struct clock_fit_mark *marks, size_t n)
{
    for (int ppm = -CLOCK_MAP_DRIFT_PPM; ppm <= CLOCK_MAP_DRIFT_PPM; ppm++)
        if (exact_room(marks, n, EXACT_UNIT + ppm * (EXACT_UNIT / 1000000)) >= 0)
            return true;
    return false;
}

/* The bound at the time of each mark holds all lines that fit the marks. */
static void check_against_exact(const struct clock_fit *sync, const struct clock_fit_mark *marks,
                                size_t n)
{
    struct clock_map clock_map;
    struct error error = {0};

    if (clock_map_of_pairs(sync->pairs, sync->n_pairs, "pairs", 1000000000, &clock_map, &error) < 0)
        fail_marks(marks, n, error.what);
    for (int ppm = -CLOCK_MAP_DRIFT_PPM; ppm <= CLOCK_MAP_DRIFT_PPM; ppm += 20) {
        int64_t rate = EXACT_UNIT + ppm * (EXACT_UNIT / 1000000);
        __int128 room = exact_room(marks, n, rate);
        __int128 least = 0;
        bool any = false;

        if (room < 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (marks[i].order == CLOCK_FIT_REFERENCE_FIRST) {
                __int128 height = exact_height(&marks[i], rate);

                least = !any || height > least ? height : least;
                any = true;
            }
        for (size_t i = 0; i < n; i++) {
            int64_t err;
            int64_t at = clock_map_convert(&clock_map, marks[i].ticks, &err) - BASE;
            __int128 low = ((__int128)marks[i].ticks * rate + least) / EXACT_UNIT;
            __int128 high = ((__int128)marks[i].ticks * rate + least + room) / EXACT_UNIT;

            if (low < at - err - 2 || high > at + err + 2)
                fail_marks(marks, n, "a line that fits all marks is outside of the bound");
        }
    }
    clock_map_done(&clock_map);
}

static void consistent_marks(void **state)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct clock_fit_mark marks[EXACT_MARKS];
        size_t n = 2 + (size_t)(random_part() * (EXACT_MARKS - 2));
        bool both = round % 4 > 0, known = round % 8 < 6;
        int drift_ppm = round % 3 ? (int)((random_part() - 0.5) * 800) : 0;
        struct error error = {0};
        struct clock_fit sync;

        make_any(marks, n, drift_ppm, both);
        assert_true(exact_fits(marks, n));
        if (clock_fit_find(marks, n, known ? 1000000000 : 0, &sync, &error) < 0) {
            if (known || strstr(error.what, "contradict"))
                fail_marks(marks, n, error.what);
            error_clear(&error);
            continue;
        }
        if (both && known) {
            assert_int_equal(sync.kind, CLOCK_FIT_ERROR_BOUND);
            check_against_exact(&sync, marks, n);
        }
        clock_fit_done(&sync);
    }
}

/* Marks that no line fits, not even one of which the rate wanders, are refused. */
static void inconsistent_marks(void **state)
{
    unsigned refused = 0;

    for (unsigned round = 0; round < 1000; round++) {
        struct clock_fit_mark marks[4];
        size_t n = ARRAY_SIZE(marks);
        struct error error = {0};
        struct clock_fit sync;
        int64_t most = 0;

        make_any(marks, n, 0, true);
        for (size_t i = 0; i < n; i++)
            most = MAX(most, marks[i].ticks - 1000000000);
        /* The one says more than the other allows by far more than rates explain. */
        for (size_t i = 0; i < n; i++)
            if (marks[i].order == CLOCK_FIT_REFERENCE_FIRST)
                marks[i].ns += 300000000 + most / 50;
        if (exact_fits(marks, n))
            continue;
        assert_int_equal(clock_fit_find(marks, n, 1000000000, &sync, &error), -EINVAL);
        assert_non_null(strstr(error.what, "contradict"));
        error_clear(&error);
        refused++;
    }
    assert_true(refused > 900);
}

#endif

/* A clock that was said to have another rate: far more marks than one on one line. */
static void wrong_rate(void **state)
{
    static const enum clock_fit_order orders[] = {CLOCK_FIT_ANY_ORDER, CLOCK_FIT_REFERENCE_FIRST,
                                                  CLOCK_FIT_REFERENCE_LAST};

    for (size_t i = 0; i <= ARRAY_SIZE(orders); i++) {
        struct simulated clock = {2.6e9, 0, 0, 1e9, 4e9};
        struct clock_fit_mark marks[100];
        struct error error = {0};
        struct clock_fit sync;

        make_marks(&clock, marks, 100, 10, 5000, i == ARRAY_SIZE(orders),
                   orders[i % ARRAY_SIZE(orders)]);
        assert_int_equal(clock_fit_find(marks, 100, 2400000000, &sync, &error), -EINVAL);
        assert_non_null(strstr(error.what, "drift by -76923 ppm"));
        error_clear(&error);
    }
}

static char words[4000][24];

/* What N things are seen as, by a clock that is OFF later. */
static void make_side(struct occurrence *items, const double *times, size_t n, double off,
                      double jitter)
{
    for (size_t i = 0; i < n; i++) {
        snprintf(words[i], sizeof words[i], "%zu", i);
        items[i] = (struct occurrence){.time = (int64_t)(times[i] + off + jitter * random_part()),
                                       .text = words[i],
                                       .len = (uint32_t)strlen(words[i])};
    }
}

/* Takes out a part of the N items. */
static size_t lose(struct occurrence *items, size_t n, double part)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (random_part() >= part)
            items[kept++] = items[i];
    return kept;
}

/* How many matches are of the same thing. */
static size_t count_right(const struct event_matches *matches, const struct occurrence *a,
                          const struct occurrence *b)
{
    size_t right = 0;

    for (size_t i = 0; i < matches->n; i++)
        right += a[matches->items[i].a].text == b[matches->items[i].b].text;
    return right;
}

static void matching(void **state)
{
    static double times[2000];
    static struct occurrence a[2000], b[2000];
    struct occurrences left = {a, 0, 1000000000}, right = {b, 0, 1000000000};
    double now = 1e9;

    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        times[i] = now;
        now += 1000000 * (0.1 - log(1 - random_part()));
    }
    for (unsigned round = 0; round < 6; round++) {
        double part = round % 3 * 0.05;
        struct error error = {0};
        struct event_matches matches;
        size_t both;

        make_side(a, times, 2000, 0, 0);
        make_side(b, times, 2000, 3e12, 20000);
        left.n = lose(a, 2000, part);
        right.n = lose(b, 2000, part);
        both = (size_t)(2000 * (1 - part) * (1 - part));
        if (event_match_find(&left, &right, round < 3 ? MATCH_BY_TEXTS : MATCH_NO_TEXTS, &matches,
                             &error) < 0)
            fail_msg("%u: %s", round, error.what);
        assert_int_equal(matches.by, round < 3  ? MATCHED_BY_TEXT
                                     : part > 0 ? MATCHED_BY_INTERVALS
                                                : MATCHED_IN_ORDER);
        assert_true(matches.n > both * 9 / 10);
        assert_true(count_right(&matches, a, b) >= matches.n * (round < 3 ? 100 : 97) / 100);
        event_matches_done(&matches);
    }
}

static void no_match(void **state)
{
    static double times[100];
    static struct occurrence a[100], b[100];
    struct occurrences left = {a, 100, 1000000000}, right = {b, 100, 1000000000};
    struct error error = {0};
    struct event_matches matches;

    /* A beat, of which some are missing. */
    for (size_t i = 0; i < 100; i++)
        times[i] = (double)i * 1e6;
    make_side(a, times, 100, 0, 10);
    make_side(b, times, 100, 3e12, 10);
    right.n = 60;
    assert_int_equal(event_match_find(&left, &right, MATCH_NO_TEXTS, &matches, &error), -EINVAL);
    assert_non_null(strstr(error.what, "regular"));
    error_clear(&error);
    assert_int_equal(event_match_find(&left, &right, MATCH_TEXTS_EQUAL, &matches, &error), 0);
    assert_int_equal(matches.by, MATCHED_BY_TEXT);
    assert_int_equal(matches.n, 60);
    event_matches_done(&matches);
    /* Others. */
    for (size_t i = 0; i < 100; i++)
        b[i].time = (int64_t)(random_part() * 1e6 + (double)i * 3e6);
    assert_int_equal(event_match_find(&left, &right, MATCH_NO_TEXTS, &matches, &error), -EINVAL);
    assert_non_null(strstr(error.what, "do not belong"));
    error_clear(&error);
    for (size_t i = 0; i < 100; i++)
        b[i].text = "x", b[i].len = 1;
    assert_int_equal(event_match_find(&left, &right, MATCH_BY_TEXTS, &matches, &error), -EINVAL);
    assert_non_null(strstr(error.what, "text"));
    error_clear(&error);
    left.hz = 0;
    assert_int_equal(event_match_find(&left, &right, MATCH_NO_TEXTS, &matches, &error), -EINVAL);
    assert_non_null(strstr(error.what, "--cpu-hz"));
    error_clear(&error);
    left.n = 0;
    assert_int_equal(event_match_find(&left, &right, MATCH_NO_TEXTS, &matches, &error), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(lines_are_near),
        cmocka_unit_test(long_recordings_bend),
        cmocka_unit_test(few_marks),
        cmocka_unit_test(contradictions),
#ifdef __SIZEOF_INT128__
        cmocka_unit_test(consistent_marks),
        cmocka_unit_test(inconsistent_marks),
#endif
        cmocka_unit_test(wrong_rate),
        cmocka_unit_test(matching),
        cmocka_unit_test(no_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
