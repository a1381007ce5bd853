/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes Parquet's encodings (Apache Parquet, Encodings.md). Functions append to a text, whose error the caller
 * checks. */

#include <stdint.h>

#include "base/text.h"

/* RLE: runs of values below 1 << WIDTH; WIDTH up to 32.
 *
 *   run of one value   varint of the length << 1; the value in (WIDTH + 7) / 8 bytes
 *   run of other values      varint of the length / 8 << 1 | 1; values of WIDTH bits, from the lowest bit on */
void parquet_put_rle(struct text *out, const uint32_t *values, size_t n, unsigned width);

/* DELTA_BINARY_PACKED for numbers of 64 bits:
 *
 *   varint 128, varint 4, varint N, zigzag of the first value
 *   blocks of 128 differences: zigzag of the least, 4 bytes: widths of its parts, then the parts that have values: 32
 *   differences less the least, of that width, from the lowest bit on */
void parquet_put_delta(struct text *out, const uint64_t *values, size_t n);

/* The number of bits of V. */
static inline unsigned parquet_width(uint64_t v)
{
    return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}
