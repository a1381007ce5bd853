/* SPDX-License-Identifier: MIT */
#pragma once

/* What the tests of the ring put into it and how they take it out again. Class 1 is two u64, class 2 a
 * u32 and a string, class 3 nothing at all. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "byte_order.h"
#include "ring_emit.h"
#include "runtime/ring/ring.h"

/* For threads other than cmocka's, signal handlers and children, where an assertion of its own would end
 * the program without a word. */
#define expect(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

#define MAP_LENGTH(map) ((map)->data_offset + (map)->size)

enum {
    CLASS_TWO = 1,
    CLASS_TEXT = 2,
    CLASS_NONE = 3,
};

static inline bool emit_two(uint64_t a, uint64_t b)
{
    struct strata_slot slot;
    uint8_t *at = ring_open(&slot, CLASS_TWO, 8 + 8 + 8);

    if (!at)
        return false;
    at = strata_ring_put(at, &a, 8);
    strata_ring_put(at, &b, 8);
    strata_ring_end(&slot);
    return true;
}

static inline bool emit_text(uint32_t a, const char *text)
{
    struct strata_slot slot;
    uint8_t *at = ring_open(&slot, CLASS_TEXT, 8 + 4 + 1);

    if (!at)
        return false;
    at = strata_ring_put(at, &a, 4);
    if (!ring_string(&slot, at, text))
        return false;
    strata_ring_end(&slot);
    return true;
}

static inline bool emit_none(void)
{
    struct strata_slot slot;

    if (!ring_open(&slot, CLASS_NONE, 8))
        return false;
    strata_ring_end(&slot);
    return true;
}

struct record {
    uint32_t class_id;
    uint64_t time; /* in full */
    uint64_t a, b;
    const char *text;
};

/* Takes the records of a packet apart. Returns 1 and a record, 0 at its end, -1 when it is no whole
 * record of those classes or its time is not inside of the packet's. */
struct record_walk {
    const struct ring_packet *packet;
    size_t at;
    uint64_t time;
};

static inline int next_record(struct record_walk *walk, struct record *ret)
{
    const struct ring_packet *packet = walk->packet;
    const uint8_t *p = packet->content + walk->at;
    size_t left = packet->content_size - walk->at;
    uint64_t word, time;
    uint32_t a;

    if (walk->at >= packet->content_size)
        return 0;
    if (walk->at == 0)
        walk->time = packet->header.timestamp_begin;
    if (left < 8)
        return -1;
    memcpy(&word, p, 8);
    *ret = (struct record){.class_id = strata_ring_word_id(word)};
    time = SWAP_LITTLE ? word : word >> 16;
    walk->time += (time - walk->time) & 0xffffffffffffULL;
    ret->time = walk->time;
    if (ret->time < packet->header.timestamp_begin || ret->time > packet->header.timestamp_end)
        return -1;
    p += 8;
    left -= 8;
    switch (ret->class_id) {
    case CLASS_TWO:
        if (left < 16)
            return -1;
        memcpy(&ret->a, p, 8);
        memcpy(&ret->b, p + 8, 8);
        walk->at += 24;
        break;
    case CLASS_TEXT:
        if (left < 5 || !memchr(p + 4, 0, left - 4))
            return -1;
        memcpy(&a, p, 4);
        ret->a = a;
        ret->text = (const char *)p + 4;
        walk->at += 8 + 4 + strlen(ret->text) + 1;
        break;
    case CLASS_NONE: walk->at += 8; break;
    default: return -1;
    }
    /* The last one is not padded. */
    if (walk->at < packet->content_size)
        walk->at = (walk->at + 7) & ~(size_t)7;
    return 1;
}

/* The ring of the calling thread. */
static inline struct ring_map *my_map(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);

    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i) && ring_at(i)->owner == tid)
            return ring_at(i);
    return NULL;
}

static inline struct ring_reader reader_of(struct ring_map *map)
{
    struct ring_reader reader;

    expect(ring_reader_init(&reader, map, MAP_LENGTH(map)) == 0);
    return reader;
}

/* Throws away what is in the ring. */
static inline void drain(struct ring_map *map)
{
    struct ring_reader reader = reader_of(map);
    struct ring_packet packet;

    while (ring_reader_next(&reader, RING_FLUSH, &packet) > 0)
        ring_reader_release(&reader, &packet);
}
