/* SPDX-License-Identifier: MIT */
#pragma once

/* Durations between times from a file, and their sums. They stop at the largest number, because an overflow would be
 * undefined. */

#include <stdint.h>

#include "base/macro.h"

static inline int64_t ticks_between(int64_t begin, int64_t end)
{
    int64_t duration;

    return unlikely(__builtin_sub_overflow(end, begin, &duration))
               ? (end < begin ? INT64_MIN : INT64_MAX)
               : duration;
}

static inline int64_t ticks_sum(int64_t a, int64_t b)
{
    int64_t sum;

    return unlikely(__builtin_add_overflow(a, b, &sum)) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}
