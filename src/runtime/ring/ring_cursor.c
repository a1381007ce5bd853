/* SPDX-License-Identifier: MIT */
#include "runtime/ring/ring_cursor.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/macro.h"
#include "runtime/trace_counts.h"

#define TIME_MASK ((UINT64_C(1) << 48) - 1)

int cursor_init(struct cursor *cursor, struct ring_map *map, size_t length)
{
    int r;

    *cursor = (struct cursor){0};
    r = ring_reader_init(&cursor->reader, map, length);
    if (r < 0) {
        cursor->damaged = true;
        return r;
    }
    if (cursor->reader.overwrite) {
        cursor->copy = malloc((size_t)cursor->reader.subbuffer_size);
        if (!cursor->copy) {
            cursor->damaged = true;
            return -ENOMEM;
        }
    }
    return 0;
}

void cursor_done(struct cursor *cursor)
{
    free(cursor->copy);
    *cursor = (struct cursor){.damaged = true};
}

int cursor_next_packet(struct cursor *cursor, enum ring_reading how)
{
    int r;

    if (cursor->damaged)
        return 0;
    r = cursor->copy ? ring_reader_copy(&cursor->reader, how, cursor->copy, &cursor->packet)
                     : ring_reader_next(&cursor->reader, how, &cursor->packet);
    cursor->in_packet = r > 0;
    return r;
}

/* Reads the record at `position`. */
static bool look(struct cursor *cursor)
{
    const uint8_t *p = cursor->packet.content + cursor->position;
    size_t left;
    uint64_t word;
    uint32_t id;

    cursor->at_record = false;
    if (cursor->position >= cursor->packet.content_size)
        return false;
    left = cursor->packet.content_size - cursor->position;
    if (unlikely(left < RECORD_HEADER))
        return false;
    memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    id = word & 0xffff;
    word >>= 16;
#else
    id = (uint32_t)(word >> 48);
    word &= TIME_MASK;
#endif
    cursor->ticks = cursor->packet.header.timestamp_begin +
                    ((word - cursor->packet.header.timestamp_begin) & TIME_MASK);
    if (unlikely(!cursor->layout || cursor->layout->id != id))
        cursor->layout = layout_of(id);
    cursor->arguments = p + RECORD_HEADER;
    cursor->size = likely(cursor->layout != NULL)
                       ? layout_size(cursor->layout, cursor->arguments, left - RECORD_HEADER)
                       : layout_measure(id, cursor->arguments, left - RECORD_HEADER);
    if (unlikely(cursor->size == SIZE_MAX)) {
        /* Without its size, the begin of the next record is unknown. */
        COUNT(packets_cut, 1);
        cursor->layout = NULL;
        return false;
    }
    cursor->at_record = true;
    return true;
}

bool cursor_first(struct cursor *cursor)
{
    cursor->position = 0;
    return look(cursor);
}

bool cursor_next(struct cursor *cursor)
{
    cursor->position += (RECORD_HEADER + cursor->size + 7) & ~(size_t)7;
    return look(cursor);
}

void cursor_release(struct cursor *cursor)
{
    ring_reader_release(&cursor->reader, &cursor->packet);
    cursor->discarded = MAX(cursor->discarded, cursor->packet.header.events_discarded);
    cursor->in_packet = false;
    cursor->at_record = false;
}

uint64_t packet_count_records(const struct ring_packet *packet)
{
    struct cursor cursor = {.packet = *packet};
    uint64_t n = 0;

    for (bool more = cursor_first(&cursor); more; more = cursor_next(&cursor))
        n++;
    return n;
}
