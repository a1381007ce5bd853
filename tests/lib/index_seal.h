/* SPDX-License-Identifier: MIT */
#pragma once

/* Gives the bytes of an index the checksums that are right for them, as who makes a hostile file can. */

#include <string.h>

#include "index/internal.h"

static inline void index_seal(uint8_t *bytes, size_t size)
{
    struct index_header *header = (struct index_header *)bytes;

    memcpy(header->magic, INDEX_MAGIC, sizeof header->magic);
    header->version = INDEX_VERSION;
    header->order = INDEX_ORDER;
    header->file_size = size;
    for (unsigned i = 0; i < SECTIONS; i++)
        if (header->sections[i].offset > size ||
            header->sections[i].size > size - header->sections[i].offset)
            return;
    header->content_hash = index_content_hash(bytes, size);
    header->header_hash = index_header_hash(header);
}
