/* SPDX-License-Identifier: MIT */
/* base/wide.h without the compiler's 128-bit type, against that type where there is one, and against known results. */
#include "cmocka_all.h"

#define WIDE_PORTABLE
#include "base/wide.h"

static void knows_products_and_quotients(void **state)
{
    wide product = wide_product(INT64_MIN, INT64_MIN); /* 2^126 */
    int64_t v = 7;

    (void)state;
    assert_int_equal(wide_low(product), 0);
    assert_int_equal(wide_low(wide_div(product, wide_of(INT64_MIN))), INT64_MIN);
    assert_int_equal(wide_clamp(product), INT64_MAX);
    assert_int_equal(wide_clamp(wide_neg(product)), INT64_MIN);
    assert_int_equal(narrow(wide_neg(product)), -INT64_MAX);
    assert_int_equal(narrow(wide_of(INT64_MIN)), -INT64_MAX);
    assert_true(wide_to_double(product) == 85070591730234615865843651857942052864.0);
    assert_true(wide_to_double(wide_of(-3)) == -3);
    /* Quotients are rounded toward 0, and remainders have the dividend's sign. */
    assert_int_equal(wide_low(wide_div(wide_of(-7), wide_of(2))), -3);
    assert_int_equal(wide_low(wide_rem(wide_of(-7), wide_of(2))), -1);
    assert_int_equal(wide_low(wide_rem(wide_of(7), wide_of(-2))), 1);
    /* Divisors of 32, 64 and more bits. */
    assert_int_equal(mul_div_u64(UINT64_MAX, 1000000000, 1000000000), UINT64_MAX);
    assert_int_equal(mul_div_u64(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
    assert_int_equal(mul_div_u64(UINT64_MAX, 3, 4), UINT64_C(13835058055282163711));
    assert_int_equal(wide_low(wide_div(wide_mul(wide_of(1), wide_of(INT64_MAX)),
                                       wide_add(wide_of_u64(UINT64_MAX), wide_of(1)))),
                     0);
    assert_int_equal(mul_shift_u64(UINT64_MAX, UINT64_MAX, 64), UINT64_MAX - 1);
    assert_int_equal(mul_shift_u64(UINT64_MAX, UINT64_MAX, 0), 1);
    assert_int_equal(mul_shift_u64(UINT64_MAX, UINT64_MAX, 127), 1);
    assert_int_equal(mul_div_i64(INT64_MIN, 5, 2), INT64_MIN);
    assert_int_equal(mul_div_i64(-1000000007, 1000000000, 3000000000), -333333335);
    assert_false(wide_fits(product, &v));
    assert_false(wide_fits(wide_of_u64(UINT64_MAX), &v));
    assert_int_equal(v, 7);
    assert_true(wide_fits(wide_of(INT64_MIN), &v));
    assert_int_equal(v, INT64_MIN);
}

#ifdef __SIZEOF_INT128__

__extension__ typedef __int128 native;
__extension__ typedef unsigned __int128 native_unsigned;

static uint64_t random_u64(void)
{
    static uint64_t state = 88172645463325252u; /* xorshift64 */

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Of any length, and often at the end of a range. */
static uint64_t random_number(void)
{
    uint64_t v = random_u64() >> random_u64() % 64;

    switch (random_u64() % 8) {
    case 0: return UINT64_C(1) << v % 64;
    case 1: return (UINT64_C(1) << v % 64) - 1;
    case 2: return -v;
    default: return v;
    }
}

static native native_of(wide v)
{
    return (native)((native_unsigned)v.high << 64 | v.low);
}

static wide random_wide(void)
{
    wide v = {random_number(), 0};

    if (random_u64() % 2)
        v.high = random_number();
    return random_u64() % 2 ? wide_neg(v) : v;
}

static void assert_same(wide v, native expected)
{
    assert_int_equal(v.low, (uint64_t)expected);
    assert_int_equal(v.high, (uint64_t)((native_unsigned)expected >> 64));
}

static void is_the_compilers_type(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300000; i++) {
        wide a = random_wide(), b = random_wide();
        native na = native_of(a), nb = native_of(b);
        native_unsigned ua = (native_unsigned)na, ub = (native_unsigned)nb;
        uint64_t x = random_number(), y = random_number(), z = random_number();
        unsigned shift = (unsigned)(random_u64() % 128);
        native clamped = na > INT64_MAX ? INT64_MAX : na < INT64_MIN ? INT64_MIN : na;

        assert_same(wide_add(a, b), (native)(ua + ub));
        assert_same(wide_sub(a, b), (native)(ua - ub));
        assert_same(wide_mul(a, b), (native)(ua * ub));
        assert_int_equal(wide_compare(a, b), (na > nb) - (na < nb));
        if (nb != 0 && nb != -1) { /* the lowest by -1 is no number */
            assert_same(wide_div(a, b), na / nb);
            assert_same(wide_rem(a, b), na % nb);
        }
        assert_true(wide_to_double(a) == (double)na);
        assert_int_equal(wide_clamp(a), (int64_t)clamped);
        assert_same(wide_of((int64_t)x), (native)(int64_t)x);
        assert_same(wide_of_u64(x), (native)x);
        assert_int_equal(mul_shift_u64(x, y, shift), (uint64_t)((native_unsigned)x * y >> shift));
        if (z != 0)
            assert_int_equal(mul_div_u64(x, y, z), (uint64_t)((native_unsigned)x * y / z));
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_products_and_quotients),
#ifdef __SIZEOF_INT128__
        cmocka_unit_test(is_the_compilers_type),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
