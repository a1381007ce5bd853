/* SPDX-License-Identifier: MIT */
#include "analysis/histogram.h"

#include <stdlib.h>

#include "base/macro.h"

static unsigned bucket_shift(unsigned bucket)
{
    unsigned row = bucket >> HISTOGRAM_SUB_BITS;

    return row ? row - 1 : 0;
}

uint64_t histogram_bucket_start(unsigned bucket)
{
    unsigned shift = bucket_shift(bucket);

    return (uint64_t)(bucket - (shift << HISTOGRAM_SUB_BITS)) << shift;
}

static uint64_t middle(unsigned bucket)
{
    return histogram_bucket_start(bucket) + (((uint64_t)1 << bucket_shift(bucket)) >> 1);
}

uint64_t *histogram_doubling(struct histogram *histogram, unsigned number)
{
    histogram->doublings[number] = calloc(1u << HISTOGRAM_SUB_BITS, sizeof(uint64_t));
    return histogram->doublings[number];
}

int histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    for (unsigned i = 0; i < ARRAY_SIZE(other->doublings); i++) {
        if (!other->doublings[i])
            continue;
        if (!histogram->doublings[i] && !histogram_doubling(histogram, i))
            return -ENOMEM;
        for (unsigned j = 0; j < 1u << HISTOGRAM_SUB_BITS; j++)
            histogram->doublings[i][j] += other->doublings[i][j];
    }
    histogram->n += other->n;
    histogram->max = MAX(histogram->max, other->max);
    return 0;
}

void histogram_done(struct histogram *histogram)
{
    for (unsigned i = 0; i < ARRAY_SIZE(histogram->doublings); i++)
        free(histogram->doublings[i]);
    *histogram = (struct histogram){0};
}

unsigned histogram_bucket_at(const struct histogram *histogram, uint64_t rank)
{
    uint64_t seen = 0;

    rank = MAX(rank, (uint64_t)1);
    for (unsigned i = 0; i < ARRAY_SIZE(histogram->doublings); i++) {
        for (unsigned j = 0; histogram->doublings[i] && j < 1u << HISTOGRAM_SUB_BITS; j++) {
            seen += histogram->doublings[i][j];
            if (seen >= rank)
                return (i << HISTOGRAM_SUB_BITS) + j;
        }
    }
    return histogram_bucket(histogram->max);
}

uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille)
{
    /* The rank of the quantile by the nearest-rank definition. Split, because n * permille may
     * overflow. */
    uint64_t n = histogram->n;
    uint64_t rank = n / 1000 * permille + (n % 1000 * permille + 999) / 1000;

    return n == 0 ? 0 : MIN(middle(histogram_bucket_at(histogram, rank)), histogram->max);
}

void histogram_add_doublings(const struct histogram *histogram,
                             uint64_t counts[HISTOGRAM_DOUBLINGS])
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t start = histogram_bucket_start(i);

        counts[start == 0 ? 0 : 64 - __builtin_clzll(start)] += histogram_count(histogram, i);
    }
}
