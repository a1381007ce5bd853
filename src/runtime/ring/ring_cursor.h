/* SPDX-License-Identifier: MIT */
#pragma once

/* One ring, record by record, for the writer. */

#include "runtime/ring/record_layout.h"
#include "runtime/ring/ring.h"

struct cursor {
    struct ring_reader reader;
    uint8_t *copy;  /* of the packet, for overwrite rings; otherwise NULL */
    bool damaged;   /* no ring that can be read */
    bool in_packet; /* `packet` is at hand */
    bool at_record; /* and `word` to `size` are those of a record in it */
    struct ring_packet packet;
    size_t position; /* in the packet's content, of the record */
    uint64_t ticks;
    const struct record_layout *layout; /* NULL: no memory for it */
    const uint8_t *arguments;
    size_t size;        /* of the arguments */
    uint64_t started;   /* the reader's position when the pass began */
    uint64_t discarded; /* of its drops, how many were reported; packets may report fewer */
};

int cursor_init(struct cursor *cursor, struct ring_map *map, size_t length);
void cursor_done(struct cursor *cursor);

/* The ring's next packet: 1; 0: none now. */
int cursor_next_packet(struct cursor *cursor, enum ring_reading how);
/* Moves to the first record of the packet, or to the next one. False: there is none. */
bool cursor_first(struct cursor *cursor);
bool cursor_next(struct cursor *cursor);
/* Is done with the packet. */
void cursor_release(struct cursor *cursor);

uint64_t packet_count_records(const struct ring_packet *packet);
