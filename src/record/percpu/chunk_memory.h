/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeps the last chunks of a stream in memory (xentrace's flight recorder): a circular buffer that drops the oldest
 * chunks as a whole. Not thread-safe. */

#include "record/percpu/stream.h"

struct chunk_memory {
    uint8_t *bytes;
    size_t size;
    size_t start; /* of the oldest window */
    size_t used;
    uint64_t dropped;         /* windows */
    uint64_t dropped_records; /* of events, in dropped windows or left out at the end */
};

/* -ENOMEM. */
int chunk_memory_init(struct chunk_memory *ret, size_t size);
void chunk_memory_done(struct chunk_memory *memory);

/* Adds a chunk: the CPU_CHANGE record, which is adjusted, and the records that it counts, in N parts of whole records.
 * Of a chunk that is larger than the memory, only the newest records are kept. */
void chunk_memory_put(struct chunk_memory *memory, struct iovec *parts, unsigned n);
/* Writes all chunks like stream_write(). If the stream has a limit, the newest chunks are left out. */
int chunk_memory_write(struct chunk_memory *memory, struct stream *output, struct error *error);
