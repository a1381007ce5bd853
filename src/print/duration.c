/* SPDX-License-Identifier: MIT */
#include "print/duration.h"

#include "base/macro.h"

int64_t duration_ns(const struct clock *clock, uint64_t ticks)
{
    return clock_to_ns(clock, (int64_t)MIN(ticks, (uint64_t)INT64_MAX));
}
