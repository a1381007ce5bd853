/* SPDX-License-Identifier: MIT */
#pragma once

/* The distribution of unsigned values in constant memory: log-linear buckets. Values below 64 have a
 * bucket each; above, each power of two is split into 32 buckets, so a bucket is at most 1/32 of its
 * values wide. A quantile is the middle of its bucket, and so at most 1/64 (1.6 %) off. The largest
 * value is exact. */

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t n;
    uint64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline unsigned histogram_bucket(uint64_t v)
{
    /* The highest bit's place above the sub-bucket bits; 0 while every value has its own. */
    unsigned shift =
        63 - HISTOGRAM_SUB_BITS - (unsigned)__builtin_clzll(v | (1u << HISTOGRAM_SUB_BITS));

    return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(v >> shift);
}

static inline void histogram_add(struct histogram *histogram, uint64_t v)
{
    histogram->n++;
    histogram->max = v > histogram->max ? v : histogram->max;
    histogram->buckets[histogram_bucket(v)]++;
}

/* The value that PERMILLE of 1000 values do not exceed; 0 of an empty one. */
uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille);
