/* SPDX-License-Identifier: MIT */
#pragma once

/* Sums and products of 64-bit numbers, such as times and rates, in 128 bits.
 *
 * A `wide` is signed. The compiler's own type is used if there is one. A 32-bit machine has none, and computes the same
 * results from two halves. Sums and products are modulo 2^128, quotients are rounded toward zero. Divisors are not 0. */

#include <stdbool.h>
#include <stdint.h>

/* A test defines WIDE_PORTABLE to have the halves on any machine. */
#if defined(__SIZEOF_INT128__) && !defined(WIDE_PORTABLE)

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_unsigned;

static inline wide wide_of(int64_t v)
{
    return v;
}

static inline wide wide_of_u64(uint64_t v)
{
    return v;
}

static inline wide wide_add(wide a, wide b)
{
    return (wide)((wide_unsigned)a + (wide_unsigned)b);
}

static inline wide wide_sub(wide a, wide b)
{
    return (wide)((wide_unsigned)a - (wide_unsigned)b);
}

static inline wide wide_mul(wide a, wide b)
{
    return (wide)((wide_unsigned)a * (wide_unsigned)b);
}

static inline wide wide_div(wide a, wide b)
{
    return a / b;
}

static inline wide wide_rem(wide a, wide b)
{
    return a % b;
}

/* Below 0, 0, or above 0: as A is less than B, equal, or more. */
static inline int wide_compare(wide a, wide b)
{
    return (a > b) - (a < b);
}

/* The low 64 bits. */
static inline uint64_t wide_low(wide v)
{
    return (uint64_t)v;
}

static inline double wide_to_double(wide v)
{
    return (double)v;
}

/* The low 64 bits of A * B / C, rounded down. */
static inline uint64_t mul_div_u64(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((wide_unsigned)a * b / c);
}

/* The low 64 bits of A * B / 2^SHIFT, rounded down; SHIFT is less than 128. */
static inline uint64_t mul_shift_u64(uint64_t a, uint64_t b, unsigned shift)
{
    return (uint64_t)((wide_unsigned)a * b >> shift);
}

#else

typedef struct {
    uint64_t low, high; /* two's complement */
} wide;

static inline wide wide_of_u64(uint64_t v)
{
    return (wide){v, 0};
}

static inline wide wide_of(int64_t v)
{
    return (wide){(uint64_t)v, v < 0 ? UINT64_MAX : 0};
}

static inline wide wide_add(wide a, wide b)
{
    uint64_t low = a.low + b.low;

    return (wide){low, a.high + b.high + (low < a.low)};
}

static inline wide wide_sub(wide a, wide b)
{
    return (wide){a.low - b.low, a.high - b.high - (a.low < b.low)};
}

/* All 128 bits of A * B. */
static inline wide wide_mul_u64(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;

    return (wide){other << 32 | (uint32_t)low, a1 * b1 + (middle >> 32) + (other >> 32)};
}

static inline wide wide_mul(wide a, wide b)
{
    wide product = wide_mul_u64(a.low, b.low);

    product.high += a.low * b.high + a.high * b.low;
    return product;
}

static inline bool wide_is_negative(wide v)
{
    return v.high >> 63;
}

/* A / B of numbers that are taken as unsigned; the remainder goes into *RET_LEFT. */
static inline wide wide_div_unsigned(wide a, wide b, wide *ret_left)
{
    wide quotient = {0, 0}, left = {0, 0};
    unsigned n = 128;

    if (a.high == 0 && b.high == 0) {
        *ret_left = (wide){a.low % b.low, 0};
        return (wide){a.low / b.low, 0};
    }
    if (b.high == 0 && b.low <= UINT32_MAX) { /* digits of 32 bits */
        uint64_t digit = a.high % b.low << 32 | a.low >> 32;

        quotient.high = a.high / b.low;
        quotient.low = digit / b.low << 32;
        digit = digit % b.low << 32 | (uint32_t)a.low;
        quotient.low |= digit / b.low;
        *ret_left = (wide){digit % b.low, 0};
        return quotient;
    }
    if (a.high == 0) {
        a = (wide){0, a.low};
        n = 64;
    }
    while (n-- > 0) { /* bits, from the highest */
        bool carry = left.high >> 63;

        left = (wide){left.low << 1 | a.high >> 63, left.high << 1 | left.low >> 63};
        a = (wide){a.low << 1, a.high << 1 | a.low >> 63};
        quotient = (wide){quotient.low << 1, quotient.high << 1 | quotient.low >> 63};
        if (carry || left.high > b.high || (left.high == b.high && left.low >= b.low)) {
            left = wide_sub(left, b);
            quotient.low |= 1;
        }
    }
    *ret_left = left;
    return quotient;
}

static inline wide wide_negate_if(bool negate, wide v)
{
    return negate ? wide_sub((wide){0, 0}, v) : v;
}

static inline wide wide_div(wide a, wide b)
{
    wide left, quotient = wide_div_unsigned(wide_negate_if(wide_is_negative(a), a),
                                            wide_negate_if(wide_is_negative(b), b), &left);

    return wide_negate_if(wide_is_negative(a) != wide_is_negative(b), quotient);
}

static inline wide wide_rem(wide a, wide b)
{
    wide left;

    (void)wide_div_unsigned(wide_negate_if(wide_is_negative(a), a),
                            wide_negate_if(wide_is_negative(b), b), &left);
    return wide_negate_if(wide_is_negative(a), left);
}

static inline int wide_compare(wide a, wide b)
{
    if (a.high != b.high)
        return (int64_t)a.high < (int64_t)b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

static inline uint64_t wide_low(wide v)
{
    return v.low;
}

static inline double wide_to_double(wide v)
{
    wide size = wide_negate_if(wide_is_negative(v), v);
    bool is_negative = wide_is_negative(v);
    double scale = 1, result;

    /* 62 bits; the lowest bit also stands for all bits that are left out, so that the value is rounded once. */
    while (size.high > 0 || size.low >> 62 != 0) {
        size = (wide){size.high << 63 | size.low >> 1 | (size.low & 1), size.high >> 1};
        scale *= 2;
    }
    result = (double)(int64_t)size.low * scale;
    return is_negative ? -result : result;
}

static inline uint64_t mul_div_u64(uint64_t a, uint64_t b, uint64_t c)
{
    wide left;

    return wide_div_unsigned(wide_mul_u64(a, b), wide_of_u64(c), &left).low;
}

static inline uint64_t mul_shift_u64(uint64_t a, uint64_t b, unsigned shift)
{
    wide product = wide_mul_u64(a, b);

    if (shift >= 64)
        return product.high >> (shift - 64);
    return shift == 0 ? product.low : product.high << (64 - shift) | product.low >> shift;
}

#endif

static inline wide wide_neg(wide v)
{
    return wide_sub(wide_of(0), v);
}

static inline bool wide_is_less(wide a, wide b)
{
    return wide_compare(a, b) < 0;
}

static inline wide wide_max(wide a, wide b)
{
    return wide_is_less(a, b) ? b : a;
}

static inline wide wide_abs(wide v)
{
    return wide_is_less(v, wide_of(0)) ? wide_neg(v) : v;
}

/* A + B, A - B and A * B of any 64-bit numbers. */
static inline wide wide_sum(int64_t a, int64_t b)
{
    return wide_add(wide_of(a), wide_of(b));
}

static inline wide wide_difference(int64_t a, int64_t b)
{
    return wide_sub(wide_of(a), wide_of(b));
}

static inline wide wide_product(int64_t a, int64_t b)
{
    return wide_mul(wide_of(a), wide_of(b));
}

/* True if V fits 64 bits; then *RET is V. */
static inline bool wide_fits(wide v, int64_t *ret)
{
    int64_t low = (int64_t)wide_low(v);

    if (wide_compare(v, wide_of(low)) != 0)
        return false;
    *ret = low;
    return true;
}

/* V clamped to 64 bits. */
static inline int64_t wide_clamp(wide v)
{
    if (wide_is_less(wide_of(INT64_MAX), v))
        return INT64_MAX;
    return wide_is_less(v, wide_of(INT64_MIN)) ? INT64_MIN : (int64_t)wide_low(v);
}

/* The same, but never INT64_MIN, so that the result can be negated. */
static inline int64_t narrow(wide v)
{
    int64_t clamped = wide_clamp(v);

    return clamped == INT64_MIN ? -INT64_MAX : clamped;
}

/* A * B / C, clamped. */
static inline int64_t mul_div_i64(int64_t a, int64_t b, uint64_t c)
{
    return wide_clamp(wide_div(wide_product(a, b), wide_of_u64(c)));
}
