/* SPDX-License-Identifier: MIT */
#pragma once

/* The distribution of unsigned values in log-linear buckets, in memory that does not depend on the number of values.
 * Each value below 64 has its own bucket. Each further power of two is divided into 32 buckets, so the width of a
 * bucket is at most 1/32 of its values. A quantile is the middle of its bucket, so its error is at most 1/64 (1.6 %).
 * The largest value is exact.
 *
 * The buckets of a power of two are allocated when the first value falls into one, about 300 bytes for each. */

#include <errno.h>
#include <stdint.h>

#include "base/macro.h"

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* Zeros are an empty one. */
struct histogram {
    uint64_t n;
    uint64_t max;
    uint64_t *doublings[HISTOGRAM_BUCKETS >> HISTOGRAM_SUB_BITS]; /* NULL without a value */
};

void histogram_done(struct histogram *histogram);
/* The slow half of histogram_add(). NULL if out of memory. */
uint64_t *histogram_doubling(struct histogram *histogram, unsigned number);

static inline unsigned histogram_bucket(uint64_t v)
{
    /* The highest bit's place above the sub-bucket bits; 0 while every value has its own. */
    unsigned shift =
        63 - HISTOGRAM_SUB_BITS - (unsigned)__builtin_clzll(v | (1u << HISTOGRAM_SUB_BITS));

    return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(v >> shift);
}

/* 0, -ENOMEM. */
static inline int histogram_add(struct histogram *histogram, uint64_t v)
{
    unsigned bucket = histogram_bucket(v);
    uint64_t *doubling = histogram->doublings[bucket >> HISTOGRAM_SUB_BITS];

    if (unlikely(!doubling)) {
        doubling = histogram_doubling(histogram, bucket >> HISTOGRAM_SUB_BITS);
        if (!doubling)
            return -ENOMEM;
    }
    histogram->n++;
    histogram->max = v > histogram->max ? v : histogram->max;
    doubling[bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)]++;
    return 0;
}

/* Loads the count of V, which will be added soon, into the cache. */
static inline void histogram_prefetch(const struct histogram *histogram, uint64_t v)
{
    unsigned bucket = histogram_bucket(v);
    const uint64_t *doubling = histogram->doublings[bucket >> HISTOGRAM_SUB_BITS];

    __builtin_prefetch(histogram, 1);
    if (likely(doubling != NULL))
        __builtin_prefetch(&doubling[bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)], 1);
}

/* Adds the values of OTHER. 0, -ENOMEM. */
int histogram_merge(struct histogram *histogram, const struct histogram *other);

/* The number of values in BUCKET. */
static inline uint64_t histogram_count(const struct histogram *histogram, unsigned bucket)
{
    const uint64_t *doubling = histogram->doublings[bucket >> HISTOGRAM_SUB_BITS];

    return doubling ? doubling[bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)] : 0;
}

/* The least value of BUCKET. */
uint64_t histogram_bucket_start(unsigned bucket);

/* The bucket of the RANK-th smallest value, from 1 on; the last bucket if RANK is too large. */
unsigned histogram_bucket_at(const struct histogram *histogram, uint64_t rank);

/* The value that PERMILLE of 1000 values do not exceed; 0 without values. */
uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille);

/* Counts values by doublings: 0; 1; 2 and 3; 4 to 7; and so on. Adds to COUNTS[I] the number of values from 2^(I - 1)
 * on. */
#define HISTOGRAM_DOUBLINGS 65
void histogram_add_doublings(const struct histogram *histogram,
                             uint64_t counts[HISTOGRAM_DOUBLINGS]);
