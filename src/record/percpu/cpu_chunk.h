/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts the records of a CPU on their way from a trace buffer to a file, and drops unselected ones.
 *
 * Many records have no time of their own: they have the time of the last stamped record before them on the same CPU. If
 * such a stamped record is dropped, the first kept record after it gets its time stamp, because any record may have
 * one. A loss is never dropped. */

#include "schema/xen/event_mask.h"

struct chunk_counts {
    uint64_t records;  /* records of events that were kept */
    uint64_t left_out; /* records of events that were not selected */
    uint64_t lost;     /* lost events, from LOST_RECORDS records */
    uint64_t losses;   /* number of LOST_RECORDS records */
};

/* State of a CPU between windows. Zero at the start. */
struct chunk_state {
    struct chunk_counts counts;
    bool owed;     /* the last time stamp was dropped with its record */
    uint64_t time; /* … and was this time */
};

/* Counts the records in SIZE bytes at RECORDS. -EBADMSG: the bytes do not end at the end of a record. */
int chunk_count(struct chunk_state *state, const uint8_t *records, size_t size);

/* Counts the records, and copies losses and the records that CHOICE selects to OUT. OUT must have room for SIZE + 8
 * bytes. *RET_SIZE: number of bytes copied. -EBADMSG: as above; the rest was copied unchanged. */
int chunk_filter(struct chunk_state *state, const struct xen_event_mask *choice,
                 const uint8_t *records, size_t size, uint8_t *out, size_t *ret_size);

/* True if SIZE bytes at RECORDS hold at least N records of events. */
bool chunk_has(const uint8_t *records, size_t size, uint64_t n);
