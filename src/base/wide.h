/* SPDX-License-Identifier: MIT */
#pragma once

/* Products of two 64-bit numbers, such as times and rates, without overflow. */

#include <stdint.h>

__extension__ typedef __int128 wide;

/* V clamped to 64 bits; never INT64_MIN, so that the result can be negated. */
static inline int64_t narrow(wide v)
{
    if (v > INT64_MAX)
        return INT64_MAX;
    return v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}
