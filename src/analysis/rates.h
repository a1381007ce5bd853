/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts how often something occurs over time, in a trace of unknown length. There are at most RATES_MAX periods. Their
 * length doubles whenever time goes beyond the last one. */

#include <stdint.h>

#define RATES_MAX 96

struct rates {
    int64_t begin;  /* of the first period, in ticks */
    unsigned shift; /* a period has 1 << SHIFT ticks */
    unsigned n;     /* number of periods up to the last one with a count */
    uint64_t counts[RATES_MAX];
};

/* The slow half of rates_add(). */
void rates_add_late(struct rates *rates, uint64_t after);
/* Counts an occurrence at TIME. Before `begin`, it counts in the first period. */
static inline void rates_add(struct rates *rates, int64_t time)
{
    uint64_t after = time < rates->begin ? 0 : (uint64_t)time - (uint64_t)rates->begin;
    uint64_t period = after >> rates->shift;

    if (period < rates->n)
        rates->counts[period]++;
    else
        rates_add_late(rates, after);
}

/* Makes the periods 1 << SHIFT ticks long, unless they are longer. */
void rates_stretch(struct rates *rates, unsigned shift);
