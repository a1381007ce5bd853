/* SPDX-License-Identifier: MIT */
#pragma once

/* Drains per-CPU trace buffers into a stream in xentrace's format (format/xentrace/record.h): repeatedly, a chunk of
 * each CPU that has data. Drops unselected events if the owner of the buffers cannot drop them. Not thread-safe. */

#include "record/percpu/chunk_memory.h"
#include "record/percpu/cpu_chunk.h"
#include "record/percpu/trace_buffers.h"

struct buffer_drain_settings {
    /* write a CPU's records only if there are at least so many; 0: any number */
    uint64_t threshold;
    const struct xen_event_mask *choice; /* events to keep; NULL: all; borrowed */
    size_t memory; /* bytes to keep in memory and write at the end; 0: write everything */
};

struct buffer_drain_totals {
    uint64_t records;  /* events written, or kept in memory */
    uint64_t left_out; /* events that came and were not selected */
    uint64_t lost;     /* lost events, from the records and from `pending` */
    uint64_t pending;  /* of `lost`: lost at the end and in no record */
    uint64_t losses;   /* number of losses */
    uint64_t bytes;    /* written to the output */
    uint64_t dropped;  /* windows for which the memory had no room */
    uint64_t damaged;  /* windows that did not consist of whole records */
    /* events that stay in the buffers because the output has reached a limit */
    uint64_t unwritten;
};

enum buffer_drain_progress {
    BUFFER_DRAIN_ONGOING,
    BUFFER_DRAIN_MAX_SIZE, /* the output has reached its `max` */
    BUFFER_DRAIN_MIN_FREE, /* the output has reached its `reserve` */
};

struct buffer_drain;

/* BUFFERS must have begun. BUFFERS and OUTPUT are borrowed. -EINVAL with ERROR: the memory is smaller
 * than one CPU's buffer. */
int buffer_drain_new(struct trace_buffers *buffers, struct stream *output,
                     const struct buffer_drain_settings *settings, struct buffer_drain **ret,
                     struct error *error);
void buffer_drain_free(struct buffer_drain *drain);

/* Writes available records of each CPU that has enough of them. Returns a buffer_drain_progress, or a negative errno
 * with ERROR. Any result but BUFFER_DRAIN_ONGOING is the end: call buffer_drain_finish(). */
int buffer_drain_take(struct buffer_drain *drain, struct error *error);
/* Writes all available records, even if there are few. Returns as buffer_drain_take(). */
int buffer_drain_flush(struct buffer_drain *drain, struct error *error);
/* Stops the tracing, unless LEAVE, and writes the remaining records. Errors as buffer_drain_take(). */
int buffer_drain_finish(struct buffer_drain *drain, bool leave, struct error *error);

struct buffer_drain_totals buffer_drain_totals(const struct buffer_drain *drain);
/* The number of events lost on a CPU. */
uint64_t buffer_drain_lost(const struct buffer_drain *drain, unsigned cpu);
