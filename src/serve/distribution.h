/* SPDX-License-Identifier: MIT */
#pragma once

/* How long slices take: percentiles, a histogram, its development over time, durations by name, and the longest slices.
 * Percentiles are from analysis/histogram.h, as in strata latency.
 *
 * A slice counts if it begins and ends within a span of time, as in `strata latency --from … --until …`, and if both
 * its ends are in the trace. DISTRIBUTION_SLICES_MAX limits the time, and the other limits bound the memory. */

#include "analysis/histogram.h"
#include "base/map.h"
#include "serve/http_exchange.h"

/* Limit of examined slices: about half a second. */
#define DISTRIBUTION_SLICES_MAX 10000000u
#define DISTRIBUTION_NAMES_MAX 200u
#define DISTRIBUTION_COLUMNS_MAX 512u
#define DISTRIBUTION_SLOWEST_MAX 1000u
/* A row of the heatmap has neighbouring buckets of the histogram: four rows for each power of two. */
#define DISTRIBUTION_ROW_BUCKETS 8u
#define DISTRIBUTION_ROWS (HISTOGRAM_BUCKETS / DISTRIBUTION_ROW_BUCKETS)

/* Which slices count. */
struct distribution_query {
    struct api_span span;      /* in the index's time */
    struct api_span begins;    /* limits of the begin, within `span` */
    int64_t shortest, longest; /* in ns, both included */
    const uint8_t *names;      /* a bit for each name, or NULL for any */
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
    uint64_t n_slices;  /* examined */
    uint64_t n_cut;     /* left out, because an end is not in the trace */
    uint64_t n_partly;  /* left out, because it did not begin within the span */
    uint64_t n_unnamed; /* counted, but in none of `names`, which are full */
    uint64_t sum, min;  /* in ns; `sum` saturates */
    struct histogram durations;
    uint32_t *cells; /* DISTRIBUTION_ROWS for each column */
    struct distribution_name *names;
    unsigned n_names;
    struct map by_name; /* index in `names` plus one */
    /* The longest; before distribution_sort() a heap with the shortest of them first. */
    struct distribution_slice *slowest;
    unsigned n_slowest;
};

/* QUERY is borrowed. -ENOMEM. Call distribution_done() also after a failure. */
int distribution_init(struct distribution *distribution, const struct distribution_query *query);
/* Adds the slices of TRACK, of all depths. -E2BIG after DISTRIBUTION_SLICES_MAX; -ECANCELED if the server stops;
 * another negative errno. */
int distribution_add(struct distribution *distribution, const struct exchange *x, uint32_t track);
/* Call after adding: puts the longest slices first, and the names with the largest sums first. */
void distribution_sort(struct distribution *distribution);
void distribution_done(struct distribution *distribution);
