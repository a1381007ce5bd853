/* SPDX-License-Identifier: MIT */
#pragma once

/* How long slices take: percentiles, a histogram, the same over time, by name, and the longest. Percentiles are those of
 * analysis/histogram.h, as strata latency has them.
 *
 * A slice counts if it begins and ends within a span of time, as a span does in `strata latency --from … --until …`, and if
 * both its ends are in the trace. The cost is bounded by DISTRIBUTION_SLICES_MAX, and memory by the other limits. */

#include "analysis/histogram.h"
#include "base/map.h"
#include "serve/http_exchange.h"

/* Slices that are looked at: half a second or so. */
#define DISTRIBUTION_SLICES_MAX 10000000u
#define DISTRIBUTION_NAMES_MAX 200u
#define DISTRIBUTION_COLUMNS_MAX 512u
#define DISTRIBUTION_SLOWEST_MAX 1000u
/* Durations of one row of the heatmap are neighbouring buckets of the histogram: four rows for each power of two. */
#define DISTRIBUTION_ROW_BUCKETS 8u
#define DISTRIBUTION_ROWS (HISTOGRAM_BUCKETS / DISTRIBUTION_ROW_BUCKETS)

/* Which slices count. */
struct distribution_query {
    struct api_span span;      /* of the index's time */
    struct api_span begins;    /* when they begin, within `span` */
    int64_t shortest, longest; /* ns, both included */
    const uint8_t *names;      /* a bit for each name; NULL: any */
    unsigned columns, n_slowest;
};

struct distribution_name {
    uint32_t name;
    uint64_t sum;
    struct histogram durations;
};

struct distribution_slice {
    uint32_t track;
    unsigned depth;
    struct index_slice slice;
};

struct distribution {
    struct distribution_query query;
    uint64_t n_slices;  /* looked at */
    uint64_t n_cut;     /* left out: an end is not in the trace */
    uint64_t n_partly;  /* left out: did not begin within the span */
    uint64_t n_unnamed; /* counted, but in none of `names`, which are full */
    uint64_t sum, min;  /* ns; `sum` saturates */
    struct histogram durations;
    uint32_t *cells; /* DISTRIBUTION_ROWS for each column */
    struct distribution_name *names;
    unsigned n_names;
    struct map by_name; /* number in `names` + 1 */
    /* The longest, until distribution_sort() as a heap with the shortest of them first. */
    struct distribution_slice *slowest;
    unsigned n_slowest;
};

/* QUERY is borrowed. -ENOMEM. distribution_done() also after a failure. */
int distribution_init(struct distribution *distribution, const struct distribution_query *query);
/* Adds the slices of TRACK, of all depths. -E2BIG: DISTRIBUTION_SLICES_MAX; -ECANCELED: the server stops; another negative
 * errno. */
int distribution_add(struct distribution *distribution, const struct exchange *x, uint32_t track);
/* Nothing is added any more: the longest first, and names by what they took, most first. */
void distribution_sort(struct distribution *distribution);
void distribution_done(struct distribution *distribution);
