/* SPDX-License-Identifier: MIT */
#pragma once

/* The last windows of a stream, in memory: a flight recorder of xentrace's. Windows lie one behind the other
 * in a circle; when there is no room the oldest are dropped, whole. Not thread-safe. */

#include "record/percpu/stream.h"

struct chunk_memory {
    uint8_t *bytes;
    size_t size;
    size_t start; /* of the oldest window */
    size_t used;
    uint64_t dropped;         /* windows */
    uint64_t dropped_records; /* of events, in them or left out at the end */
};

/* -ENOMEM. */
int chunk_memory_init(struct chunk_memory *ret, size_t size);
void chunk_memory_done(struct chunk_memory *memory);

/* A window: the CPU_CHANGE record, which is changed to fit, and what it counts, in N parts of whole records. Of one that
 * is larger than all memory, the newest records. */
void chunk_memory_put(struct chunk_memory *memory, struct iovec *parts, unsigned n);
/* Writes all of it; as stream_write(), but that a limit leaves the newest out. */
int chunk_memory_write(struct chunk_memory *memory, struct stream *output, struct error *error);
