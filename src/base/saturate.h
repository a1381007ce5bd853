/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* A + B, or UINT64_MAX if that overflows: for counts that a file or a traced process states, which may be any
 * number. */
static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
