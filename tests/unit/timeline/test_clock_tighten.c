/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "random.h"
#include "timeline/clock_tighten.h"

#define SECOND 1e9
#define HOST_START 5e11

/* A clock at a host time, ns since HOST_START: its rate is off by `drift` and wanders by at most `wander`. */
struct simulated {
    double hz, drift, wander, period, start;
};

static double ticks_at(const struct simulated *clock, double ns)
{
    double swing =
        clock->wander * clock->period / (2 * M_PI) * (1 - cos(2 * M_PI * ns / clock->period));

    return clock->start + clock->hz * 1e-9 * (ns * (1 + clock->drift) + swing);
}

static struct simulated random_clock(void)
{
    return (struct simulated){
        .hz = 1e7 + random_part() * 3e9,
        .drift = (random_part() * 2 - 1) * 400e-6,
        .wander = random_part() * 9e-6,
        .period = (1 + random_part() * 20) * SECOND,
        .start = random_part() * 1e12,
    };
}

/* N pairs over LENGTH ns, each wrong by less than it says. */
static void make_map(const struct simulated *clock, unsigned n, double length,
                     struct clock_map *map)
{
    struct clock_map_pair pairs[16] = {{0}};
    struct error error;

    for (unsigned i = 0; i < n; i++) {
        double ns = length * (0.1 + 0.8 * i / n);
        double most = 20e3 + random_part() * 300e3;

        pairs[i] = (struct clock_map_pair){
            .host_ns = (int64_t)(HOST_START + ns + (random_part() * 2 - 1) * most),
            .ticks = (int64_t)ticks_at(clock, ns),
            .error_ns = (int64_t)most + 200,
        };
    }
    error_clear(&error);
    assert_int_equal(clock_map_of_pairs(pairs, n, "test", (uint64_t)clock->hz, map, &error), 0);
}

/* A cause and its effect, one of the host and one of the other clock. */
static void add_pair(struct clock_bounds *bounds, const struct simulated *clock,
                     const struct clock_map *map, double length)
{
    double ns = random_part() * length;
    double delay = pow(10, 2 + random_part() * 5);
    int64_t other = clock_map_convert(map, (int64_t)ticks_at(clock, ns), NULL);

    if (random_u64() & 1)
        clock_bounds_add_most(bounds, other, (int64_t)(HOST_START + ns + delay) - other + 200);
    else
        clock_bounds_add_least(bounds, other, (int64_t)(HOST_START + ns - delay) - other - 200);
}

/* The worst error that MAP states from 0 to LENGTH. */
static int64_t check(const struct clock_map *map, const struct simulated *clock, double length)
{
    int64_t worst = 0;

    for (unsigned i = 0; i < 500; i++) {
        double ns = length * i / 500;
        int64_t error;
        int64_t time = clock_map_convert(map, (int64_t)ticks_at(clock, ns), &error);

        assert_true(fabs((double)time - HOST_START - ns) <= (double)error + 200);
        worst = MAX(worst, error);
        /* How long it is to another time. */
        if (!clock_map_has_jumps(map)) {
            double length_of = length * pow(10, -6 * random_part()), later = ns + length_of;
            int64_t end = clock_map_convert(map, (int64_t)ticks_at(clock, later), NULL);

            if (fabs((double)(end - time) - length_of) >
                map->duration_error * (double)(end - time) + 200)
                fail_msg("%.0f ns are %.0f, which may be wrong by %g of it", length_of,
                         (double)(end - time), map->duration_error);
        }
    }
    return worst;
}

static void true_time_is_within(void **state)
{
    unsigned tighter = 0;
    const unsigned n = 300;

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        struct simulated clock = random_clock();
        double length = (0.5 + random_part() * 60) * SECOND;
        unsigned n_pairs = 1 + (unsigned)(random_u64() % 16);
        unsigned n_marks = (unsigned)(random_u64() % 2000) + 1;
        struct clock_map map, tight;
        struct clock_bounds bounds;
        int64_t by = 0, before, after;

        make_map(&clock, n_pairs, length, &map);
        assert_int_equal(clock_bounds_init(&bounds, &map), 0);
        if (bounds.map) {
            for (unsigned j = 0; j < n_marks; j++)
                add_pair(&bounds, &clock, &map, length);
            before = check(&map, &clock, length);
            assert_int_equal(clock_bounds_map(&bounds, &tight, &by), 0);
            after = check(&tight, &clock, length);
            tighter += after < before / 2;
            clock_map_done(&tight);
        }
        clock_bounds_done(&bounds);
        clock_map_done(&map);
    }
    assert_true(tighter > n / 2);
}

/* More pieces than there is room for. */
static void pieces_are_bounded(void **state)
{
    struct simulated clock = random_clock();
    double length = 4 * 3600 * SECOND;
    struct clock_map map, tight;
    struct clock_bounds bounds;
    int64_t by;

    (void)state;
    make_map(&clock, 8, length, &map);
    assert_int_equal(clock_bounds_init(&bounds, &map), 0);
    assert_ptr_equal(bounds.map, &map);
    for (unsigned i = 0; i < 50000; i++)
        add_pair(&bounds, &clock, &map, length);
    assert_true(bounds.n <= CLOCK_BOUNDS_PIECES);
    assert_int_equal(clock_bounds_map(&bounds, &tight, &by), 0);
    (void)check(&tight, &clock, length);
    clock_map_done(&tight);
    clock_bounds_done(&bounds);
    clock_map_done(&map);
}

static void contradictions_are_found(void **state)
{
    struct simulated clock = {.hz = 1e9, .period = SECOND, .start = 1e6};
    struct clock_map map, tight;
    struct clock_bounds bounds;
    int64_t by = 0;

    (void)state;
    make_map(&clock, 4, 10 * SECOND, &map);
    assert_int_equal(clock_bounds_init(&bounds, &map), 0);
    assert_int_equal(clock_bounds_map(&bounds, &tight, &by), 0); /* as the pairs are */
    clock_map_done(&tight);
    clock_bounds_add_most(&bounds, (int64_t)(HOST_START + 1 * SECOND), -5000000);
    assert_int_equal(clock_bounds_map(&bounds, &tight, &by), -EINVAL);
    assert_true(by > 4000000 && by < 6000000);
    clock_bounds_done(&bounds);

    /* Both within the stated error, but not together. */
    assert_int_equal(clock_bounds_init(&bounds, &map), 0);
    clock_bounds_add_most(&bounds, (int64_t)(HOST_START + 5 * SECOND), -2000);
    clock_bounds_add_least(&bounds, (int64_t)(HOST_START + 5 * SECOND) + 1000, 3000);
    assert_int_equal(clock_bounds_map(&bounds, &tight, &by), -EINVAL);
    assert_true(by > 4000 && by < 6000);
    clock_bounds_done(&bounds);
    clock_map_done(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(true_time_is_within),
        cmocka_unit_test(pieces_are_bounded),
        cmocka_unit_test(contradictions_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
