/* SPDX-License-Identifier: MIT */
#pragma once

/* How often something occurs over time, of a trace whose length is not known before its end: counts in RATES_MAX periods
 * at most, which become twice as long whenever time goes beyond the last of them. */

#include <stdint.h>

#define RATES_MAX 96

struct rates {
    int64_t begin;  /* of the first period, in ticks */
    unsigned shift; /* a period has 1 << SHIFT ticks */
    unsigned n;     /* periods up to the last one that counts */
    uint64_t counts[RATES_MAX];
};

/* The slow half of rates_add(). */
void rates_add_late(struct rates *rates, uint64_t after);
/* Counts what occurs at TIME; before `begin`: in the first period. */
static inline void rates_add(struct rates *rates, int64_t time)
{
    uint64_t after = time < rates->begin ? 0 : (uint64_t)time - (uint64_t)rates->begin;
    uint64_t period = after >> rates->shift;

    if (period < rates->n)
        rates->counts[period]++;
    else
        rates_add_late(rates, after);
}

/* Makes the periods 1 << SHIFT ticks long, or leaves them, if they are longer. */
void rates_stretch(struct rates *rates, unsigned shift);
