/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/clock_ns.h"

/* CLOCK_MONOTONIC in milliseconds. */
static inline int64_t agent_now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC);
}
