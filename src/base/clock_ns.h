/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC UINT64_C(1000000000)

/* Reads CLOCK (as clock_gettime(); it must exist), in ns. Any thread, signal handlers too. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
