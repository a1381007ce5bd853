/* SPDX-License-Identifier: MIT */
#pragma once

/* The last windows of a stream, in memory: a flight recorder of xentrace's. Windows lie one behind the other
 * in a circle; when there is no room the oldest are dropped, whole. Not thread-safe. */

#include "capture/stream.h"

struct window_memory {
    uint8_t *bytes;
    size_t size;
    size_t start; /* of the oldest window */
    size_t used;
    uint64_t dropped;         /* windows */
    uint64_t dropped_records; /* of events, in them or left out at the end */
};

/* -ENOMEM. */
int window_memory_init(struct window_memory *ret, size_t size);
void window_memory_done(struct window_memory *memory);

/* A window: the CPU_CHANGE record, which is changed to fit, and what it counts, in N parts of whole records. Of one that
 * is larger than all memory, the newest records. */
void window_memory_put(struct window_memory *memory, struct iovec *parts, unsigned n);
/* Writes all of it; as stream_write(), but that a limit leaves the newest out. */
int window_memory_write(struct window_memory *memory, struct stream *output, struct fault *fault);
