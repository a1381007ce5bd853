/* SPDX-License-Identifier: MIT */
#include "index/writer.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/fd.h"

#define BUFFER_SIZE (1u << 18)

void index_writer_done(struct index_writer *writer)
{
    free(writer->buffer);
    writer->buffer = NULL;
    (void)XXH3_freeState(writer->hash);
    writer->hash = NULL;
}

int index_writer_init(struct index_writer *writer, int fd)
{
    *writer =
        (struct index_writer){.fd = fd, .buffer = malloc(BUFFER_SIZE), .hash = XXH3_createState()};
    if (!writer->buffer || !writer->hash || XXH3_64bits_reset(writer->hash) == XXH_ERROR) {
        index_writer_done(writer);
        return -ENOMEM;
    }
    /* Written last. */
    index_writer_put(writer, &writer->header, sizeof writer->header);
    return 0;
}

static void flush(struct index_writer *writer)
{
    size_t header = writer->offset == 0 ? sizeof writer->header : 0;

    (void)XXH3_64bits_update(writer->hash, writer->buffer + header, writer->n - header);
    if (!writer->error)
        writer->error = write_all(writer->fd, writer->buffer, writer->n);
    writer->offset += writer->n;
    writer->n = 0;
}

uint64_t index_writer_put(struct index_writer *writer, const void *p, size_t size)
{
    uint64_t offset = writer->offset + writer->n;
    const uint8_t *next = p;

    while (size > 0) {
        size_t n = BUFFER_SIZE - writer->n < size ? BUFFER_SIZE - writer->n : size;

        memcpy(writer->buffer + writer->n, next, n);
        writer->n += n;
        next += n;
        size -= n;
        if (writer->n == BUFFER_SIZE)
            flush(writer);
    }
    return offset;
}

void index_writer_begin(struct index_writer *writer, enum index_section section)
{
    static const uint8_t zeros[8];
    size_t n = -(writer->offset + writer->n) % sizeof zeros;

    writer->header.sections[section].offset = index_writer_put(writer, zeros, n) + n;
}

void index_writer_end(struct index_writer *writer, enum index_section section)
{
    writer->header.sections[section].size =
        writer->offset + writer->n - writer->header.sections[section].offset;
}

void index_writer_section(struct index_writer *writer, enum index_section section, const void *p,
                          size_t size)
{
    index_writer_begin(writer, section);
    if (size > 0)
        index_writer_put(writer, p, size);
    index_writer_end(writer, section);
}

int index_writer_finish(struct index_writer *writer)
{
    struct index_header *header = &writer->header;

    flush(writer);
    if (writer->error)
        return writer->error;
    memcpy(header->magic, INDEX_MAGIC, sizeof header->magic);
    header->version = INDEX_VERSION;
    header->order = INDEX_ORDER;
    header->file_size = writer->offset;
    header->content_hash = XXH3_64bits_digest(writer->hash);
    header->header_hash = XXH3_64bits(header, offsetof(struct index_header, header_hash));
    writer->error =
        lseek(writer->fd, 0, SEEK_SET) < 0 ? -errno : write_all(writer->fd, header, sizeof *header);
    return writer->error;
}
