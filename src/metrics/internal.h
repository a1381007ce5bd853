/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the set of metrics and its printer. */

#include "metrics/metrics.h"

struct metric_sample {
    const struct metric_family *family;
    uint64_t hash;
    char *values[METRIC_LABELS_MAX]; /* in one allocation that begins with the first value */
    double value;                    /* of a histogram: the sum */
    uint64_t count;                  /* of a histogram */
    uint64_t buckets[];              /* not cumulative; the last bucket has no bound */
};

struct metric_family {
    struct metric_desc desc;
    struct metric_sample **samples;
    unsigned n, room, max;
    struct metric_sample *other; /* NULL: none yet */
    uint64_t n_over_limit;
};

struct metrics {
    struct metric_family **families;
    unsigned n;
};
