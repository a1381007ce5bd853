/* SPDX-License-Identifier: MIT */
#pragma once

/* A fuzz target's input, taken piece by piece; after its end come zeros. */

#include <stdint.h>

struct bytes {
    const uint8_t *next, *end;
};

static inline unsigned take(struct bytes *bytes, unsigned n)
{
    unsigned v = 0;

    while (n-- > 0)
        v = v << 8 | (bytes->next < bytes->end ? *bytes->next++ : 0u);
    return v;
}
