/* SPDX-License-Identifier: MIT */
#include "export/parquet/encode.h"

#include "export/parquet/thrift.h"

#define GROUP 8u /* values: a run of others has a multiple of it */
#define BLOCK 128u
#define PART 32u
#define PARTS (BLOCK / PART)

/* Collects bits for OUT. */
struct bits {
    struct text *out;
    uint64_t word;
    unsigned n;
};

/* Puts V of at most 32 bits. */
static inline void put_short(struct bits *bits, uint64_t v, unsigned width)
{
    bits->word |= v << bits->n;
    bits->n += width;
    for (; bits->n >= 8; bits->n -= 8) {
        text_put_char(bits->out, (char)bits->word);
        bits->word >>= 8;
    }
}

static inline void put_bits(struct bits *bits, uint64_t v, unsigned width)
{
    if (width > 32) {
        put_short(bits, (uint32_t)v, 32);
        v >>= 32;
        width -= 32;
    }
    put_short(bits, v, width);
}

static size_t count_same(const uint32_t *values, size_t n)
{
    size_t same = 1;

    while (same < n && values[same] == values[0])
        same++;
    return same;
}

static void put_others(struct text *out, const uint32_t *values, size_t n, unsigned width)
{
    size_t groups = (n + GROUP - 1) / GROUP;
    struct bits bits = {.out = out};

    put_varint(out, groups << 1 | 1);
    for (size_t i = 0; i < groups * GROUP; i++)
        put_bits(&bits, i < n ? values[i] : 0, width);
}

void parquet_put_rle(struct text *out, const uint32_t *values, size_t n, unsigned width)
{
    for (size_t i = 0; i < n;) {
        size_t same = count_same(values + i, n - i), end = i;

        if (same >= GROUP) {
            put_varint(out, same << 1);
            for (unsigned shift = 0; shift < width; shift += 8)
                text_put_char(out, (char)(values[i] >> shift));
            i += same;
            continue;
        }
        do
            end += MIN(GROUP, n - end);
        while (end < n && count_same(values + end, MIN(GROUP, n - end)) < GROUP);
        put_others(out, values + i, end - i, width);
        i = end;
    }
}

static void put_block(struct text *out, const uint64_t *values, size_t n)
{
    uint64_t deltas[BLOCK] = {0};
    unsigned widths[PARTS] = {0};
    int64_t least = INT64_MAX;
    struct bits bits = {.out = out};

    for (size_t i = 0; i < n; i++) {
        deltas[i] = values[i + 1] - values[i];
        least = MIN(least, (int64_t)deltas[i]);
    }
    for (size_t i = 0; i < n; i++) {
        deltas[i] -= (uint64_t)least;
        widths[i / PART] = MAX(widths[i / PART], parquet_width(deltas[i]));
    }
    put_zigzag(out, least);
    for (unsigned i = 0; i < PARTS; i++)
        text_put_char(out, (char)widths[i]);
    for (size_t i = 0; i < (n + PART - 1) / PART * PART; i++)
        put_bits(&bits, deltas[i], widths[i / PART]);
}

void parquet_put_delta(struct text *out, const uint64_t *values, size_t n)
{
    put_varint(out, BLOCK);
    put_varint(out, PARTS);
    put_varint(out, n);
    put_zigzag(out, n ? (int64_t)values[0] : 0);
    for (size_t i = 0; i + 1 < n; i += BLOCK)
        put_block(out, values + i, MIN(BLOCK, n - 1 - i));
}
