/* SPDX-License-Identifier: MIT */
#pragma once

/* The records of a CPU between a trace buffer and a file: counted, and without those that were not
 * asked for.
 *
 * Many records have no time of their own: they have the time of the last stamped record before them on
 * the same CPU. If that one is dropped and they are not, the first of them gets its time stamp; any
 * record may have one. A loss is never dropped. */

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

/* Counts the records, and copies those that CHOICE selects, and losses, to OUT, which has room for SIZE
 * + 8 bytes; *ret_size is the number of bytes copied. -EBADMSG: as above; the rest was copied
 * unchanged. */
int chunk_filter(struct chunk_state *state, const struct xen_event_mask *choice,
                 const uint8_t *records, size_t size, uint8_t *out, size_t *ret_size);

/* Whether SIZE bytes hold at least N records of events. */
bool chunk_has(const uint8_t *records, size_t size, uint64_t n);
