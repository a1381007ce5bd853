/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* The sum of two counts that traced processes report and that may be any number; saturates. */
static inline uint64_t add_counts(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
