/* SPDX-License-Identifier: MIT */
/* Clocks related by what both saw (timeline/sync.h), and which of what both saw is the same
 * (timeline/match.h). */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "random.h"
#include "timeline/match.h"
#include "timeline/sync.h"

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

/* N marks within SECONDS, sorted by nothing: of ORDER, or of both in turn where that is SYNC_ANY_ORDER and BOTH. */
static void make_marks(const struct simulated *clock, struct sync_mark *marks, size_t n,
                       double seconds, double fastest, bool both, enum sync_order order)
{
    for (size_t i = 0; i < n; i++) {
        double sent = random_part() * seconds * 1e9;
        double came = sent + way(fastest);
        enum sync_order way_of = !both ? order : i % 3 ? SYNC_REFERENCE_FIRST : SYNC_REFERENCE_LAST;
        bool first = way_of != SYNC_REFERENCE_LAST;

        marks[i] = (struct sync_mark){
            .ns = BASE + (int64_t)floor(first ? sent : came),
            .ticks = ticks_at(clock, first ? came : sent),
            .order = way_of,
            .error_ns = 1, /* both are cut to whole numbers */
        };
    }
}

/* How wrong times told by SYNC are over SECONDS, a second more on either side; fails where that is more than it
 * says, when CHECKED. */
static double worst(const struct simulated *clock, const struct sync *sync, uint64_t hz,
                    double seconds, bool checked)
{
    struct relation relation;
    struct fault fault = {0};
    double most = 0;

    if (relation_of_pairs(sync->pairs, sync->n_pairs, "pairs", hz, &relation, &fault) < 0)
        fail_msg("%s", fault.what);

    for (unsigned i = 0; i < 2000; i++) {
        double ns = (random_part() * (seconds + 2) - 1) * 1e9;
        int64_t error = 0;
        int64_t told = relation_convert(&relation, ticks_at(clock, ns), &error);
        double off = fabs((double)(told - BASE) - ns);

        if (checked && off > (double)error + 2e9 / clock->hz)
            fail_msg("at %.0f ns it is wrong by %.0f ns, and says at most %lld", ns, off,
                     (long long)error);
        most = MAX(most, off);
    }
    relation_done(&relation);
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
            struct sync_mark marks[3000];
            struct fault fault = {0};
            struct sync sync;

            make_marks(&clocks[c], marks, n, seconds, 5000, true, SYNC_ANY_ORDER);
            /* Some belong to something else: they claim a lot, and wrongly. */
            for (size_t i = 0; n >= 100 && round >= 6 && i < 6; i++)
                marks[i * 11].ns += (i % 2 ? 1 : -1) * (int64_t)(3e7 * (double)(i + 1));
            if (sync_relate(marks, n, known ? (uint64_t)clocks[c].hz : 0, &sync, &fault) < 0)
                fail_msg("%zu %u: %s", c, round, fault.what);
            if (known)
                assert_int_equal(sync.kind, SYNC_ERROR_BOUND);
            if (sync.kind == SYNC_ERROR_BOUND)
                (void)worst(&clocks[c], &sync, (uint64_t)clocks[c].hz, seconds, true);
            /* Many marks bound well: not much more than the ways take. */
            if (n >= 1000 && sync.kind == SYNC_ERROR_BOUND)
                assert_true(sync.least_ns < 12000);
            sync_done(&sync);
        }
    }
}

/* With marks of no order, or of one: what cannot be seen is the shortest way. */
static void lines_are_near(void **state)
{
    for (size_t c = 0; c < ARRAY_SIZE(clocks); c++) {
        for (unsigned round = 0; round < 9; round++) {
            static const enum sync_order orders[] = {SYNC_ANY_ORDER, SYNC_REFERENCE_FIRST,
                                                     SYNC_REFERENCE_LAST};
            static const double times[] = {0.5, 5, 60};
            enum sync_order order = orders[round % 3];
            double seconds = times[round / 3];
            struct sync_mark marks[1000];
            struct fault fault = {0};
            struct sync sync;

            make_marks(&clocks[c], marks, 1000, seconds, 5000, false, order);
            /* Five belong to something else. */
            for (unsigned i = 0; i < 5; i++)
                marks[i * 7].ns += (int64_t)(1e8 * (i + 1));
            if (sync_relate(marks, 1000, (uint64_t)clocks[c].hz, &sync, &fault) < 0)
                fail_msg("%zu %u: %s", c, round, fault.what);
            assert_int_equal(sync.kind,
                             order == SYNC_ANY_ORDER ? SYNC_ERROR_SPREAD : SYNC_ERROR_ONE_WAY);
            assert_true(sync.n_outside <= 60);
            if (order != SYNC_REFERENCE_LAST)
                assert_true(sync.n_outside >= 5);
            assert_true(sync.outside_ns >= 90000000 || order == SYNC_REFERENCE_LAST);
            assert_true(worst(&clocks[c], &sync, (uint64_t)clocks[c].hz, seconds, false) <
                        (double)sync.most_ns + 15000 + 30e3);
            if (sync.rate_measured)
                assert_true(fabs(sync.drift_ppm + clocks[c].drift * 1e6) < 25);
            sync_done(&sync);
        }
    }
}

static void long_recordings_bend(void **state)
{
    /* Ten minutes of a clock whose rate swings: a line is wrong by ms, one in pieces is not. */
    static const struct simulated clock = {1e9, 20e-6, 8e-6, 600e9, 4e9};
    struct sync_mark *marks = calloc(20000, sizeof *marks);
    struct fault fault = {0};
    struct sync sync;

    make_marks(&clock, marks, 20000, 600, 5000, false, SYNC_ANY_ORDER);
    assert_int_equal(sync_relate(marks, 20000, 1000000000, &sync, &fault), 0);
    assert_true(sync.n_pairs > 100);
    assert_true(sync.most_ns < 700000);
    assert_true(worst(&clock, &sync, 1000000000, 600, false) < 50000);
    sync_done(&sync);
    free(marks);
}

static void few_marks(void **state)
{
    struct sync_mark one = {.ns = BASE, .ticks = 1000};
    struct sync_mark two[] = {{.ns = BASE, .ticks = 1000},
                              {.ns = BASE + 1000010, .ticks = 1001000}};
    struct sync_mark three[] = {{.ns = BASE, .ticks = 1000},
                                {.ns = BASE + 50020000, .ticks = 50001000},
                                {.ns = BASE + 20000000000, .ticks = 20000001000}};
    struct fault fault = {0};
    struct sync sync;

    assert_int_equal(sync_relate(&one, 1, 1000000000, &sync, &fault), 0);
    assert_int_equal(sync.n_pairs, 1);
    assert_int_equal(sync.kind, SYNC_ERROR_UNKNOWN);
    assert_false(sync.rate_measured);
    sync_done(&sync);
    assert_int_equal(sync_relate(&one, 1, 0, &sync, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "--cpu-hz"));
    fault_clear(&fault);
    assert_int_equal(sync_relate(two, 2, 1000000000, &sync, &fault), 0);
    assert_int_equal(sync.n_pairs, 2);
    assert_int_equal(sync.kind, SYNC_ERROR_UNKNOWN);
    assert_true(sync.rate_measured && fabs(sync.drift_ppm - 10) < 0.1);
    sync_done(&sync);
    assert_int_equal(sync_relate(two, 2, 0, &sync, &fault), 0);
    assert_true(fabs(sync.ns_per_tick - 1.00001) < 1e-9);
    sync_done(&sync);
    /* The far one tells the rate, and near ones no nonsense of it. */
    assert_int_equal(sync_relate(three, 3, 1000000000, &sync, &fault), 0);
    assert_int_equal(sync.n_outside, 0);
    assert_int_equal(sync.kind, SYNC_ERROR_SPREAD);
    assert_true(sync.rate_measured && fabs(sync.drift_ppm) < 5);
    assert_true(sync.most_ns < 30000);
    sync_done(&sync);
    assert_int_equal(sync_relate(NULL, 0, 0, &sync, &fault), -EINVAL);
}

static void contradictions(void **state)
{
    struct sync_mark marks[100];
    struct fault fault = {0};
    struct sync sync;

    /* They belong to other things. */
    for (size_t i = 0; i < 100; i++)
        marks[i] = (struct sync_mark){.ns = BASE + (int64_t)(random_part() * 1e9),
                                      .ticks = (int64_t)(random_part() * 1e9)};
    assert_int_equal(sync_relate(marks, 100, 1000000000, &sync, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "contradict"));
    fault_clear(&fault);
    /* They came before they were sent. */
    for (size_t i = 0; i < 100; i++)
        marks[i] = (struct sync_mark){.ns = BASE + (int64_t)i * 1000000,
                                      .ticks = (int64_t)i * 1000000 + (i % 2 ? 5000 : -5000),
                                      .order = i % 2 ? SYNC_REFERENCE_LAST : SYNC_REFERENCE_FIRST};
    for (size_t i = 0; i < 100; i++)
        marks[i].ticks += 1000000;
    assert_int_equal(sync_relate(marks, 100, 1000000000, &sync, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "contradict"));
}

static char words[4000][16];

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
static size_t count_right(const struct matches *matches, const struct occurrence *a,
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
        struct fault fault = {0};
        struct matches matches;
        size_t both;

        make_side(a, times, 2000, 0, 0);
        make_side(b, times, 2000, 3e12, 20000);
        left.n = lose(a, 2000, part);
        right.n = lose(b, 2000, part);
        both = (size_t)(2000 * (1 - part) * (1 - part));
        if (match(&left, &right, round < 3 ? MATCH_BY_TEXTS : MATCH_NO_TEXTS, &matches, &fault) < 0)
            fail_msg("%u: %s", round, fault.what);
        assert_int_equal(matches.by, round < 3  ? MATCHED_BY_TEXT
                                     : part > 0 ? MATCHED_BY_INTERVALS
                                                : MATCHED_IN_ORDER);
        assert_true(matches.n > both * 9 / 10);
        assert_true(count_right(&matches, a, b) >= matches.n * (round < 3 ? 100 : 97) / 100);
        matches_done(&matches);
    }
}

static void no_match(void **state)
{
    static double times[100];
    static struct occurrence a[100], b[100];
    struct occurrences left = {a, 100, 1000000000}, right = {b, 100, 1000000000};
    struct fault fault = {0};
    struct matches matches;

    /* A beat, of which some are missing. */
    for (size_t i = 0; i < 100; i++)
        times[i] = (double)i * 1e6;
    make_side(a, times, 100, 0, 10);
    make_side(b, times, 100, 3e12, 10);
    right.n = 60;
    assert_int_equal(match(&left, &right, MATCH_NO_TEXTS, &matches, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "regularly"));
    fault_clear(&fault);
    assert_int_equal(match(&left, &right, MATCH_TEXTS_EQUAL, &matches, &fault), 0);
    assert_int_equal(matches.by, MATCHED_BY_TEXT);
    assert_int_equal(matches.n, 60);
    matches_done(&matches);
    /* Others. */
    for (size_t i = 0; i < 100; i++)
        b[i].time = (int64_t)(random_part() * 1e6 + (double)i * 3e6);
    assert_int_equal(match(&left, &right, MATCH_NO_TEXTS, &matches, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "do not belong"));
    fault_clear(&fault);
    for (size_t i = 0; i < 100; i++)
        b[i].text = "x", b[i].len = 1;
    assert_int_equal(match(&left, &right, MATCH_BY_TEXTS, &matches, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "text"));
    fault_clear(&fault);
    left.hz = 0;
    assert_int_equal(match(&left, &right, MATCH_NO_TEXTS, &matches, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "--cpu-hz"));
    fault_clear(&fault);
    left.n = 0;
    assert_int_equal(match(&left, &right, MATCH_NO_TEXTS, &matches, &fault), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(lines_are_near),
        cmocka_unit_test(long_recordings_bend),
        cmocka_unit_test(few_marks),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(matching),
        cmocka_unit_test(no_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
