/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/tally.h"
#include "base/macro.h"
#include "random.h"

/* Buckets follow each other without a gap, and none is wider than it may be. */
static void test_buckets(void **state)
{
    unsigned last = 0;

    for (uint64_t v = 1; v < 1 << 16; v++) {
        unsigned bucket = histogram_bucket(v);
        assert_in_range(bucket, last, last + 1);
        last = bucket;
    }
    assert_int_equal(histogram_bucket(0), 0);
    assert_int_equal(histogram_bucket(63), 63);
    assert_int_equal(histogram_bucket(64), 64);
    assert_int_equal(histogram_bucket(65), 64);
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
    for (unsigned shift = 6; shift < 64; shift++)
        assert_int_equal(histogram_bucket((uint64_t)1 << shift),
                         histogram_bucket(((uint64_t)1 << shift) - 1) + 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Against the exact quantiles, of values that spread over all sizes. */
static void test_quantiles(void **state)
{
    enum { N = 20011 };
    static uint64_t values[N];
    static const unsigned permilles[] = {1, 10, 100, 500, 900, 990, 999, 1000};

    for (unsigned round = 0; round < 20; round++) {
        struct histogram *h = calloc(1, sizeof *h);

        for (unsigned i = 0; i < N; i++) {
            values[i] = random_u64() >> (round < 19 ? random_u64() % 64 : 58);
            histogram_add(h, values[i]);
        }
        qsort(values, N, sizeof *values, compare);
        assert_int_equal(h->max, values[N - 1]);
        for (unsigned i = 0; i < ARRAY_SIZE(permilles); i++) {
            uint64_t exact = values[(N * permilles[i] + 999) / 1000 - 1];
            uint64_t got = histogram_quantile(h, permilles[i]);
            uint64_t off = got > exact ? got - exact : exact - got;

            assert_true(off <= exact / 64);
            if (exact < 64)
                assert_int_equal(got, exact);
        }
        histogram_done(h);
        free(h);
    }
}

static void test_empty_histogram(void **state)
{
    static struct histogram h;

    assert_int_equal(histogram_quantile(&h, 500), 0);
    histogram_add(&h, 0);
    assert_int_equal(histogram_quantile(&h, 500), 0);
    histogram_add(&h, 10);
    assert_int_equal(histogram_quantile(&h, 500), 0);
    assert_int_equal(histogram_quantile(&h, 501), 10);
    histogram_done(&h);
}

static const struct origin origins[2];
static struct event_class classes[] = {{.name = "a", .index = 0, .stat_row = 0},
                                       {.name = "b", .index = 700, .stat_row = 700}};

static struct item event(int64_t time, unsigned class, int cpu, int pid)
{
    return (struct item){.time = time,
                         .origin = &origins[0],
                         .class = &classes[class],
                         .cpu = cpu,
                         .pid = pid,
                         .vcpu = VCPU_UNKNOWN};
}

static void test_events_without_a_time(void **state)
{
    const struct item items[] = {
        event(TIME_UNKNOWN, 0, 0, 1), event(50, 0, 0, 1), event(TIME_UNKNOWN, 0, 0, 1),
        event(70, 0, 0, 1),           event(60, 0, 0, 1), event(90, 0, 0, 1),
    };
    const struct tally_row **rows;
    struct tally tally;
    unsigned n;

    tally_init(&tally, TALLY_BY_EVENT);
    assert_int_equal(sink_put(&tally.sink, items, 1), 0);
    assert_true(tally.first == TIME_UNKNOWN);
    assert_int_equal(tally_duration(&tally), 0);
    assert_int_equal(sink_put(&tally.sink, items + 1, 5), 0);
    assert_int_equal(tally.count, 6);
    assert_int_equal(tally.first, 50);
    assert_int_equal(tally.last, 90);
    assert_int_equal(tally_sorted(&tally, &rows, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0]->count, 6);
    assert_int_equal(rows[0]->first, 50);
    assert_int_equal(rows[0]->distances->n, 2);
    assert_int_equal(rows[0]->distances->max, 30); /* 60 to 90; 70 to 60 is left out */
    free(rows);
    tally_done(&tally);
}

static void test_by_event(void **state)
{
    const struct item items[] = {
        event(100, 1, 0, 1),
        event(110, 0, 0, 1),
        event(130, 1, 0, 1),
        {.kind = ITEM_LOSS, .origin = origins, .time = 140, .lost = 5, .cpu = 1},
        event(150, 1, 0, 1),
        event(140, 1, 0, 1),
        event(90, 0, 0, 1),
    };
    const struct tally_row **rows;
    struct tally tally;
    unsigned n;

    for (unsigned run = 1; run <= 7; run++) {
        tally_init(&tally, TALLY_BY_EVENT);
        for (unsigned i = 0; i < 7; i += run)
            assert_int_equal(sink_put(&tally.sink, items + i, MIN(run, 7 - i)), 0);
        assert_int_equal(tally.count, 6);
        assert_int_equal(tally.first, 90);
        assert_int_equal(tally.last, 150);
        assert_int_equal(tally.losses.events, 5);
        assert_int_equal(tally.losses.by_cpu[1], 5);
        assert_int_equal(tally_sorted(&tally, &rows, &n), 0);
        assert_int_equal(n, 2);
        assert_ptr_equal(rows[0]->class, &classes[1]);
        assert_int_equal(rows[0]->count, 4);
        /* 30 and 20; the one that stepped back is left out. */
        assert_int_equal(rows[0]->distances->n, 2);
        assert_int_equal(rows[0]->distances->max, 30);
        assert_int_equal(rows[1]->count, 2);
        assert_null(rows[1]->distances);
        free(rows);
        tally_done(&tally);
    }
}

/* Processes that run the same program: a class each. */
static void test_by_event_of_sources(void **state)
{
    static const struct origin host = {.layer = LAYER_HOST};
    static const struct event_class more[] = {
        {.name = "a", .group = "", .index = 900, .stat_row = 900},
        {.name = "a", .group = "g", .index = 3, .stat_row = 3},
        {.name = "a", .index = 901, .stat_row = 901}};
    struct item items[] = {
        event(100, 0, 0, 1), event(110, 0, 0, 1), event(125, 1, 0, 1), event(130, 0, 0, 1),
        event(131, 0, 0, 1), event(140, 0, 0, 1), event(141, 1, 0, 1),
    };
    const struct tally_row **rows;
    struct tally tally;
    unsigned n;

    items[1].origin = &origins[1];
    items[1].class = &more[0];
    items[3].class = &more[1];
    items[4].origin = &host;
    items[4].class = &more[2];
    for (unsigned sources = 0; sources < 2; sources++) {
        tally_init(&tally, sources ? TALLY_BY_SOURCE_EVENT : TALLY_BY_EVENT);
        assert_int_equal(sink_put(&tally.sink, items, ARRAY_SIZE(items)), 0);
        assert_int_equal(tally_sorted(&tally, &rows, &n), 0);
        assert_int_equal(n, sources ? 5 : 4);
        if (!sources) {
            assert_string_equal(rows[0]->class->name, "a");
            assert_int_equal(rows[0]->count, 3);
            assert_int_equal(rows[0]->distances->n, 2);
            assert_int_equal(rows[0]->distances->max, 30);
            assert_int_equal(rows[1]->count, 2);
            /* Equal counts by name. */
            assert_int_equal(rows[2]->origin->layer, LAYER_HOST);
            assert_string_equal(rows[3]->class->group, "g");
        }
        free(rows);
        tally_done(&tally);
    }
}

static void test_by_cpu_and_task(void **state)
{
    struct item items[5000];
    const struct tally_row **rows;
    struct tally tally;
    unsigned n;

    for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
        items[i] = event(i, 0, (int)(i % 5) - 1, (int)(i % 1000) - 1);
    items[17].origin = &origins[1];
    items[18].pid = PID_UNKNOWN;
    items[18].vcpu = 3;

    tally_init(&tally, TALLY_BY_CPU);
    assert_int_equal(sink_put(&tally.sink, items, ARRAY_SIZE(items)), 0);
    assert_int_equal(tally_sorted(&tally, &rows, &n), 0);
    assert_int_equal(n, 6); /* five, and the one of the other trace */
    assert_int_equal(rows[0]->count, 1000);
    assert_int_equal(rows[0]->cpu, -1);
    assert_int_equal(rows[0]->distances->max, 5);
    assert_int_equal(rows[4]->count, 999);
    assert_int_equal(rows[5]->count, 1);
    assert_ptr_equal(rows[5]->origin, &origins[1]);
    free(rows);
    tally_done(&tally);

    tally_init(&tally, TALLY_BY_TASK);
    assert_int_equal(sink_put(&tally.sink, items, ARRAY_SIZE(items)), 0);
    assert_int_equal(tally_sorted(&tally, &rows, &n), 0);
    assert_int_equal(n, 1002);
    assert_int_equal(rows[0]->count, 5);
    assert_int_equal(rows[0]->distances->max, 1000);
    free(rows);
    tally_done(&tally);
}

static void test_losses(void **state)
{
    struct losses losses = {0};
    const struct origin origin = {.layer = LAYER_GUEST};
    struct item loss = {.kind = ITEM_LOSS, .origin = &origin, .cpu = CPU_UNKNOWN, .lost = 7};

    losses_add(&losses, &loss);
    loss.cpu = 3;
    losses_add(&losses, &loss);
    loss.lost = LOST_UNKNOWN;
    loss.cause = LOSS_UNREADABLE;
    loss.skipped = 40;
    losses_add(&losses, &loss);
    loss.lost = UINT64_MAX - 1; /* a file's claim */
    loss.cpu = 1 << 20;
    losses_add(&losses, &loss);
    assert_int_equal(losses.n, 4);
    assert_int_equal(losses.events, 14);
    assert_int_equal(losses.uncounted, 2);
    assert_int_equal(losses.skipped, 80);
    assert_int_equal(losses.n_cpus, 4);
    assert_int_equal(losses.by_cpu[3], 7);
}

/* What the recorders of two sources counted, beside the records. */
static void test_recorded_losses(void **state)
{
    const struct origin counted = {.number = 0, .lost = 10}, silent = {.number = 1};
    const struct origin killed = {.number = 2, .lost_uncounted = true};
    struct item loss = {.kind = ITEM_LOSS, .origin = &counted, .cpu = CPU_UNKNOWN, .lost = 7};
    struct losses all = {0}, part, none = {0};

    losses_add_recorded(&none, &silent, false);
    assert_false(losses_any(&none));
    losses_add(&all, &loss);
    loss.origin = &silent;
    losses_add(&all, &loss);
    part = all;
    losses_add_recorded(&all, &counted, false);
    losses_add_recorded(&all, &silent, false);
    assert_int_equal(all.events, 17);
    assert_int_equal(all.unplaced, 3);
    assert_false(losses_are_more(&all));
    losses_add_recorded(&all, &killed, false);
    assert_int_equal(all.events, 17);
    assert_true(losses_are_more(&all));
    losses_add_recorded(&part, &counted, true);
    assert_int_equal(part.events, 14);
    assert_int_equal(part.unplaced, 0);
    assert_int_equal(part.elsewhere, 10);
    assert_true(losses_are_more(&part));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),         cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_empty_histogram), cmocka_unit_test(test_events_without_a_time),
        cmocka_unit_test(test_by_event),        cmocka_unit_test(test_by_event_of_sources),
        cmocka_unit_test(test_by_cpu_and_task), cmocka_unit_test(test_losses),
        cmocka_unit_test(test_recorded_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
