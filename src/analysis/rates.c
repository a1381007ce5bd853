/* SPDX-License-Identifier: MIT */
#include "analysis/rates.h"

void rates_stretch(struct rates *rates, unsigned shift)
{
    for (; rates->shift < shift; rates->shift++) {
        for (unsigned i = 0; i < RATES_MAX / 2; i++)
            rates->counts[i] = rates->counts[2 * i] + rates->counts[2 * i + 1];
        for (unsigned i = RATES_MAX / 2; i < RATES_MAX; i++)
            rates->counts[i] = 0;
        rates->n = (rates->n + 1) / 2;
    }
}

void rates_add_late(struct rates *rates, uint64_t after)
{
    unsigned shift = rates->shift;
    uint64_t period;

    while (after >> shift >= RATES_MAX)
        shift++;
    rates_stretch(rates, shift);
    period = after >> shift;
    rates->counts[period]++;
    if (period >= rates->n)
        rates->n = (unsigned)period + 1;
}
