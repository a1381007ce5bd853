/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* The sum of counts that traced processes report, which may be any number: the greatest there is, rather than a small
 * one, where it does not fit. */
static inline uint64_t add_counts(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
