/* SPDX-License-Identifier: MIT */
#pragma once

/* Gets the exact slices of a track, piece by piece, however many there are. */

#include "index/index.h"

struct scan {
    const struct index *index;
    uint32_t track;
    unsigned depth;
    int64_t from, to;  /* the rest of the time */
    int64_t period;    /* of the next piece */
    bool started;      /* slices that began before `from` are in an earlier piece */
    uint64_t n, n_max; /* slices so far, and their limit */
    struct index_slices slices;
};

/* Scans the slices that touch FROM to TO, both included, at most N_MAX. */
void scan_init(struct scan *scan, const struct index *index, uint32_t track, unsigned depth,
               int64_t from, int64_t to, uint64_t n_max);
/* Returns 1 with the next piece, *RET_SLICES with *RET_N slices (may be 0), lent until the next call; 0 at the end;
 * -E2BIG if there are more than N_MAX; another negative errno. */
int scan_next(struct scan *scan, const struct index_slice **ret_slices, unsigned *ret_n);
void scan_done(struct scan *scan);
