/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "random.h"
#include "timeline/clock_map.h"

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
    double jitter = -log(1 - random_part()) * fastest / 2;

    return fastest + jitter + (random_part() < 0.05 ? fastest * 100 * random_part() : 0);
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
            double answered = came + random_part() * 2000;
            double back = answered + way(fastest);

            if (back - sent < best) {
                best = back - sent;
                best_host = (sent + back) / 2;
                best_ticks = floor((ticks_at(clock, came) + ticks_at(clock, answered)) / 2);
            }
            now = back + 0.5e9 / each * random_part() / 2;
        }
        text_printf(out, "%lld %lld %lld\n", (long long)(BASE + (int64_t)best_host),
                    (long long)best_ticks, (long long)ceil(best / 2) + 1);
    }
}

/* No true time is further off than the bound says. Returns the largest bound within. */
static double check(const struct simulated *clock, double seconds, unsigned each, double fastest)
{
    struct text text = TEXT_IN_MEMORY;
    struct clock_map clock_map;
    double largest = 0, ns = -3e9;

    exchange(clock, seconds, each, fastest, &text);
    assert_int_equal(clock_map_parse(text.start, text_len(&text), "pairs", (uint64_t)clock->hz,
                                     &clock_map, NULL),
                     0);
    while (ns < (seconds + 3) * 1e9) {
        double ticks = floor(ticks_at(clock, ns));
        double truth = time_of(clock, ticks);
        int64_t error;
        int64_t told = clock_map_convert(&clock_map, (int64_t)ticks, &error);
        double off = fabs((double)(told - BASE) - truth);

        /* 3: a tick, and what doubles round. */
        if (off > (double)error + 3)
            fail_msg("at %.0f ns: off by %.0f, not %lld", ns, off, (long long)error);
        if (!clock_map_has_jumps(&clock_map)) {
            double length = 10e9 * pow(10, -6 * random_part());
            double end = floor(ticks_at(clock, ns + length));
            int64_t told_length = clock_map_convert(&clock_map, (int64_t)end, NULL) - told;

            length = time_of(clock, end) - truth;
            if (fabs((double)told_length - length) > clock_map.duration_error * length + 5)
                fail_msg("%.0f ns are %lld, which may be wrong by %g of it", length,
                         (long long)told_length, clock_map.duration_error);
        }
        if (ns > 0 && ns < (seconds - 1) * 1e9)
            largest = MAX(largest, (double)error);
        ns += 7.7e6 * (0.5 + random_part());
    }
    clock_map_done(&clock_map);
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

/* Of a pair alone, and of two that are near to each other, what is known of the rate otherwise. */
static void a_rate_that_is_known_makes_durations_exact(void **state)
{
    static const char *const texts[] = {
        "29749478455983 47249237179 51596\n",
        "29749478455983 47249237179 51596\n29749500723474 47296037380 84539\n",
    };
    const double tick = 1 / 2.100001;
    struct clock_map clock_map;
    int64_t error;

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
        for (uint64_t hz = 0; hz <= 2100000999; hz += 2100000999) {
            if (hz == 0 && i == 0)
                continue; /* no rate */
            assert_int_equal(clock_map_parse(texts[i], strlen(texts[i]), "p", hz, &clock_map, NULL),
                             0);
            assert_true(clock_map.duration_error > 400e-6);
            assert_int_equal(
                clock_map_limit_rate(&clock_map, tick * (1 - 30e-6), tick * (1 + 30e-6)), 0);
            assert_true(fabs(clock_map_rate_error(&clock_map) - 30e-6) < 1e-9);
            assert_in_range(clock_map.hz, 2100000990, 2100001010);
            (void)clock_map_convert(&clock_map, 47249237179 + 2100001000, &error);
            assert_in_range(error, 51596 + 29000, 84539 + 31000);
            clock_map_done(&clock_map);
        }
    }
    /* One that the pairs contradict. */
    assert_int_equal(clock_map_parse(texts[1], strlen(texts[1]), "p", 0, &clock_map, NULL), 0);
    assert_int_equal(clock_map_limit_rate(&clock_map, tick * 1.01, tick * 1.02), 0);
    assert_true(clock_map.duration_error > 400e-6);
    clock_map_done(&clock_map);
}

static void one_pair_needs_a_rate(void **state)
{
    const char *pair = "1000 500 10\n";
    struct clock_map clock_map;
    struct error error = {0};
    int64_t err;

    assert_int_equal(clock_map_parse(pair, strlen(pair), "p", 0, &clock_map, &error), -EINVAL);
    assert_int_equal(clock_map_parse(pair, strlen(pair), "p", 1000000000, &clock_map, NULL), 0);
    assert_int_equal(clock_map_convert(&clock_map, 500, &err), 1000);
    assert_in_range(err, 10, 16);
    assert_int_equal(clock_map_convert(&clock_map, 1000000500, &err), 1000001000);
    assert_in_range(err, 500010, 500016);
    clock_map_done(&clock_map);
}

static void slow_pairs_are_told_by_their_neighbours(void **state)
{
    const char *pairs = "1000000 1000 100\n2000000 1990 90000\n3000000 3000 100\n";
    struct clock_map clock_map;
    int64_t error;

    assert_int_equal(clock_map_parse(pairs, strlen(pairs), "p", 0, &clock_map, NULL), 0);
    assert_int_equal(clock_map.n, 2);
    assert_int_equal(clock_map_convert(&clock_map, 2000, &error), 2000000);
    assert_in_range(error, 100, 130);
    clock_map_done(&clock_map);
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
        "1 3 1\n2 4 1\n2 5 1\n",
        "5 5 5", /* cut off */
    };
    struct clock_map clock_map;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct error error = {0};

        assert_int_equal(clock_map_parse(wrong[i], strlen(wrong[i]), "p", 1000, &clock_map, &error),
                         -EINVAL);
        assert_string_equal(error.path, "p");
    }
}

static void a_last_line_that_is_cut_off_is_passed_over(void **state)
{
    const char *pairs = "1000000 1000 100\n2000000 2000 100\n3000000 30";
    struct clock_map clock_map;

    (void)state;
    assert_int_equal(clock_map_parse(pairs, strlen(pairs), "p", 0, &clock_map, NULL), 0);
    assert_int_equal(clock_map.n_given, 2);
    assert_int_equal(clock_map_convert(&clock_map, 1500, NULL), 1500000);
    clock_map_done(&clock_map);
}

/* Wherever it is said, and whatever the pairs themselves are: all bounds are wider by as much as is said at most. */
static void an_error_of_all_times_widens_all_bounds(void **state)
{
    static const char plain[] = "1000000 1000 100\n2000000 2000 5000\n3000000 3000 100\n";
    static const char said[] = "# error 70000\n1000000 1000 100\n# error 900000\n"
                               "2000000 2000 5000\n3000000 3000 100\n# error 40\n"
                               "# error\n# error \n# error 1000000 us\n# error 99999999";
    struct clock_map a, b, c;

    (void)state;
    for (unsigned steady = 0; steady < 2; steady++) {
        assert_int_equal(clock_map_parse(plain, strlen(plain), "p", 1000000, &a, NULL), 0);
        assert_int_equal(clock_map_parse(said, strlen(said), "p", 1000000, &b, NULL), 0);
        if (steady) {
            assert_int_equal(clock_map_set_steady(&a), 0);
            assert_int_equal(clock_map_set_steady(&b), 0);
        }
        assert_int_equal(clock_map_copy(&b, &c), 0);
        for (int64_t ticks = -5000; ticks < 9000; ticks += 50) {
            int64_t error, wider, same;
            int64_t time = clock_map_convert(&a, ticks, &error);

            assert_int_equal(clock_map_convert(&b, ticks, &wider), time);
            assert_int_equal(wider, error + 900000);
            assert_int_equal(clock_map_convert(&c, ticks, &same), time);
            assert_int_equal(same, wider);
        }
        clock_map_done(&a);
        clock_map_done(&b);
        clock_map_done(&c);
    }
}

static void far_times_do_not_overflow(void **state)
{
    const char *pairs = "1 1 1\n4611686018427387903 2 4611686018427387903\n";
    struct clock_map clock_map;
    int64_t error;

    /* A rate of a tick in 292 years is none. */
    assert_int_equal(clock_map_parse(pairs, strlen(pairs), "p", 0, &clock_map, NULL), -EINVAL);
    pairs = "1 1 1\n2 4611686018427387903 4611686018427387903\n# error 4611686018427387903\n";
    assert_int_equal(clock_map_parse(pairs, strlen(pairs), "p", 0, &clock_map, NULL), 0);
    (void)clock_map_convert(&clock_map, INT64_MAX, &error);
    (void)clock_map_convert(&clock_map, -INT64_MAX, &error);
    (void)clock_map_convert(&clock_map, INT64_MAX / 2, &error);
    (void)clock_map_convert(&clock_map, INT64_MIN, &error);
    clock_map_done(&clock_map);
    pairs = "4000000000000000000 5 9\n4000000001000000000 1000000005 9\n";
    assert_int_equal(clock_map_parse(pairs, strlen(pairs), "p", 0, &clock_map, NULL), 0);
    assert_int_equal(clock_map_convert(&clock_map, INT64_MAX, &error), INT64_MAX);
    assert_int_equal(clock_map_convert(&clock_map, INT64_MAX - 1, NULL), INT64_MAX);
    (void)clock_map_convert(&clock_map, INT64_MIN, &error);
    assert_true(error > 0);
    clock_map_done(&clock_map);
}

/* ---- Against a slow evaluator of what relation.h says ---- */

#ifdef __SIZEOF_INT128__ /* in the compiler's own type, in which clock_map.c may not reckon */

/* A time and a bound in millionths of the product of all that they are divided by. */
struct exact {
    wide time, error; /* times `of` */
    wide of;
};

static struct exact exact_between(const struct clock_map *clock_map, const struct clock_map_pair *a,
                                  const struct clock_map_pair *b, int64_t ticks)
{
    wide span = b->ticks - a->ticks, done = ticks - a->ticks, ns = b->host_ns - a->host_ns;
    wide near = MIN(done, span - done);

    return (struct exact){
        .of = span * 1000000,
        .time = (a->host_ns * span + ns * done) * 1000000,
        .error = (a->error_ns * (span - done) + b->error_ns * done + a->jump_ns * span) * 1000000 +
                 near * ns * clock_map->wander_ppm,
    };
}

static struct exact exact_outside(const struct clock_map *clock_map,
                                  const struct clock_map_pair *edge, int64_t ticks)
{
    wide span = clock_map->rate_ticks, away = (wide)ticks - edge->ticks;
    wide far = away < 0 ? -away : away;

    return (struct exact){
        .of = span * 1000000,
        .time = (edge->host_ns * span + away * clock_map->rate_ns) * 1000000,
        .error = (edge->error_ns * span + far * clock_map->rate_error_ns) * 1000000 +
                 far * clock_map->rate_ns * clock_map->rate_ppm,
    };
}

static struct exact exact(const struct clock_map *clock_map, int64_t ticks)
{
    unsigned i = 0;

    if (ticks < clock_map->pairs[0].ticks)
        return exact_outside(clock_map, &clock_map->pairs[0], ticks);
    while (i + 1 < clock_map->n && clock_map->pairs[i + 1].ticks <= ticks)
        i++;
    if (i + 1 == clock_map->n)
        return exact_outside(clock_map, &clock_map->pairs[i], ticks);
    return exact_between(clock_map, &clock_map->pairs[i], &clock_map->pairs[i + 1], ticks);
}

/* Told times are at most a few ns from the exact ones, their bounds hold that, and are no wider than needed. */
static void check_exactly(const struct clock_map *clock_map, int64_t ticks, int64_t told,
                          int64_t error)
{
    struct exact is = exact(clock_map, ticks);
    wide off = told * is.of - is.time;

    if (off < 0)
        off = -off;
    if (off > 4 * is.of || error * is.of < is.error + off || error * is.of > is.error + 12 * is.of)
        fail_msg("at %lld: %lld, %lld off by %.3f, exactly %.3f", (long long)ticks, (long long)told,
                 (long long)error, (double)off / (double)is.of, (double)is.error / (double)is.of);
}

static void told_times_are_the_exact_ones(void **state)
{
    static const double ratios[] = {1, 1 / 2.4, 1000, 1e8, 1e-3};

    for (unsigned run = 0; run < 200; run++) {
        double ratio = ratios[run % ARRAY_SIZE(ratios)] * (1 + (random_part() - 0.5) / 1000);
        struct clock_map_pair pairs[40] = {0};
        unsigned n = 1 + (unsigned)(random_part() * 40);
        struct clock_map_piece piece = {0};
        int64_t ticks = (int64_t)(random_part() * 1e15), last = INT64_MIN;
        int64_t host = (int64_t)(random_part() * 1e15);
        struct clock_map clock_map;

        for (unsigned i = 0; i < n; i++) {
            int64_t step = 1 + (int64_t)(random_part() * (run % 3 ? 2e9 : 3) / ratio);
            int64_t stop = run % 7 == 0 && random_part() < 0.2 ? 100000000 : 0;

            pairs[i] = (struct clock_map_pair){host, ticks, (int64_t)(random_part() * 1e5), 0};
            ticks += step;
            host += 1 + stop + (int64_t)((double)step * ratio);
        }
        assert_int_equal(clock_map_of_pairs(pairs, n, "p", 1000000000, &clock_map, NULL), 0);
        if (run % 5 == 0)
            assert_int_equal(clock_map_set_steady(&clock_map), 0);
        ticks = pairs[0].ticks - (int64_t)(5e9 / ratio) - 10;
        while (ticks < pairs[n - 1].ticks + (int64_t)(5e9 / ratio) + 10) {
            int64_t error, error_too;
            int64_t told;

            if (!clock_map_piece_holds(&piece, ticks))
                clock_map_find(&clock_map, ticks, &piece);
            assert_true(clock_map_piece_holds(&piece, ticks));
            told = clock_map_piece_convert(&piece, ticks, &error);
            check_exactly(&clock_map, ticks, told, error);
            assert_int_equal(clock_map_convert(&clock_map, ticks, &error_too), told);
            assert_int_equal(error_too, error);
            assert_true(told >= last);
            last = told;
            ticks += 1 + (int64_t)(random_part() * (run % 3 ? 3e8 : 2) / ratio);
            if (run % 3 == 0 && random_part() < 0.01)
                ticks += (int64_t)(1e8 / ratio);
        }
        clock_map_done(&clock_map);
    }
}

#endif

/* The time of day, which somebody sets by a millisecond. */
static void clocks_of_one_rate_have_the_bounds_of_their_pairs(void **state)
{
    struct clock_map_pair pairs[30];
    struct clock_map clock_map;
    int64_t error;

    for (unsigned i = 0; i < 30; i++)
        pairs[i] = (struct clock_map_pair){
            .host_ns = (int64_t)i * 1000040000,
            .ticks =
                INT64_C(1700000000000000000) + (int64_t)i * 1000040000 + (i > 20 ? 1000000 : 0),
            .error_ns = 1000 + i % 3,
        };
    assert_int_equal(clock_map_of_pairs(pairs, 30, "p", 1000000000, &clock_map, NULL), 0);
    (void)clock_map_convert(&clock_map, pairs[3].ticks + 500000000, &error);
    assert_in_range(error, 11000, 11010);
    assert_int_equal(clock_map_set_steady(&clock_map), 0);
    for (int64_t ticks = pairs[0].ticks - 700000000; ticks < pairs[29].ticks + 700000000;
         ticks += 9999991) {
        int64_t told = clock_map_convert(&clock_map, ticks, &error);
        int64_t before = ticks - pairs[0].ticks, after = before - 1000000;

        if (ticks > pairs[20].ticks && ticks < pairs[21].ticks) {
            assert_true(llabs(told - before) <= error);
            assert_true(llabs(told - after) <= error);
        } else {
            assert_true(llabs(told - (ticks > pairs[20].ticks ? after : before)) <= error);
            assert_true(error < 3100);
        }
    }
    clock_map_done(&clock_map);
}

static void ticks_that_come_twice_may_be_either(void **state)
{
    /* At 15 s somebody sets the clock back by 8 s. */
    const char *text = "10000000000 110000000000 100\n"
                       "11000000000 111000000000 100\n"
                       "14000000000 114000000000 100\n"
                       "16000000000 108000000000 100\n"
                       "20000000000 112000000000 100\n"
                       "30000000000 122000000000 100\n";
    struct clock_map clock_map;
    int64_t error;

    assert_int_equal(clock_map_parse(text, strlen(text), "p", 1000000000, &clock_map, NULL), 0);
    for (int64_t ticks = INT64_C(107000000000); ticks < INT64_C(125000000000); ticks += 33333333) {
        int64_t told = clock_map_convert(&clock_map, ticks, &error);

        if (ticks < INT64_C(115000000000))
            assert_true(llabs(told - (ticks - INT64_C(100000000000))) <= error);
        if (ticks > INT64_C(107000000000))
            assert_true(llabs(told - (ticks - INT64_C(92000000000))) <= error);
    }
    clock_map_done(&clock_map);
}

/* A clock that stands still while the virtual machine is stopped, or that somebody sets. */
static void a_clock_that_stood_still_has_a_wide_bound_there(void **state)
{
    struct clock_map_pair pairs[20];
    struct clock_map clock_map;
    int64_t error, told;

    for (unsigned i = 0; i < 20; i++)
        pairs[i] = (struct clock_map_pair){
            .host_ns = (int64_t)i * 1000000000 + (i > 10 ? 700000000 : 0),
            .ticks = (int64_t)i * 1000010000,
            .error_ns = 50000,
        };
    assert_int_equal(clock_map_of_pairs(pairs, 20, "p", 1000000000, &clock_map, NULL), 0);
    assert_int_equal(clock_map.n, 20);
    for (int64_t ticks = 1; ticks < 19 * INT64_C(1000010000); ticks += 10000019) {
        /* It stood still between the 11th pair and the 12th: at once behind the one, or right before the other. */
        bool within = ticks > pairs[10].ticks && ticks < pairs[11].ticks;
        double early = (double)ticks * 1e9 / 1000010000;
        double late = early + 700000000;

        told = clock_map_convert(&clock_map, ticks, &error);
        if (within) {
            assert_true(fabs((double)told - early) <= (double)error);
            assert_true(fabs((double)told - late) <= (double)error);
        } else {
            assert_true(fabs((double)told - (ticks < pairs[11].ticks ? early : late)) <=
                        (double)error);
            assert_true(error < 65000);
        }
    }
    /* Beyond the ends the usual rate counts, not one that the stop is part of. */
    told = clock_map_convert(&clock_map, pairs[19].ticks + 1000010000, &error);
    assert_true(llabs(told - pairs[19].host_ns - 1000000000) <= error);
    assert_true(error < 200000);
    clock_map_done(&clock_map);
}

/* By pairs of half a second that may be wrong by 100 us, 250 us are nothing; by a rate of 20 s they are. */
static void small_jumps_are_seen_by_a_long_rate(void **state)
{
    struct clock_map_pair pairs[40];
    struct clock_map clock_map;
    int64_t error;

    for (unsigned i = 0; i < 40; i++)
        pairs[i] = (struct clock_map_pair){
            .host_ns = (int64_t)i * 500000000 + (i > 30 ? 250000 : 0),
            .ticks = (int64_t)i * 500000000,
            .error_ns = 100000,
        };
    assert_int_equal(clock_map_of_pairs(pairs, 40, "p", 1000000000, &clock_map, NULL), 0);
    (void)clock_map_convert(&clock_map, pairs[30].ticks + 1000, &error);
    assert_true(error >= 250000);
    (void)clock_map_convert(&clock_map, pairs[29].ticks + 1000, &error);
    assert_true(error < 120000);
    clock_map_done(&clock_map);
}

static void slow_ends_are_told_by_those_beside_them(void **state)
{
    struct clock_map_pair pairs[20];
    struct clock_map clock_map;
    int64_t error;

    for (unsigned i = 0; i < 20; i++)
        pairs[i] = (struct clock_map_pair){
            .host_ns = 7000000000 + (int64_t)i * 500000000,
            .ticks = (int64_t)i * 500010000,
            .error_ns = i < 2 || i == 19 ? 900000 : 50000,
        };
    pairs[0].host_ns += 800000;
    pairs[19].host_ns -= 800000;
    assert_int_equal(clock_map_of_pairs(pairs, 20, "p", 1000000000, &clock_map, NULL), 0);
    assert_int_equal(clock_map.n, 17);
    assert_true(llabs(clock_map_convert(&clock_map, pairs[0].ticks, &error) - 7000000000) <= error);
    assert_true(error < 110000);
    assert_true(llabs(clock_map_convert(&clock_map, pairs[19].ticks, &error) - 16500000000) <=
                error);
    assert_true(error < 90000);
    clock_map_done(&clock_map);
}

/* Of a run of slow exchanges between fast ones none counts; where the clock did jump among them, it is seen. */
static void runs_of_slow_pairs_are_left_out(void **state)
{
    for (unsigned jumps = 0; jumps < 2; jumps++) {
        struct clock_map_pair pairs[13];
        struct clock_map clock_map;

        for (unsigned i = 0; i < 13; i++)
            pairs[i] = (struct clock_map_pair){
                .host_ns = 7000000000 + (int64_t)i * 500000000 + (jumps && i > 5 ? 900000 : 0),
                .ticks = 1000 + (int64_t)i * 500000000,
                .error_ns = i % 12 ? 250000 + i * 7919 % 200000 : 80000,
            };
        assert_int_equal(clock_map_of_pairs(pairs, 13, "p", 1000000000, &clock_map, NULL), 0);
        if (!jumps)
            assert_int_equal(clock_map.n, 2);
        for (int64_t ns = 0; ns < 6000000000; ns += 33333333) {
            int64_t error;
            int64_t told = clock_map_convert(&clock_map, 1000 + ns, &error);
            int64_t truth = 7000000000 + ns + (jumps && ns > 2750000000 ? 900000 : 0);

            assert_true(llabs(told - truth) <= error);
            if (!jumps)
                assert_true(error < 145000);
        }
        clock_map_done(&clock_map);
    }
}

/* At a pair after a pause the bound falls at once, and before it, it is the largest. */
static void a_bound_is_that_of_any_ticks(void **state)
{
    const char *text = "1000000000 1000000000 80000\n"
                       "2000000000 2000000000 9000000\n"
                       "# paused\n"
                       "5000000000 2000000100 70000\n"
                       "6000000000 3000000000 70000\n"
                       "# paused\n"
                       "9000000000 3000000200 300000000\n"
                       "9100000000 3100000100 500000\n";
    const int64_t last = 3200000000;
    struct clock_map clock_map;

    (void)state;
    assert_int_equal(clock_map_parse(text, strlen(text), "p", 1000000000, &clock_map, NULL), 0);
    for (int64_t from = 1999999900; from < last; from += from < 2000000200 ? 1 : 49999999) {
        int64_t bound = clock_map_bound(&clock_map, from, last);
        int64_t error;

        for (int64_t ticks = from; ticks <= last; ticks += ticks < 2000000200 ? 1 : 9999999) {
            (void)clock_map_convert(&clock_map, ticks, &error);
            assert_in_range(error, 0, bound);
        }
        for (int64_t ticks = MAX(from, 2999999990); ticks < 3000000300; ticks++) {
            (void)clock_map_convert(&clock_map, ticks, &error);
            assert_in_range(error, 0, bound);
            assert_in_range(error, 0, clock_map_bound(&clock_map, from, ticks));
        }
    }
    clock_map_done(&clock_map);
}

/* A pause is somewhere between two pairs: all that is between these is not steady. */
static void between_two_pairs_a_clock_is_steady_or_not(void **state)
{
    const char *text = "1000000000 1000000000 8000\n"
                       "2000000000 2000000000 9000\n"
                       "# paused\n"
                       "5000000000 3000000000 7000\n"
                       "6000000000 4000000000 7000\n";
    struct clock_map clock_map;

    (void)state;
    assert_int_equal(clock_map_parse(text, strlen(text), "p", 1000000000, &clock_map, NULL), 0);
    for (int64_t ticks = 500000000; ticks < 5000000000; ticks += 100000000) {
        struct clock_map_piece piece;

        clock_map_find(&clock_map, ticks, &piece);
        assert_int_equal(piece.part, ticks < 2000000000   ? 0
                                     : ticks < 3000000000 ? CLOCK_UNSTEADY
                                                          : 1);
    }
    clock_map_done(&clock_map);
}

/* A guest's kernel took its counter for one of 801 MHz (its "PIT calibration" under emulation on a busy machine);
 * the exchanges were of 2596 MHz. */
static void a_rate_that_was_measured_wrongly_is_not_believed(void **state)
{
    static const char *const texts[] = {
        "52770590922244 685694246706 64441\n"
        "52770641303106 685825307545 242767\n"
        "52771670682619 688497626400 268150\n"
        "52772609400922 690934514922 96569\n",
        "52834278692247 851035549358 80180\n"
        "52834281361037 851042469518 206709\n"
        "52835367361800 853861933308 174195\n"
        "52836325786485 856350136117 176924\n"
        "52837016742893 858143852496 73255\n",
    };
    int64_t error;

    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
        struct clock_map clock_map;

        assert_int_equal(
            clock_map_parse(texts[i], strlen(texts[i]), "p", 801542999, &clock_map, NULL), 0);
        error = clock_map_bound(&clock_map, clock_map.given[0].ticks,
                                clock_map.given[clock_map.n_given - 1].ticks);
        assert_in_range(error, 50000, 300000);
        assert_in_range(clock_map.hz, 2595000000, 2597000000);
        clock_map_done(&clock_map);
    }
}

/* One that was measured well is: the pairs before the jump are too near to each other to tell a rate. */
static void a_jump_is_no_other_rate(void **state)
{
    const char *text = "1000000000 1000000000 80000\n"
                       "1000100000 1000100000 90000\n"
                       "1000200000 1000200000 90000\n"
                       "4000000000 3000000000 70000\n";
    struct clock_map clock_map;
    int64_t error;

    assert_int_equal(clock_map_parse(text, strlen(text), "p", 1000000000, &clock_map, NULL), 0);
    (void)clock_map_convert(&clock_map, 2000000000, &error);
    assert_in_range(error, 1000000000, 1001000000);
    clock_map_done(&clock_map);
}

/* Set ahead by more than all that is recorded, twice, it is as exact as ever before, in between and afterwards. */
static void a_clock_that_was_set_far_ahead_keeps_its_rate(void **state)
{
    struct clock_map_pair pairs[30];
    struct clock_map clock_map;
    int64_t error;

    (void)state;
    for (unsigned i = 0; i < 30; i++)
        pairs[i] = (struct clock_map_pair){
            .host_ns = INT64_C(1000000000) + i * INT64_C(150000000),
            .ticks = i * INT64_C(315000000) + (i + 10) / 15 * INT64_C(100000000000) + 1000000000,
            .error_ns = 150,
        };
    assert_int_equal(clock_map_of_pairs(pairs, 30, "p", 0, &clock_map, NULL), 0);
    assert_in_range(clock_map.hz, 2099999000, 2100001000);
    for (unsigned i = 0; i < 30; i++) {
        int64_t truth = pairs[i].host_ns + 75000000;
        bool is_last = i + 1 == 30;

        if (!is_last && pairs[i + 1].ticks - pairs[i].ticks > 315000000) {
            /* Right before it was set, and right after. */
            assert_true(llabs(clock_map_convert(&clock_map, pairs[i].ticks + 157500000, &error) -
                              truth) <= error);
            assert_true(
                llabs(clock_map_convert(&clock_map, pairs[i + 1].ticks - 157500000, &error) -
                      truth) <= error);
        } else {
            assert_true(llabs(clock_map_convert(&clock_map, pairs[i].ticks + 157500000, &error) -
                              truth) <= error);
            assert_in_range(error, 1, 3000);
        }
    }
    /* Before the first pair. */
    assert_true(llabs(clock_map_convert(&clock_map, pairs[0].ticks - 210000000, &error) -
                      900000000) <= error);
    assert_in_range(error, 1, 5000);
    clock_map_done(&clock_map);
}

/* While the clock jumps by 3 ms, it may also drift by 20 ppm of 50 s, which hides 1 ms of that. */
static void a_jump_may_be_larger_than_it_looks(void **state)
{
    const int64_t last = 60000000000, next = 110000000000;

    for (int64_t drift = -1000000; drift <= 1000000; drift += 1000000) {
        struct clock_map_pair pairs[62];
        struct clock_map clock_map;
        int64_t error;

        for (unsigned i = 0; i < 61; i++)
            pairs[i] = (struct clock_map_pair){.host_ns = i * INT64_C(1000000000),
                                               .ticks = i * INT64_C(1000000000),
                                               .error_ns = 1000};
        pairs[61] = (struct clock_map_pair){
            .host_ns = next + 3000000 + drift, .ticks = next, .error_ns = 1000};
        assert_int_equal(clock_map_of_pairs(pairs, 62, "p", 0, &clock_map, NULL), 0);
        for (int64_t ticks = last + 1; ticks < next; ticks += 1000000007) {
            int64_t truth = ticks + 3000000 + drift * (ticks - last) / (next - last);

            assert_true(llabs(clock_map_convert(&clock_map, ticks, &error) - truth) <= error);
            assert_true(error < 6000000);
        }
        clock_map_done(&clock_map);
    }
}

/* A guest's machine was paused twice within the second before the last pair, and no two pairs are exact enough to show it. */
static void a_clock_that_stood_still_among_few_pairs_has_no_exact_rate(void **state)
{
    static const struct clock_map_pair pairs[] = {
        {66990714964135, 25653169348, 97475, 0},   {66990772051708, 25801396440, 239290, 0},
        {66991001784590, 26397810570, 1624905, 0}, {66991006903246, 26406247467, 1624905, 0},
        {66991031608169, 26470384409, 153924, 0},  {66991317754919, 27213255710, 1495782, 0},
        {66991323151917, 27221022169, 1495782, 0}, {66991344496159, 27276434381, 216181, 0},
    };
    const int64_t hz = 2596120002;
    struct clock_map clock_map;
    int64_t error;

    (void)state;
    assert_int_equal(
        clock_map_of_pairs(pairs, ARRAY_SIZE(pairs), "p", (uint64_t)hz, &clock_map, NULL), 0);
    for (int64_t s = 1; s <= 10; s++) {
        int64_t truth = pairs[7].host_ns + s * 1000000000;
        int64_t time = clock_map_convert(&clock_map, pairs[7].ticks + s * hz, &error);

        assert_true(llabs(time - truth) <= error);
        assert_true(error < 10000000 + s * 10000000);
    }
    clock_map_done(&clock_map);
}

/* Of two pairs that contradict the given rate, the clock may have stood still between them, or the rate is wrong. */
static void two_pairs_and_another_rate_are_all_possible(void **state)
{
    static const struct clock_map_pair pairs[] = {{1000000000, 1000000000, 100, 0},
                                                  {3000000000, 2000000000, 100, 0}};
    struct clock_map clock_map;
    int64_t error, time;

    (void)state;
    assert_int_equal(clock_map_of_pairs(pairs, 2, "p", 1000000000, &clock_map, NULL), 0);
    time = clock_map_convert(&clock_map, 3000000000, &error);
    assert_true(llabs(time - 4000000000) <= error);
    assert_true(llabs(time - 5000000000) <= error);
    assert_true(error < 1010000000);
    clock_map_done(&clock_map);
}

/* A pause that the bounds of the pairs around it would hide, where it is known of. */
static void a_pause_is_said(void **state)
{
    static const char text[] = "1000000000 1000000000 300000\n"
                               "2000000000 2000000000 300000\n"
                               "# a comment\n"
                               "# paused\n"
                               "2001000000 2000500000 300000\n"
                               "3001000000 3000500000 300000\n";
    struct clock_map clock_map;
    int64_t error;

    (void)state;
    assert_int_equal(clock_map_parse(text, strlen(text), "p", 1000000000, &clock_map, NULL), 0);
    assert_int_equal(clock_map.n, 4);
    assert_int_equal(clock_map.pairs[0].jump_ns, 0);
    assert_in_range(clock_map.pairs[1].jump_ns, 500000, 1000000);
    assert_int_equal(clock_map.pairs[2].jump_ns, 0);
    /* It may have stood still right before the end of this time. */
    assert_true(llabs(clock_map_convert(&clock_map, 2000499999, &error) - 2000499999) <= error);
    assert_in_range(clock_map.hz, 999950000, 1000050000);
    clock_map_done(&clock_map);
}

/* Ticks that come faster than the given rate has them are no pause's: what a guest's kernel says is wrong then. */
static void a_pause_between_any_two_pairs_hides_no_rate_that_is_too_low(void **state)
{
    static const char text[] = "1000000000 1000000000 100\n"
                               "# paused\n"
                               "3000000000 2000000000 100\n";
    struct clock_map clock_map;
    int64_t error, time;

    (void)state;
    assert_int_equal(clock_map_parse(text, strlen(text), "p", 300000000, &clock_map, NULL), 0);
    time = clock_map_convert(&clock_map, 3000000000, &error);
    assert_true(llabs(time - 4000000000) <= error); /* at 1 GHz, with a pause of a second */
    assert_true(error < 3000000000);
    clock_map_done(&clock_map);
    assert_int_equal(clock_map_parse(text, strlen(text), "p", 1000000000, &clock_map, NULL), 0);
    time = clock_map_convert(&clock_map, 3000000000, &error);
    assert_true(llabs(time - 4000000000) <= error && error < 1000000);
    clock_map_done(&clock_map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_is_said),
        cmocka_unit_test(a_pause_between_any_two_pairs_hides_no_rate_that_is_too_low),
        cmocka_unit_test(two_pairs_and_another_rate_are_all_possible),
        cmocka_unit_test(a_clock_that_stood_still_among_few_pairs_has_no_exact_rate),
        cmocka_unit_test(times_are_within_their_bounds),
        cmocka_unit_test(fast_exchanges_make_narrow_bounds),
        cmocka_unit_test(one_pair_needs_a_rate),
        cmocka_unit_test(a_rate_that_is_known_makes_durations_exact),
        cmocka_unit_test(slow_pairs_are_told_by_their_neighbours),
        cmocka_unit_test(what_is_no_file_of_pairs_is_refused),
        cmocka_unit_test(a_last_line_that_is_cut_off_is_passed_over),
        cmocka_unit_test(an_error_of_all_times_widens_all_bounds),
        cmocka_unit_test(far_times_do_not_overflow),
#ifdef __SIZEOF_INT128__
        cmocka_unit_test(told_times_are_the_exact_ones),
#endif
        cmocka_unit_test(clocks_of_one_rate_have_the_bounds_of_their_pairs),
        cmocka_unit_test(slow_ends_are_told_by_those_beside_them),
        cmocka_unit_test(runs_of_slow_pairs_are_left_out),
        cmocka_unit_test(small_jumps_are_seen_by_a_long_rate),
        cmocka_unit_test(ticks_that_come_twice_may_be_either),
        cmocka_unit_test(a_clock_that_stood_still_has_a_wide_bound_there),
        cmocka_unit_test(a_bound_is_that_of_any_ticks),
        cmocka_unit_test(between_two_pairs_a_clock_is_steady_or_not),
        cmocka_unit_test(a_rate_that_was_measured_wrongly_is_not_believed),
        cmocka_unit_test(a_jump_is_no_other_rate),
        cmocka_unit_test(a_clock_that_was_set_far_ahead_keeps_its_rate),
        cmocka_unit_test(a_jump_may_be_larger_than_it_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
