/* SPDX-License-Identifier: MIT */
/* Lookups of intervals find what a look at each of them finds, in the order in which they begin. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "query/intervals.h"
#include "random.h"

#define N 3000

static uint64_t random_below(uint64_t n)
{
    return random_u64() % n;
}

static void add(struct intervals *intervals, int64_t begin, int64_t end, int32_t a, int32_t b)
{
    const struct interval item = {.begin = begin, .end = end, .text_len = 3, .codes = {a, b}};

    assert_int_equal(intervals_add(intervals, &item, "abc"), 0);
}

static bool is_wanted(const struct interval *item, const struct interval_range *range)
{
    for (unsigned i = 0; i < INTERVAL_CODES; i++)
        if (range->codes_given >> i & 1 && item->codes[i] != range->codes[i])
            return false;
    return item->begin >= range->begin_from && item->begin <= range->begin_to &&
           item->end >= range->end_from;
}

/* What a walk finds of them is all that there is; it may find others of the same hash. */
static void check(struct intervals *intervals, const struct interval_range *range)
{
    struct interval_walk walk;
    const struct interval *item;
    uint32_t next = 0;

    assert_int_equal(interval_walk_start(intervals, range, &walk), 0);
    while ((item = interval_walk_next(intervals, &walk))) {
        uint32_t number = (uint32_t)(item - intervals_item(intervals, 0));

        if (!is_wanted(item, range))
            continue;
        while (next < number)
            assert_false(is_wanted(intervals_item(intervals, next++), range));
        assert_int_equal(next, number);
        next++;
    }
    while (next < intervals->n)
        assert_false(is_wanted(intervals_item(intervals, next++), range));
}

static void test_lookups(void **state)
{
    (void)state;
    for (unsigned n = 0; n <= N; n = n < 70 ? n + 1 : n * 3) {
        struct intervals intervals;

        assert_int_equal(intervals_init(&intervals, "/tmp"), 0);
        for (unsigned i = 0; i < n; i++) {
            int64_t begin = (int64_t)random_below(1000);
            int64_t length = (int64_t)random_below(i % 50 == 0 ? 900 : 20);

            add(&intervals, begin, i % 90 == 7 ? INT64_MAX : begin + length,
                (int32_t)random_below(4), i % 5 == 0 ? CODE_NULL : (int32_t)(i % 3));
        }
        assert_int_equal(intervals_sort(&intervals), 0);
        assert_int_equal(intervals.n, n);
        for (unsigned i = 0; i < 60; i++) {
            int64_t at = (int64_t)random_below(1100) - 50;
            struct interval_range range = {
                .codes_given = (unsigned)random_below(4),
                .codes = {(int32_t)random_below(5), (int32_t)random_below(3)},
                .begin_from = INT64_MIN,
                .begin_to = INT64_MAX,
                .end_from = INT64_MIN};

            if (i % 3 > 0)
                range.begin_to = at;
            if (i % 3 > 1)
                range.end_from = at;
            if (i % 4 == 0)
                range.begin_from = at - 30;
            check(&intervals, &range);
        }
        intervals_done(&intervals);
    }
}

static void test_texts(void **state)
{
    struct intervals intervals;
    int32_t a, b;

    (void)state;
    assert_int_equal(intervals_init(&intervals, "/tmp"), 0);
    assert_int_equal(intervals_find_number(&intervals, "x", 1, &a), -ENOENT);
    assert_int_equal(intervals_number(&intervals, "x", 1, &a), 0);
    assert_int_equal(intervals_number(&intervals, "", 0, &b), 0);
    assert_int_not_equal(a, b);
    for (int i = 0; i < 1000; i++) {
        char text[16];

        snprintf(text, sizeof text, "text %d", i);
        assert_int_equal(intervals_number(&intervals, text, (uint32_t)strlen(text), &b), 0);
    }
    assert_int_equal(intervals_find_number(&intervals, "x", 1, &b), 0);
    assert_int_equal(a, b);
    assert_string_equal(intervals.names[b], "x");
    add(&intervals, 1, 2, 3, 4);
    assert_memory_equal(intervals.texts.bytes, "abc", 3);
    intervals_done(&intervals);
    assert_int_equal(intervals_init(&intervals, "/nonexistent"), -ENOENT);
    intervals_done(&intervals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
