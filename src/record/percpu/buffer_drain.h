/* SPDX-License-Identifier: MIT */
#pragma once

/* Drains per-CPU trace buffers into the stream that xentrace writes (format/xentrace/record.h):
 * repeatedly, a chunk of each CPU that has data. Drops events that were not asked for where the
 * buffers' owner cannot. Not thread-safe. */

#include "record/percpu/chunk_memory.h"
#include "record/percpu/cpu_chunk.h"
#include "record/percpu/trace_buffers.h"

struct buffer_drain_settings {
    uint64_t threshold;                  /* records of a CPU from which writing pays; 0: any */
    const struct xen_event_mask *choice; /* NULL: all that comes; borrowed */
    size_t memory; /* bytes to keep in memory and write at the end; 0: write everything */
};

struct buffer_drain_totals {
    uint64_t records;   /* events written, or kept in memory */
    uint64_t left_out;  /* events that came and were not asked for */
    uint64_t lost;      /* lost events, from the records and pending at the end */
    uint64_t pending;   /* the latter */
    uint64_t losses;    /* number of losses */
    uint64_t bytes;     /* written to the output */
    uint64_t dropped;   /* windows that the memory had no room for */
    uint64_t damaged;   /* windows that were no whole records */
    uint64_t unwritten; /* events that stay in the buffers, as the output's end was reached */
};

enum buffer_drain_progress {
    BUFFER_DRAIN_ONGOING,
    BUFFER_DRAIN_MAX_SIZE, /* the output's `max` is reached */
    BUFFER_DRAIN_MIN_FREE, /* its `reserve` */
};

struct buffer_drain;

/* BUFFERS must have begun. BUFFERS and OUTPUT are borrowed. -EINVAL with ERROR: the memory is smaller
 * than one CPU's buffer. */
int buffer_drain_new(struct trace_buffers *buffers, struct stream *output,
                     const struct buffer_drain_settings *settings, struct buffer_drain **ret,
                     struct error *error);
void buffer_drain_free(struct buffer_drain *drain);

/* Writes what is there, if a CPU has enough of it. Returns a buffer_drain_progress, or a negative errno
 * with ERROR; anything but BUFFER_DRAIN_ONGOING is the end: call buffer_drain_finish(). */
int buffer_drain_take(struct buffer_drain *drain, struct error *error);
/* Writes what is there, however little. The same. */
int buffer_drain_flush(struct buffer_drain *drain, struct error *error);
/* Stops the tracing, unless LEAVE, and writes the rest. Errors as of buffer_drain_take(). */
int buffer_drain_finish(struct buffer_drain *drain, bool leave, struct error *error);

struct buffer_drain_totals buffer_drain_totals(const struct buffer_drain *drain);
/* Events lost on a CPU. */
uint64_t buffer_drain_lost(const struct buffer_drain *drain, unsigned cpu);
