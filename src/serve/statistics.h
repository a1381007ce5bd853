/* SPDX-License-Identifier: MIT */
#pragma once

/* How much time slices took in a span of time, by track and name. */

#include "base/map.h"
#include "serve/http_exchange.h"

#define STATISTICS_SLICES_MAX 20000000u
#define STATISTICS_ROWS_MAX 10000u

struct statistics_row {
    uint32_t track, name;
    uint64_t n;
    int64_t total;         /* within the span */
    int64_t min, max, sum; /* of the whole slices, including parts outside of the span */
};

/* Zeros are an empty one. */
struct statistics {
    struct statistics_row *rows;
    unsigned n, room;
    struct map by_name; /* for one track: index of the row plus one */
    uint64_t n_slices;
};

/* Adds rows for the slices of track NUMBER. -E2BIG if there are more slices or rows than the limits; -ECANCELED if the
 * server stops; -ENOMEM. */
int statistics_add(struct statistics *statistics, const struct exchange *x, uint32_t number,
                   const struct api_span *span);
/* Puts the rows with the most time first. */
void statistics_sort(struct statistics *statistics);
void statistics_done(struct statistics *statistics);
