/* SPDX-License-Identifier: MIT */
#pragma once

/* The exact slices of a track, piece by piece, however many there are. */

#include "index/index.h"

struct scan {
    const struct index *index;
    uint32_t track;
    unsigned depth;
    int64_t from, to;  /* what is left */
    int64_t period;    /* of the next piece */
    bool started;      /* slices that began before are in a piece already */
    uint64_t n, n_max; /* slices so far, and how many there may be */
    struct index_slices slices;
};

/* Those that touch FROM to TO, both included. At most N_MAX in all. */
void scan_init(struct scan *scan, const struct index *index, uint32_t track, unsigned depth,
               int64_t from, int64_t to, uint64_t n_max);
/* 1: the next piece, *RET_SLICES of *RET_N (which may be 0), lent until the next call; 0: there are no more; -E2BIG: more
 * than N_MAX; another negative errno. */
int scan_next(struct scan *scan, const struct index_slice **ret_slices, unsigned *ret_n);
void scan_done(struct scan *scan);
