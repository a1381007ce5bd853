/* SPDX-License-Identifier: MIT */
#include "export/trace_dat/record_spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/unnamed_file.h"

#define HEAD_SIZE 12
#define CHUNK_ENOUGH ((size_t)64 * 1024)
#define BUFFERED_MAX ((size_t)16 * 1024 * 1024)
/* The file begins with unused bytes, so that no chunk has the offset 0. */
#define START 16

int dat_write_at(int fd, const void *p, size_t n, uint64_t offset)
{
    const uint8_t *from = p;

    while (n > 0) {
        ssize_t got = pwrite(fd, from, n, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        from += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static int read_all(int fd, void *p, size_t n, uint64_t offset)
{
    uint8_t *to = p;

    while (n > 0) {
        ssize_t got = pread(fd, to, n, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        to += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

int record_spool_open(const char *path, struct record_spool *ret)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = dir ? unnamed_file_open(AT_FDCWD, dir) : -ENOMEM;

    if (fd < 0)
        return fd;
    *ret = (struct record_spool){.fd = fd, .end = START};
    return 0;
}

void record_spool_done(struct record_spool *spool)
{
    for (struct spool_stream *stream = spool->streams; stream; stream = stream->next)
        free(TAKE_PTR(stream->chunk));
    if (spool->fd >= 0)
        close(spool->fd);
    *spool = (struct record_spool){.fd = -1};
}

void record_spool_add(struct record_spool *spool, struct spool_stream *stream)
{
    stream->next = spool->streams;
    spool->streams = stream;
}

static int flush(struct record_spool *spool, struct spool_stream *stream)
{
    uint64_t offset = spool->end;
    uint8_t link[8];
    int r;

    if (stream->used <= HEAD_SIZE)
        return 0;
    store_u64(stream->chunk, 0);
    store_u32(stream->chunk + 8, (uint32_t)(stream->used - HEAD_SIZE));
    r = dat_write_at(spool->fd, stream->chunk, stream->used, offset);
    if (r == 0 && stream->last) {
        store_u64(link, offset);
        r = dat_write_at(spool->fd, link, sizeof link, stream->last);
    }
    if (r < 0)
        return r;
    if (!stream->first)
        stream->first = offset;
    stream->last = offset;
    spool->end += stream->used;
    spool->buffered -= stream->used - HEAD_SIZE;
    stream->used = HEAD_SIZE;
    return 0;
}

int record_spool_flush(struct record_spool *spool)
{
    int r = 0;

    for (struct spool_stream *stream = spool->streams; stream && r == 0; stream = stream->next) {
        r = flush(spool, stream);
        free(TAKE_PTR(stream->chunk));
        stream->used = stream->room = 0;
    }
    return r;
}

static int make_room(struct spool_stream *stream, size_t size)
{
    uint8_t *bigger;

    size = MAX(size, MIN(MAX(4 * stream->room, (size_t)4096), CHUNK_ENOUGH));
    bigger = realloc(stream->chunk, size);
    if (!bigger)
        return -ENOMEM;
    stream->chunk = bigger;
    stream->room = size;
    stream->used = MAX(stream->used, (size_t)HEAD_SIZE);
    return 0;
}

int record_spool_put(struct record_spool *spool, struct spool_stream *stream, uint64_t time,
                     enum spool_kind kind, const void *p, uint32_t size)
{
    const struct spool_record record = {.time = time, .size = size, .kind = kind};
    size_t whole = sizeof record + (size_t)size;
    int r;

    if (unlikely(whole > stream->room - stream->used)) {
        if (stream->used + whole > CHUNK_ENOUGH) {
            r = flush(spool, stream);
            if (r < 0)
                return r;
        }
        if (stream->used + whole > stream->room || !stream->room) {
            r = make_room(stream, MAX(stream->used, (size_t)HEAD_SIZE) + whole);
            if (r < 0)
                return r;
        }
    }
    memcpy(stream->chunk + stream->used, &record, sizeof record);
    memcpy(stream->chunk + stream->used + sizeof record, p, size);
    stream->used += whole;
    spool->buffered += whole;
    return unlikely(spool->buffered > BUFFERED_MAX) ? record_spool_flush(spool) : 0;
}

void spool_reader_open(struct record_spool *spool, const struct spool_stream *stream,
                       struct spool_reader *ret)
{
    *ret = (struct spool_reader){.spool = spool, .next = stream->first};
}

void spool_reader_done(struct spool_reader *reader)
{
    free(TAKE_PTR(reader->chunk));
}

static int next_chunk(struct spool_reader *reader)
{
    int fd = reader->spool->fd;
    uint64_t offset = reader->next;
    uint8_t head[HEAD_SIZE];
    uint32_t size;
    int r = read_all(fd, head, sizeof head, offset);

    if (r < 0)
        return r;
    size = load_u32(head + 8);
    if (size > reader->room) {
        uint8_t *bigger = realloc(reader->chunk, size);

        if (!bigger)
            return -ENOMEM;
        reader->chunk = bigger;
        reader->room = size;
    }
    r = read_all(fd, reader->chunk, size, offset + HEAD_SIZE);
    if (r < 0)
        return r;
    /* Only helps: not every file system can. */
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                    (off_t)size + HEAD_SIZE);
    reader->size = size;
    reader->at = 0;
    reader->next = load_u64(head);
    return 0;
}

int spool_reader_next(struct spool_reader *reader, struct spool_record *ret,
                      const uint8_t **ret_bytes)
{
    while (reader->at == reader->size) {
        int r;

        if (reader->next == 0)
            return 0;
        r = next_chunk(reader);
        if (r < 0)
            return r;
    }
    memcpy(ret, reader->chunk + reader->at, sizeof *ret);
    *ret_bytes = reader->chunk + reader->at + sizeof *ret;
    reader->at += sizeof *ret + ret->size;
    return 1;
}
