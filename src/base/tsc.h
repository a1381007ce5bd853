/* SPDX-License-Identifier: MIT */
#pragma once

/* The time stamp counter of x86. */

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#define HAS_TSC 1

/* Reads the counter after all earlier instructions and before all later instructions. Processors of 32 bits without SSE2 have
 * no fence for this. */
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
