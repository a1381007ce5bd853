/* SPDX-License-Identifier: MIT */
#include "analysis/histogram.h"

#include "base/macro.h"

/* The middle of a bucket. */
static uint64_t middle(unsigned bucket)
{
    unsigned row = bucket >> HISTOGRAM_SUB_BITS;
    unsigned shift = row ? row - 1 : 0;
    uint64_t low = (uint64_t)(bucket - (shift << HISTOGRAM_SUB_BITS)) << shift;

    return low + (((uint64_t)1 << shift) >> 1);
}

uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille)
{
    /* The rank of the quantile by the nearest-rank definition. Split, because n * permille may
     * overflow. */
    uint64_t n = histogram->n;
    uint64_t rank = n / 1000 * permille + (n % 1000 * permille + 999) / 1000;
    uint64_t seen = 0;

    rank = MAX(rank, (uint64_t)1);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank)
            return MIN(middle(i), histogram->max);
    }
    return histogram->max;
}
