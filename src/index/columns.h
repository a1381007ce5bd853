/* SPDX-License-Identifier: MIT */
#pragma once

/* Columns in the blocks of an index (index/format.h). A column has N numbers of WIDTH bits each, the lowest bits first,
 * padded to a byte. All numbers have the same width, so each can be decoded without the previous one.
 *
 * An ascending column has N numbers in ascending order (P. Elias, "Efficient storage and retrieval by content and
 * address of static files", 1974). The low bits of the numbers are a column. Their high bits follow as a bit set: bit
 * HIGH + I is set for number I. A number takes at most two bits more than log2(LAST / N), however unequal the gaps are.
 * The reader knows N and the last number, and thus both widths. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"

/* column_put() may write so many bytes after the column, and column_get() requires them. */
#define COLUMN_SLACK 8

/* A larger width becomes 64, with 8 bytes for each number. */
#define COLUMN_NARROW_MAX 56u

/* The width for N numbers at VALUES. */
static inline unsigned column_width(const uint64_t *values, unsigned n)
{
    uint64_t all = 0;
    unsigned width;

    for (unsigned i = 0; i < n; i++)
        all |= values[i];
    width = all ? 64 - (unsigned)__builtin_clzll(all) : 0;
    return width > COLUMN_NARROW_MAX ? 64 : width;
}

static inline size_t column_size(unsigned width, unsigned n)
{
    return ((size_t)width * n + 7) / 8;
}

/* Writes at P, where the column and COLUMN_SLACK bytes must be free. Returns the end of the column. */
static inline uint8_t *column_put(uint8_t *p, const uint64_t *values, unsigned n, unsigned width)
{
    size_t size = column_size(width, n);

    memset(p, 0, size + COLUMN_SLACK);
    for (unsigned i = 0; i < n; i++) {
        size_t bit = (size_t)i * width;
        uint8_t *to = p + bit / 8;

        store_le64(to, load_le64(to) | values[i] << bit % 8);
    }
    return p + size;
}

/* Reads at *P, before END, and advances *P. False if the column is not complete. */
static inline bool column_get(const uint8_t **p, const uint8_t *end, unsigned width, unsigned n,
                              uint64_t *ret_values)
{
    uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
    const uint8_t *from = *p;
    size_t size = column_size(width, n);

    if ((width > COLUMN_NARROW_MAX && width != 64) || (size_t)(end - from) < size + COLUMN_SLACK)
        return false;
    for (unsigned i = 0; i < n; i++) {
        size_t bit = (size_t)i * width;

        ret_values[i] = load_le64(from + bit / 8) >> bit % 8 & mask;
    }
    *p = from + size;
    return true;
}

/* The number of low bits of N ascending numbers, the last of which is LAST. */
static inline unsigned ascending_width(uint64_t last, unsigned n)
{
    uint64_t mean = last / n;
    unsigned width = mean ? 63 - (unsigned)__builtin_clzll(mean) : 0;

    return width > COLUMN_NARROW_MAX ? COLUMN_NARROW_MAX : width;
}

/* The largest size of the high bits of N numbers: the last number's high bits are below 2 * N, or 256. */
#define ASCENDING_HIGH_BYTES(n) (((n) + MAX(2 * (n), 256u) + 7) / 8)

static inline size_t ascending_high_bits(uint64_t last, unsigned n)
{
    return (size_t)(last >> ascending_width(last, n)) + n;
}

/* N must not be 0. Otherwise as column_put(). */
static inline uint8_t *ascending_put(uint8_t *p, const uint64_t *values, unsigned n)
{
    uint64_t last = values[n - 1];
    unsigned width = ascending_width(last, n);
    uint64_t mask = (UINT64_C(1) << width) - 1;
    size_t size = (ascending_high_bits(last, n) + 7) / 8;
    size_t low_size = column_size(width, n);

    memset(p, 0, low_size + size + COLUMN_SLACK);
    for (unsigned i = 0; i < n; i++) {
        size_t bit = (size_t)i * width;
        size_t high = (size_t)(values[i] >> width) + i;
        uint8_t *to = p + bit / 8;

        store_le64(to, load_le64(to) | (values[i] & mask) << bit % 8);
        p[low_size + high / 8] |= (uint8_t)(1u << high % 8);
    }
    return p + low_size + size;
}

/* N must not be 0. Otherwise as column_get(). Numbers in a damaged file may not ascend. */
static inline bool ascending_get(const uint8_t **p, const uint8_t *end, uint64_t last, unsigned n,
                                 uint64_t *ret_values)
{
    unsigned width = ascending_width(last, n);
    size_t bits = ascending_high_bits(last, n);
    const uint8_t *from = *p;
    unsigned i = 0;

    if (!column_get(&from, end, width, n, ret_values) ||
        (size_t)(end - from) < (bits + 7) / 8 + COLUMN_SLACK)
        return false;
    for (size_t at = 0; at < bits; at += 64) {
        uint64_t word = load_le64(from + at / 8);

        if (bits - at < 64)
            word &= (UINT64_C(1) << (bits - at)) - 1;
        for (; word; word &= word - 1, i++) {
            size_t bit = at + (size_t)__builtin_ctzll(word);

            if (i == n)
                return false;
            ret_values[i] |= (uint64_t)(bit - i) << width;
        }
    }
    if (i != n)
        return false;
    *p = from + (bits + 7) / 8;
    return true;
}
