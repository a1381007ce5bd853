/* SPDX-License-Identifier: MIT */
#pragma once

/* Decodes what export/parquet/encode.h encodes, as Parquet's Encodings.md describes it: bit by bit, without its code. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decode_input {
    const uint8_t *p, *end;
    bool failed; /* ended too early */
};

static inline uint8_t decode_byte(struct decode_input *in)
{
    if (in->p == in->end) {
        in->failed = true;
        return 0;
    }
    return *in->p++;
}

static inline uint64_t decode_varint(struct decode_input *in)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = decode_byte(in);

        v |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (!(byte & 128))
            return v;
    }
    in->failed = true;
    return v;
}

static inline int64_t decode_zigzag(struct decode_input *in)
{
    uint64_t v = decode_varint(in);

    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Number I of those that are packed at P, WIDTH bits each. */
static inline uint64_t decode_packed(const uint8_t *p, size_t i, unsigned width)
{
    uint64_t v = 0;

    for (size_t bit = 0; bit < width; bit++) {
        size_t at = i * width + bit;

        v |= (uint64_t)(p[at / 8] >> (at % 8) & 1) << bit;
    }
    return v;
}

/* N values into RET. False: the input is not such an encoding of N values and nothing else. */
static inline bool decode_rle(const uint8_t *p, size_t size, unsigned width, uint32_t *ret,
                              size_t n)
{
    struct decode_input in = {p, size ? p + size : p, false};
    size_t done = 0;

    while (done < n && !in.failed) {
        uint64_t head = decode_varint(&in), len = head >> 1;
        uint32_t v = 0;

        if (head & 1) {
            if (len > (size_t)(in.end - in.p) / (width ? width : 1) && width)
                return false;
            for (size_t i = 0; i < len * 8 && done < n; i++)
                ret[done++] = (uint32_t)decode_packed(in.p, i, width);
            in.p += len * width;
        } else {
            for (unsigned shift = 0; shift < width; shift += 8)
                v |= (uint32_t)decode_byte(&in) << shift;
            if (len == 0 || len > n - done)
                return false;
            while (len-- > 0)
                ret[done++] = v;
        }
    }
    return done == n && !in.failed && in.p == in.end;
}

/* The same of DELTA_BINARY_PACKED. */
static inline bool decode_delta(const uint8_t *p, size_t size, uint64_t *ret, size_t n)
{
    struct decode_input in = {p, size ? p + size : p, false};
    uint64_t block = decode_varint(&in), parts = decode_varint(&in), total = decode_varint(&in);
    uint64_t last = (uint64_t)decode_zigzag(&in);
    size_t done = 0;

    if (in.failed || total != n || block % 128 != 0 || parts == 0 || (block / parts) % 32 != 0)
        return false;
    if (n > 0)
        ret[done++] = last;
    while (done < n && !in.failed) {
        uint64_t least = (uint64_t)decode_zigzag(&in);
        const uint8_t *widths = in.p;

        if (parts > (size_t)(in.end - in.p))
            return false;
        in.p += parts;
        for (uint64_t i = 0; i < parts && done < n; i++) {
            size_t bytes = block / parts * widths[i] / 8;

            if (in.failed || widths[i] > 64 || bytes > (size_t)(in.end - in.p))
                return false;
            for (size_t k = 0; k < block / parts && done < n; k++)
                ret[done++] = last += least + decode_packed(in.p, k, widths[i]);
            in.p += bytes;
        }
    }
    return done == n && !in.failed && in.p == in.end;
}
