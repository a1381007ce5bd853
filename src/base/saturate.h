/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* A + B, or UINT64_MAX if the sum overflows. For counts from a file or a traced process, which may be any number. */
static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
