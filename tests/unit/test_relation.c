/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "timeline/relation.h"

static uint64_t random_state = 88172645463325252u;

/* From 0 to below 1, the same in every run. */
static double next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

/* A guest's clock: its ticks at a host time in ns, by a rate that drifts and wanders. */
struct simulated {
    double hz;
    double drift;  /* of 1 */
    double wander; /* of 1: how far the rate swings to either side */
    double period; /* of that, ns */
    double start;  /* ticks */
};

static double ticks_at(const struct simulated *clock, double ns)
{
    double swing =
        clock->wander * clock->period / (2 * M_PI) * (1 - cos(2 * M_PI * ns / clock->period));

    return clock->start + clock->hz * 1e-9 * (ns * (1 + clock->drift) + swing);
}

/* The host time at which the clock shows TICKS. */
static double time_of(const struct simulated *clock, double ticks)
{
    double low = -1e12, high = 1e13;

    for (unsigned i = 0; i < 100; i++) {
        double middle = (low + high) / 2;

        if (ticks_at(clock, middle) < ticks)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A way that takes FASTEST ns at the least, mostly little more, and now and then a lot. */
static double way(double fastest)
{
    double jitter = -log(1 - next_random()) * fastest / 2;

    return fastest + jitter + (next_random() < 0.05 ? fastest * 100 * next_random() : 0);
}

#define BASE INT64_C(100000000000)

/* Pairs of SECONDS: of each half second the fastest of EACH exchanges. */
static void exchange(const struct simulated *clock, double seconds, unsigned each, double fastest,
                     struct text *out)
{
    double now = 0;

    for (unsigned half = 0; half < (unsigned)(seconds * 2); half++) {
        double best = 1e18, best_host = 0, best_ticks = 0;

        now = half * 0.5e9;
        for (unsigned i = 0; i < each; i++) {
            double sent = now;
            double came = sent + way(fastest);
            double answered = came + next_random() * 2000;
            double back = answered + way(fastest);

            if (back - sent < best) {
                best = back - sent;
                best_host = (sent + back) / 2;
                best_ticks = floor((ticks_at(clock, came) + ticks_at(clock, answered)) / 2);
            }
            now = back + 0.5e9 / each * next_random() / 2;
        }
        text_printf(out, "%lld %lld %lld\n", (long long)(BASE + (int64_t)best_host),
                    (long long)best_ticks, (long long)ceil(best / 2) + 1);
    }
}

/* No true time is further off than the bound says. Returns the largest bound within. */
static double check(const struct simulated *clock, double seconds, unsigned each, double fastest)
{
    struct text text = TEXT_IN_MEMORY;
    struct relation relation;
    double largest = 0, ns = -3e9;

    exchange(clock, seconds, each, fastest, &text);
    assert_int_equal(
        relation_parse(text.start, text_len(&text), "pairs", (uint64_t)clock->hz, &relation, NULL),
        0);
    while (ns < (seconds + 3) * 1e9) {
        double ticks = floor(ticks_at(clock, ns));
        double truth = time_of(clock, ticks);
        int64_t error;
        int64_t told = relation_convert(&relation, (int64_t)ticks, &error);
        double off = fabs((double)(told - BASE) - truth);

        /* 3: a tick, and what doubles round. */
        if (off > (double)error + 3)
            fail_msg("at %.0f ns: off by %.0f, not %lld", ns, off, (long long)error);
        if (ns > 0 && ns < (seconds - 1) * 1e9)
            largest = MAX(largest, (double)error);
        ns += 7.7e6 * (0.5 + next_random());
    }
    relation_done(&relation);
    text_done(&text);
    return largest;
}

static void times_are_within_their_bounds(void **state)
{
    static const double rates[] = {1e9, 2.4e9, 1e6};
    static const double drifts[] = {0, 80e-6, -300e-6};

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
        for (size_t j = 0; j < ARRAY_SIZE(drifts); j++) {
            struct simulated clock = {
                .hz = rates[i], .drift = drifts[j], .wander = 0, .period = 1e10, .start = 1e12};

            check(&clock, 20, 10, 150000);
            clock.wander = 9e-6;
            check(&clock, 20, 10, 150000);
            clock.period = 60e9;
            check(&clock, 60, 3, 30000);
        }
}

static void fast_exchanges_make_narrow_bounds(void **state)
{
    const struct simulated clock = {
        .hz = 2.4e9, .drift = 50e-6, .wander = 2e-6, .period = 3e10, .start = 5e13};

    /* 145 us each way, as over virtio-serial to an emulated guest. */
    assert_true(check(&clock, 60, 10, 145000) < 220000);
    assert_true(check(&clock, 60, 10, 10000) < 40000);
}

static void one_pair_needs_a_rate(void **state)
{
    const char *pair = "1000 500 10\n";
    struct relation relation;
    struct fault fault = {0};
    int64_t error;

    assert_int_equal(relation_parse(pair, strlen(pair), "p", 0, &relation, &fault), -EINVAL);
    assert_int_equal(relation_parse(pair, strlen(pair), "p", 1000000000, &relation, NULL), 0);
    assert_int_equal(relation_convert(&relation, 500, &error), 1000);
    assert_in_range(error, 10, 12);
    assert_int_equal(relation_convert(&relation, 1000000500, &error), 1000001000);
    assert_in_range(error, 500010, 500012);
    relation_done(&relation);
}

static void slow_pairs_are_told_by_their_neighbours(void **state)
{
    const char *pairs = "1000000 1000 100\n2000000 1990 90000\n3000000 3000 100\n";
    struct relation relation;
    int64_t error;

    assert_int_equal(relation_parse(pairs, strlen(pairs), "p", 0, &relation, NULL), 0);
    assert_int_equal(relation.n, 2);
    assert_int_equal(relation_convert(&relation, 2000, &error), 2000000);
    assert_in_range(error, 100, 130);
    relation_done(&relation);
}

static void what_is_no_file_of_pairs_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "# nothing\n",
        "1 2\n",
        "1 2 3 4\n",
        "a b c\n",
        "-1 2 3\n",
        "1 2 99999999999999999999\n",
        "2 2 1\n1 3 1\n",
        "1 3 1\n2 3 1\n",
        "5 5 5", /* cut off */
    };
    struct relation relation;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct fault fault = {0};

        assert_int_equal(relation_parse(wrong[i], strlen(wrong[i]), "p", 1000, &relation, &fault),
                         -EINVAL);
        assert_string_equal(fault.path, "p");
    }
}

static void far_times_do_not_overflow(void **state)
{
    const char *pairs = "1 1 1\n4611686018427387903 2 4611686018427387903\n";
    struct relation relation;
    int64_t error;

    /* A rate of a tick in 292 years is none. */
    assert_int_equal(relation_parse(pairs, strlen(pairs), "p", 0, &relation, NULL), -EINVAL);
    pairs = "1 1 1\n2 4611686018427387903 4611686018427387903\n";
    assert_int_equal(relation_parse(pairs, strlen(pairs), "p", 0, &relation, NULL), 0);
    (void)relation_convert(&relation, INT64_MAX, &error);
    (void)relation_convert(&relation, -INT64_MAX, &error);
    (void)relation_convert(&relation, INT64_MAX / 2, &error);
    relation_done(&relation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_within_their_bounds),
        cmocka_unit_test(fast_exchanges_make_narrow_bounds),
        cmocka_unit_test(one_pair_needs_a_rate),
        cmocka_unit_test(slow_pairs_are_told_by_their_neighbours),
        cmocka_unit_test(what_is_no_file_of_pairs_is_refused),
        cmocka_unit_test(far_times_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
