/* SPDX-License-Identifier: MIT */
#pragma once

/* The records of a CPU between a trace buffer and a file: counted, and those left out that were not asked
 * for.
 *
 * Many records have no time of their own: that of the last one before them with a time, on the same CPU, is
 * theirs. When that one is left out and they are not, the first of them gets its time: a record may have
 * one, whatever its event. A loss is never left out. */

#include "schema/xen/event_mask.h"

struct chunk_counts {
    uint64_t records;  /* of events, kept */
    uint64_t left_out; /* of events, not chosen */
    uint64_t lost;     /* events, by the LOST_RECORDS that were seen */
    uint64_t losses;   /* how many such records */
};

/* Of a CPU, from one window to the next. Zeroed at the start. */
struct chunk_state {
    struct chunk_counts counts;
    bool owed;     /* the last time that there was has been left out … */
    uint64_t time; /* … and was this */
};

/* Counts the records of SIZE bytes at RECORDS. -EBADMSG: they do not end with a record's end. */
int chunk_count(struct chunk_state *state, const uint8_t *records, size_t size);

/* Counts them, and copies those that CHOICE has, or that tell of a loss, to OUT, which has room for SIZE + 8
 * bytes; *ret_size is what was copied. -EBADMSG: as above, and what remains was copied as it is. */
int chunk_filter(struct chunk_state *state, const struct xen_event_mask *choice,
                 const uint8_t *records, size_t size, uint8_t *out, size_t *ret_size);

/* Whether SIZE bytes hold at least N records of events. */
bool chunk_has(const uint8_t *records, size_t size, uint64_t n);
