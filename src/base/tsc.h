/* SPDX-License-Identifier: MIT */
#pragma once

/* The time stamp counter of x86. */

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#define HAS_TSC 1

/* Reads it after the instructions before, and before those after it. Processors without SSE2, which are 32-bit ones, have
 * no fence for that. */
static inline uint64_t tsc_read(void)
{
    uint32_t low, high;

#ifndef __SSE2__
    if (!__builtin_cpu_supports("sse2"))
        return __builtin_ia32_rdtsc();
#endif
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
#endif
