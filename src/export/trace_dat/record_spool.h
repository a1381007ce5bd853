/* SPDX-License-Identifier: MIT */
#pragma once

/* Records of many streams that come mixed and are wanted stream by stream, in a file without a name:
 * memory is a chunk for each stream, whatever comes. Not thread-safe.
 *
 *   chunk    u64 offset of the stream's next chunk or 0, u32 bytes of records, records
 *   record   u64 time, u32 size, u32 kind (enum spool_kind), bytes
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spool_kind {
    SPOOL_EVENT,
    SPOOL_LOSS, /* its bytes: u64 how many events, UINT64_MAX: not known */
};

struct spool_record {
    uint64_t time;
    uint32_t size;
    uint32_t kind;
};

struct spool_stream {
    struct spool_stream *next; /* of the spool */
    uint8_t *chunk;            /* that is being filled */
    size_t used, room;
    uint64_t first, last; /* offsets of chunks; 0: none yet */
};

struct record_spool {
    int fd;
    uint64_t end;
    struct spool_stream *streams;
    size_t buffered;
};

/* All N bytes at OFFSET of FD. An errno. */
int dat_write_at(int fd, const void *p, size_t n, uint64_t offset);

/* In the directory that the file PATH is in. An errno. */
int record_spool_open(const char *path, struct record_spool *ret);
void record_spool_done(struct record_spool *spool);

/* STREAM is the caller's, zeroed, and outlives SPOOL, which frees what it points to. */
void record_spool_add(struct record_spool *spool, struct spool_stream *stream);

/* Appends a record whose bytes are SIZE at P. -ENOMEM, an errno of writing. */
int record_spool_put(struct record_spool *spool, struct spool_stream *stream, uint64_t time,
                     enum spool_kind kind, const void *p, uint32_t size);

/* Writes out what is held; then streams can be read. */
int record_spool_flush(struct record_spool *spool);

/* Reads the streams back, one after the other; what was read is gone, and its room on the disk given
 * back. */
struct spool_reader {
    struct record_spool *spool;
    uint64_t next; /* chunk */
    uint8_t *chunk;
    size_t room, size, at;
};

void spool_reader_open(struct record_spool *spool, const struct spool_stream *stream,
                       struct spool_reader *ret);
/* 1: a record and its bytes, good until the next call. 0: no more. -ENOMEM, an errno of reading. */
int spool_reader_next(struct spool_reader *reader, struct spool_record *ret,
                      const uint8_t **ret_bytes);
void spool_reader_done(struct spool_reader *reader);
