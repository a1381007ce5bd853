/* SPDX-License-Identifier: MIT */
#pragma once

/* Columns of the blocks of an index (index/format.h): N numbers of WIDTH bits each, the lowest bits first, from a byte's
 * begin to a byte's end. All have one width, so that none waits for the one before it to be decoded. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* Bytes that column_put() may write after the column, and that column_get() requires there. */
#define COLUMN_SLACK 8

/* A width above this one is 64, so that each number is in 8 bytes. */
#define COLUMN_NARROW_MAX 56u

/* For the N numbers at VALUES. */
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

/* At P, where the column and COLUMN_SLACK bytes are free. Returns the place after it. */
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

/* At *P, before END; advances *P. False: there is none. */
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
