/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads one ring record by record, for the writer. */

#include "runtime/ring/record_layout.h"
#include "runtime/ring/ring.h"

struct cursor {
    struct ring_reader reader;
    uint8_t *copy;  /* copy of the packet, for overwrite rings; otherwise NULL */
    bool damaged;   /* the ring cannot be read */
    bool in_packet; /* `packet` is valid */
    bool at_record; /* `position` to `size` describe a record in the packet */
    struct ring_packet packet;
    size_t position; /* of the record in the packet's content */
    uint64_t ticks;
    const struct record_layout *layout; /* NULL: out of memory */
    const uint8_t *arguments;
    size_t size;        /* of the arguments */
    uint64_t started;   /* the reader's position when the pass began */
    uint64_t discarded; /* drops that were reported; packets may report fewer */
};

int cursor_init(struct cursor *cursor, struct ring_map *map, size_t length);
void cursor_done(struct cursor *cursor);

/* Moves to the ring's next packet. Returns 1; 0: none now. */
int cursor_next_packet(struct cursor *cursor, enum ring_reading how);
/* Move to the first or the next record of the packet. Return false if there is none. */
bool cursor_first(struct cursor *cursor);
bool cursor_next(struct cursor *cursor);
/* Releases the packet. */
void cursor_release(struct cursor *cursor);

uint64_t packet_count_records(const struct ring_packet *packet);
