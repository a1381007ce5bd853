/* SPDX-License-Identifier: MIT */
#pragma once

/* Takes records from per-CPU trace buffers, whoever fills them, and writes them as the stream that xentrace
 * writes (format/xentrace/record.h): again and again a window of each CPU that has something. Only the
 * choice of events that the buffers' owner cannot make itself is made here. Not thread-safe. */

#include "record/percpu/chunk_memory.h"
#include "record/percpu/cpu_chunk.h"
#include "record/percpu/trace_buffers.h"

struct recorder_settings {
    uint64_t poll;      /* ns between looks at the buffers, if none gets half full */
    uint64_t threshold; /* records of a CPU for which it is worth to write; 0: any */
    const struct xen_event_mask *choice; /* NULL: all that comes; borrowed */
    size_t memory; /* keep the last so many bytes, write at the end; 0: write all */
};

struct recorder_totals {
    uint64_t records;  /* events written, or kept in memory */
    uint64_t left_out; /* events that came and were not asked for */
    uint64_t lost;     /* events, as the records say, and what is pending at the end */
    uint64_t pending;  /* the latter */
    uint64_t losses;   /* times at which some were lost */
    uint64_t bytes;    /* written to the output */
    uint64_t dropped;  /* windows that the memory had no room for */
    uint64_t damaged;  /* windows that were no whole records */
};

enum recorder_progress {
    RECORDER_GOES_ON,
    RECORDER_FULL,    /* the output's `max` is reached */
    RECORDER_RESERVE, /* its `reserve` */
};

struct recorder;

/* For BUFFERS that have begun. BUFFERS and OUTPUT are borrowed. -EINVAL with FAULT: the memory is smaller than
 * one CPU's buffer. */
int recorder_new(struct trace_buffers *buffers, struct stream *output,
                 const struct recorder_settings *settings, struct recorder **ret,
                 struct fault *fault);
void recorder_free(struct recorder *recorder);

/* Waits, TIMEOUT (ns) at most and with the signals MASK blocked, and takes what is there. A recorder_progress,
 * or a negative errno with FAULT; both of the last are the end, before which recorder_finish() is due. */
int recorder_step(struct recorder *recorder, uint64_t timeout, const sigset_t *mask,
                  struct fault *fault);
/* Stops the tracing, unless LEAVE, and takes the rest. What of it fails is as of recorder_step(). */
int recorder_finish(struct recorder *recorder, bool leave, struct fault *fault);

struct recorder_totals recorder_totals(const struct recorder *recorder);
/* Events lost on a CPU. */
uint64_t recorder_lost(const struct recorder *recorder, unsigned cpu);
