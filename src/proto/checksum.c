/* SPDX-License-Identifier: MIT */
#include "proto/checksum.h"

#include <string.h>

#include "base/bytes.h"

static inline uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

uint32_t proto_check(const void *p, size_t size)
{
    uint64_t lanes[4] = {1, 2, 3, 4}, sum = size;
    const uint8_t *next = p;
    uint8_t last[32] = {0};
    size_t left;

    for (left = size; left >= 32; left -= 32, next += 32)
        for (unsigned i = 0; i < 4; i++)
            lanes[i] = mix(lanes[i], load_le64(next + 8 * (size_t)i));
    if (left > 0)
        memcpy(last, next, left);
    for (size_t i = 0; i < (left + 7) / 8; i++)
        lanes[i] = mix(lanes[i], load_le64(last + 8 * i));
    for (unsigned i = 0; i < 4; i++)
        sum = mix(sum, lanes[i]);
    return (uint32_t)sum;
}
