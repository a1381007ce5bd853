/* SPDX-License-Identifier: MIT */
/* Encodings of Parquet: examples of its specification, and a decoder that shares nothing with them. */
#include <stdlib.h>

#include "base/macro.h"
#include "export/parquet/encode.h"
#include "export/parquet/thrift.h"
#include "lib/cmocka_all.h"
#include "lib/parquet_decode.h"
#include "lib/random.h"

#define N_MAX 2000

static void check_rle(const uint32_t *values, size_t n, unsigned width)
{
    struct text out = TEXT_IN_MEMORY;
    uint32_t *decoded = calloc(n + 1, sizeof *decoded);

    assert_non_null(decoded);
    parquet_put_rle(&out, values, n, width);
    assert_int_equal(out.error, 0);
    assert_true(decode_rle((const uint8_t *)out.start, text_len(&out), width, decoded, n));
    assert_memory_equal(decoded, values, n * sizeof *values);
    text_done(&out);
    free(decoded);
}

static void check_delta(const uint64_t *values, size_t n)
{
    struct text out = TEXT_IN_MEMORY;
    uint64_t *decoded = calloc(n + 1, sizeof *decoded);

    assert_non_null(decoded);
    parquet_put_delta(&out, values, n);
    assert_int_equal(out.error, 0);
    assert_true(decode_delta((const uint8_t *)out.start, text_len(&out), decoded, n));
    assert_memory_equal(decoded, values, n * sizeof *values);
    text_done(&out);
    free(decoded);
}

static void test_specified(void **state)
{
    /* Encodings.md: the numbers 0 to 7 with a width of 3 bits. */
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const uint8_t packed[] = {1 << 1 | 1, 0x88, 0xc6, 0xfa};
    /* 7, 5, 3, 1, 2, 3, 4, 5: the first value, the least difference -2, widths 2 0 0 0, 0 0 0 3 3 3 3. */
    static const uint64_t deltas[] = {7, 5, 3, 1, 2, 3, 4, 5};
    static const uint8_t delta[] = {0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0xc0, 0x3f};
    struct text out = TEXT_IN_MEMORY;

    (void)state;
    parquet_put_rle(&out, numbers, ARRAY_SIZE(numbers), 3);
    assert_int_equal(text_len(&out), sizeof packed);
    assert_memory_equal(out.start, packed, sizeof packed);
    text_done(&out);
    out = TEXT_IN_MEMORY;
    parquet_put_delta(&out, deltas, ARRAY_SIZE(deltas));
    assert_int_equal(text_len(&out), sizeof delta - 2 + 8);
    assert_memory_equal(out.start, delta, sizeof delta);
    text_done(&out);
}

static void test_ends(void **state)
{
    static const uint64_t wide[] = {0, UINT64_MAX, 1, (uint64_t)1 << 63, 0, INT64_MAX, UINT64_MAX};
    uint32_t same[N_MAX] = {0};

    (void)state;
    check_delta(wide, 0);
    check_delta(wide, 1);
    check_delta(wide, ARRAY_SIZE(wide));
    for (size_t n = 0; n < 40; n++)
        check_rle(same, n, 1);
    for (size_t i = 0; i < N_MAX; i++)
        same[i] = UINT32_MAX;
    check_rle(same, N_MAX, 32);
}

/* Runs and others in turn, of any width. */
static void test_random(void **state)
{
    static uint32_t values[N_MAX];
    static uint64_t wide[N_MAX];

    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        unsigned width = 1 + (unsigned)(random_u64() % 32),
                 width64 = 1 + (unsigned)(random_u64() % 64);
        size_t n = random_u64() % N_MAX;

        for (size_t i = 0; i < n; i++) {
            bool again = i > 0 && random_u64() % 16 != 0 && round % 2;

            values[i] = again ? values[i - 1] : (uint32_t)(random_u64() >> (64 - width));
            wide[i] = again ? wide[i - 1] + 3 : random_u64() >> (64 - width64);
        }
        check_rle(values, n, width);
        check_delta(wide, n);
    }
}

static void test_thrift(void **state)
{
    /* thrift-compact-protocol.md: field 1 of i32 -1, field 3 of binary "ab", the end. */
    static const uint8_t expected[] = {1 << 4 | 5, 1, 2 << 4 | 8, 2, 'a', 'b', 0};
    struct text out = TEXT_IN_MEMORY;
    unsigned last = 0;

    (void)state;
    thrift_number(&out, &last, 1, THRIFT_I32, -1);
    thrift_binary(&out, &last, 3, "ab", 2);
    thrift_end(&out);
    assert_int_equal(text_len(&out), sizeof expected);
    assert_memory_equal(out.start, expected, sizeof expected);
    text_done(&out);
    out = TEXT_IN_MEMORY;
    last = 0;
    thrift_list(&out, &last, 2, THRIFT_I64, 15);
    assert_int_equal(text_len(&out), 3);
    assert_memory_equal(out.start, "\x29\xf6\x0f", 3);
    text_done(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_specified),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_thrift),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
