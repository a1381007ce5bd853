/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes an index file from begin to end: space for the header, blocks, sections, then the header. After the first
 * error, which is kept, everything is discarded. */

#include <stddef.h>

#include "index/format.h"

struct index_writer {
    int fd;
    int error;       /* a negative errno */
    uint64_t offset; /* of the buffer's first byte */
    uint8_t *buffer;
    size_t n;
    void *hash; /* XXH3_state_t: hash of what was written after the header */
    struct index_header header;
};

/* 0, -ENOMEM. */
int index_writer_init(struct index_writer *writer, int fd);
void index_writer_done(struct index_writer *writer);
/* Writes SIZE bytes. Returns their offset. */
uint64_t index_writer_put(struct index_writer *writer, const void *p, size_t size);

/* From here on, what is put is SECTION. Sections are contiguous. */
void index_writer_begin(struct index_writer *writer, enum index_section section);
void index_writer_end(struct index_writer *writer, enum index_section section);
/* Writes a section in one piece. */
void index_writer_section(struct index_writer *writer, enum index_section section, const void *p,
                          size_t size);
/* Writes the header. The caller has set its facts about the trace. 0, or the error. */
int index_writer_finish(struct index_writer *writer);
