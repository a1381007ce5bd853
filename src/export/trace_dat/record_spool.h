/* SPDX-License-Identifier: MIT */
#pragma once

/* Sorts mixed records of many streams by stream, in a file without a name. It needs memory for one chunk per stream.
 * Not thread-safe.
 *
 *   chunk    u64 offset of the stream's next chunk or 0, u32 bytes of records, records
 *   record   u64 time, u32 size, u32 kind (enum spool_kind), bytes */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spool_kind {
    SPOOL_EVENT,
    SPOOL_LOSS, /* its bytes: the number of events as u64; UINT64_MAX if unknown */
};

struct spool_record {
    uint64_t time;
    uint32_t size;
    uint32_t kind;
};

struct spool_stream {
    struct spool_stream *next; /* in the spool */
    uint8_t *chunk;            /* the chunk that is being filled */
    size_t used, room;
    uint64_t first, last; /* offsets of chunks; 0 before the first */
};

struct record_spool {
    int fd;
    uint64_t end;
    struct spool_stream *streams;
    size_t buffered;
};

/* Writes all N bytes at OFFSET of FD. 0 or a negative errno. */
int dat_write_at(int fd, const void *p, size_t n, uint64_t offset);

/* Makes the file in the directory of PATH. 0 or a negative errno. */
int record_spool_open(const char *path, struct record_spool *ret);
void record_spool_done(struct record_spool *spool);

/* The caller owns STREAM, which is zeroed and outlives SPOOL. SPOOL frees what it points to. */
void record_spool_add(struct record_spool *spool, struct spool_stream *stream);

/* Appends a record with SIZE bytes at P. -ENOMEM, or an errno of writing. */
int record_spool_put(struct record_spool *spool, struct spool_stream *stream, uint64_t time,
                     enum spool_kind kind, const void *p, uint32_t size);

/* Writes what is held. Then streams can be read. */
int record_spool_flush(struct record_spool *spool);

/* Reads the streams one after the other. What was read is removed, and its disk space is freed. */
struct spool_reader {
    struct record_spool *spool;
    uint64_t next; /* offset of the next chunk */
    uint8_t *chunk;
    size_t room, size, at;
};

void spool_reader_open(struct record_spool *spool, const struct spool_stream *stream,
                       struct spool_reader *ret);
/* Returns 1 with a record and its bytes, valid until the next call; 0 at the end; -ENOMEM, or an errno of reading. */
int spool_reader_next(struct spool_reader *reader, struct spool_record *ret,
                      const uint8_t **ret_bytes);
void spool_reader_done(struct spool_reader *reader);
