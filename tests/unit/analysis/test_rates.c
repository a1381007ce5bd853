/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include "analysis/rates.h"
#include "base/macro.h"

static uint64_t sum(const struct rates *rates)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < RATES_MAX; i++) {
        all += rates->counts[i];
        if (i >= rates->n)
            assert_int_equal(rates->counts[i], 0);
    }
    return all;
}

/* Periods become longer as time goes on, and nothing is lost of what was counted before. */
static void test_long_trace(void **state)
{
    struct rates rates = {.begin = 1000};
    uint64_t n = 0;

    (void)state;
    for (int64_t time = 1000; time < INT64_MAX / 4; time = time * 3 / 2) {
        rates_add(&rates, time);
        assert_int_equal(sum(&rates), ++n);
        assert_true(rates.n <= RATES_MAX);
        assert_true(rates.counts[(uint64_t)(time - 1000) >> rates.shift] > 0);
        /* Not longer than the trace needs. */
        assert_true(rates.shift == 0 || (uint64_t)(time - 1000) >> (rates.shift - 1) >= RATES_MAX);
    }
}

static void test_even_trace(void **state)
{
    struct rates rates = {.begin = -500};

    (void)state;
    for (int64_t time = -500; time < 10000; time++)
        rates_add(&rates, time);
    assert_int_equal(rates.shift, 7);
    assert_int_equal(rates.n, 10500 / 128 + 1);
    for (unsigned i = 0; i + 1 < rates.n; i++)
        assert_int_equal(rates.counts[i], 128);
    assert_int_equal(rates.counts[rates.n - 1], 10500 % 128);
}

/* Before the begin, and at both ends of what times can be. */
static void test_extremes(void **state)
{
    struct rates rates = {.begin = 7};

    (void)state;
    rates_add(&rates, INT64_MIN);
    rates_add(&rates, 6);
    rates_add(&rates, 7);
    assert_int_equal(rates.counts[0], 3);
    assert_int_equal(rates.shift, 0);
    rates_add(&rates, INT64_MAX);
    assert_int_equal(sum(&rates), 4);
    rates = (struct rates){.begin = INT64_MIN};
    rates_add(&rates, INT64_MAX);
    assert_int_equal(sum(&rates), 1);
    assert_true(rates.n > RATES_MAX / 2 && rates.n <= RATES_MAX);
}

static void test_stretch(void **state)
{
    struct rates rates = {.begin = 0};

    (void)state;
    for (int64_t time = 0; time < 7; time++)
        rates_add(&rates, time);
    rates_stretch(&rates, 2);
    assert_int_equal(rates.n, 2);
    assert_int_equal(rates.counts[0], 4);
    assert_int_equal(rates.counts[1], 3);
    rates_stretch(&rates, 1); /* never shorter */
    assert_int_equal(rates.shift, 2);
    assert_int_equal(sum(&rates), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_trace),
        cmocka_unit_test(test_even_trace),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_stretch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
