/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers as text, by hand: a printf call costs ten times as much as all digits of a short event. Each
 * function writes at P, where at least NUMBER_MAX bytes must be free, and returns the position after
 * the last character; no NUL is written. */

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NUMBER_MAX 24

/* "00" "01" … "99". */
extern const char number_pairs[200];

static inline unsigned number_dec_digits(uint64_t v)
{
    static const uint64_t powers[20] = {0,
                                        10,
                                        100,
                                        1000,
                                        10000,
                                        100000,
                                        1000000,
                                        10000000,
                                        100000000,
                                        1000000000,
                                        10000000000,
                                        100000000000,
                                        1000000000000,
                                        10000000000000,
                                        100000000000000,
                                        1000000000000000,
                                        10000000000000000,
                                        100000000000000000,
                                        1000000000000000000,
                                        10000000000000000000u};
    /* log10 = log2 * 1233 / 4096, one too small or exact. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned guess = bits * 1233 >> 12;

    return guess + (v >= powers[guess]);
}

/* Exactly N digits of V, with leading zeros; higher digits are cut. */
static inline char *number_dec_fixed(char *p, uint64_t v, unsigned n)
{
    char *end = p + n;
    char *q = end;

    while (n >= 2) {
        q -= 2;
        memcpy(q, number_pairs + v % 100 * 2, 2);
        v /= 100;
        n -= 2;
    }
    if (n)
        *--q = (char)('0' + v % 10);
    return end;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NUMBER_ZEROS UINT64_C(0x3030303030303030)

/* The eight digits of V, which is below 100,000,000, as bytes 0 to 9; the first one is the lowest
 * byte, so that a store puts them in order. Halves three times, all pieces at once. */
static inline uint64_t number_dec_8(uint32_t v)
{
    uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
    uint64_t hundreds = (x * 10486 >> 20) & UINT64_C(0x7f0000007f);
    uint64_t tens;

    x = hundreds | (x - 100 * hundreds) << 16;
    tens = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    return tens | (x - 10 * tens) << 8;
}

/* The slow half of number_dec(): V is NUMBER_DEC_SHORT or more. */
#define NUMBER_DEC_SHORT 100000000
char *number_dec_long(char *p, uint64_t v);
#endif

/* Eight digits, V below 10^8. */
static inline char *number_dec8(char *p, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t digits = number_dec_8(v) | NUMBER_ZEROS;

    memcpy(p, &digits, sizeof digits);
    return p + sizeof digits;
#else
    return number_dec_fixed(p, v, 8);
#endif
}

/* Nine digits, V below 10^9: shorter chains of divisions than one digit pair after the other. */
static inline char *number_dec9(char *p, uint32_t v)
{
    uint32_t high = v / 10000;
    uint32_t low = v - high * 10000;
    uint32_t top = high / 10000;

    high -= top * 10000;
    *p = (char)('0' + top);
    memcpy(p + 1, number_pairs + high / 100 * 2, 2);
    memcpy(p + 3, number_pairs + high % 100 * 2, 2);
    memcpy(p + 5, number_pairs + low / 100 * 2, 2);
    memcpy(p + 7, number_pairs + low % 100 * 2, 2);
    return p + 9;
}

/* Most numbers are small, and looked up: their digits, and how many. */
#define NUMBER_SMALL 1000
extern const struct number_small {
    char digits[3];
    uint8_t n;
} number_small[NUMBER_SMALL];

static inline char *number_dec(char *p, uint64_t v)
{
    if (v < NUMBER_SMALL) {
        memcpy(p, &number_small[v], sizeof number_small[v]);
        return p + number_small[v].n;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (v < NUMBER_DEC_SHORT) {
        uint64_t digits = number_dec_8((uint32_t)v);
        unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) & ~7u;

        digits = (digits | NUMBER_ZEROS) >> zeros;
        memcpy(p, &digits, sizeof digits);
        return p + 8 - zeros / 8;
    }
    return number_dec_long(p, v);
#else
    return number_dec_fixed(p, v, number_dec_digits(v));
#endif
}

static inline char *number_sdec(char *p, int64_t v)
{
    if (v < 0) {
        *p++ = '-';
        return number_dec(p, -(uint64_t)v);
    }
    return number_dec(p, (uint64_t)v);
}

/* The eight hexadecimal digits of V as they lie in memory. All at once: nibbles are spread to a byte
 * each, then '0' or 'a' - 10 is added to every byte. */
static inline uint64_t number_hex8(uint32_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = v;

    x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
    x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    x = x + ones * '0' + ((x + ones * 6) >> 4 & ones) * ('a' - 10 - '0');
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The last N (1 to 8) of eight digits to P; up to 8 bytes are written. */
static inline void number_put_hex8(char *p, uint64_t digits, unsigned n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    digits >>= 8 * (8 - n);
#else
    digits <<= 8 * (8 - n);
#endif
    memcpy(p, &digits, 8);
}

/* The two digits of a byte; needs room for these two only. */
static inline char *number_hex_byte(char *p, uint8_t v)
{
    static const char digits[] = "0123456789abcdef";

    p[0] = digits[v >> 4];
    p[1] = digits[v & 15];
    return p + 2;
}

/* Exactly N digits (1 to 16). Like all functions but number_hex_byte(), may write up to NUMBER_MAX
 * bytes. */
static inline char *number_hex_fixed(char *p, uint64_t v, unsigned n)
{
    uint64_t low = number_hex8((uint32_t)v);

    if (n <= 8) {
        number_put_hex8(p, low, n);
    } else {
        number_put_hex8(p, number_hex8((uint32_t)(v >> 32)), n - 8);
        number_put_hex8(p + n - 8, low, 8);
    }
    return p + n;
}

/* At least MINIMUM digits (1 to 16), with leading zeros: "%08x". */
static inline char *number_hex_minimum(char *p, uint64_t v, unsigned minimum)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned n = (bits + 3) / 4;

    return number_hex_fixed(p, v, n > minimum ? n : minimum);
}

/* Without a branch on the number of digits, which would be mispredicted. */
static inline char *number_hex(char *p, uint64_t v)
{
    unsigned zeros = (unsigned)__builtin_clzll(v | 1) / 4;

    v <<= 4 * zeros;
#ifdef __SSE2__
    const __m128i nibble = _mm_set1_epi8(0x0f);
    __m128i bytes = _mm_cvtsi64_si128((long long)__builtin_bswap64(v));
    __m128i digits = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi64(bytes, 4), nibble),
                                       _mm_and_si128(bytes, nibble));
    __m128i letters = _mm_cmpgt_epi8(digits, _mm_set1_epi8(9));

    digits = _mm_add_epi8(digits, _mm_set1_epi8('0'));
    digits = _mm_add_epi8(digits, _mm_and_si128(letters, _mm_set1_epi8('a' - '0' - 10)));
    _mm_storeu_si128((__m128i *)(void *)p, digits);
#else
    number_put_hex8(p, number_hex8((uint32_t)(v >> 32)), 8);
    number_put_hex8(p + 8, number_hex8((uint32_t)v), 8);
#endif
    return p + 16 - zeros;
}

/* V nanoseconds as seconds with nine decimals. */
static inline char *number_seconds(char *p, int64_t ns)
{
    uint64_t v = (uint64_t)ns;

    if (ns < 0) {
        *p++ = '-';
        v = -v;
    }
    p = number_dec(p, v / 1000000000);
    *p++ = '.';
    return number_dec9(p, (uint32_t)(v % 1000000000));
}

/* Writes V with the fewest digits (15 to 17) that are read back as the same V: "0.1"; "nan", "inf", "-inf". */
char *number_double(char *p, double v);

/* The value of the hexadecimal digit C; -1: it is not one. */
static inline int number_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}
