/* SPDX-License-Identifier: MIT */

/* The rare cases of the emit path, which strata/ring.h does not inline. All of it may run in a signal handler, be
 * interrupted anywhere by a handler that does the same, and never continue. The ring that is written to is `busy`, so
 * handlers do not touch it. Numbers in brackets are the invariants of runtime/ring/ring.h. */

#include <errno.h>
#include <string.h>

#include "runtime/ring/process_dir.h"
#include "runtime/ring/reserve_memory.h"
#include "runtime/ring/ring_owner.h"
#include "runtime/ring/ring_pool.h"

/* The rest of the header is close_packet()'s. */
static void open_packet(const struct strata_ring *ring, struct ring_map *map, uint64_t position,
                        uint64_t time)
{
    struct ring_packet_header *header = packet_at(ring, position);

    header->magic = CTF_MAGIC;
    memcpy(header->uuid, map->uuid, sizeof(header->uuid));
    header->stream_id = 0;
    header->timestamp_begin = time;
    header->packet_seq_num = position / (ring->sub_mask + 1);
    header->pid = map->pid;
    header->tid = map->tid;
    memcpy(header->thread_name, map->thread_name, sizeof(header->thread_name));
}

void ring_count_drop(const struct strata_ring *ring, struct ring_map *map, uint32_t class_id)
{
    ring_add(&map->discarded, 1);
    /* A ring that was wiped, in a child that a handler forked, has 0. */
    ring_add(&ring_drops(map)[class_id < ring->n_classes ? class_id : 0], 1);
}

/* Takes the pages of the data up to the position AFTER, in the first round through the ring: a thread of few events has
 * few pages [10]. */
static _cold_ bool take_pages(const struct strata_ring *ring, struct ring_map *map, uint64_t after)
{
    uint64_t ready = map->ready;

    if (after > ring->mask + 1) /* the owner of the mapping is ill */
        return false;
    if (ready < after && !reserve_pages(ring->data + ready, (size_t)(after - ready)))
        return false;
    map->ready = after == ring->mask + 1 ? UINT64_MAX : after;
    return true;
}

/* Whether there is space for a packet at NEXT. In an overwrite ring this gives the oldest up [8]. */
static bool make_room(const struct strata_ring *ring, struct ring_map *map, uint64_t next)
{
    uint64_t size = ring->mask + 1, after = next + ring->sub_mask + 1;

    if (after > map->ready && !take_pages(ring, map, after))
        return false;
    if (!(map->flags & RING_OVERWRITE))
        /* Acquire: the consumer's reads come before our writes. */
        return after - __atomic_load_n(&map->consumed, __ATOMIC_ACQUIRE) <= size;
    if (after > size) {
        __atomic_store_n(&map->oldest, after - size, __ATOMIC_RELAXED);
        /* Release fence: what is written from here on is not seen before the new `oldest` is. */
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }
    return true;
}

/* True if a handler's fork() has cleared the ring in this child. The parent continues with it. */
static bool is_wiped(const struct strata_ring *ring)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return !__atomic_load_n(&ring->busy, __ATOMIC_RELAXED);
}

/* Opens a new packet for a record of SIZE bytes at TIME, and closes the open packet. IT is an earlier copy of RING, and
 * is updated. Returns false if there is no room. */
static bool next_packet(struct strata_ring *ring, struct strata_ring *it, size_t size,
                        uint64_t time)
{
    struct ring_map *map = ring_map_of(it->line);
    uint64_t next = (it->head + it->sub_mask) & ~it->sub_mask;

    if (RING_HEADER_SIZE + size > it->sub_mask - 7 || !make_room(it, map, next) || is_wiped(ring))
        return false;
    if (it->head & it->sub_mask)
        close_packet(it, map, time);
    open_packet(it, map, next, time);
    it->head = next + RING_HEADER_SIZE;
    it->base = (uintptr_t)it->data + (uintptr_t)((next & it->mask) - next);
    it->limit = packet_limit(it);
    if (is_wiped(ring))
        return false;
    ring->limit = trace_clock_kind() == CLOCK_KIND_MONOTONIC ? 0 : it->limit;
    ring->base = it->base;
    ring->head = it->head;
    __atomic_store_n(&it->line->time, time, __ATOMIC_RELEASE);
    /* Committed as a record of its own, so that `closed` can follow [5]. */
    __atomic_store_n(&it->line->committed, it->head, __ATOMIC_RELEASE);
    __atomic_store_n(&map->closed, next, __ATOMIC_RELEASE);
    ring_pool_wake();
    return true;
}

static void set_busy(struct strata_ring *ring, uint32_t busy)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&ring->busy, busy, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void drop_record(struct strata_ring *ring, const struct strata_ring *it, uint32_t id)
{
    if (is_wiped(ring))
        return;
    ring_count_drop(it, ring_map_of(it->line), id);
    set_busy(ring, 0);
}

/* The ring that the thread may write to now: its own, or, in a handler that interrupts records, the one of the level
 * above theirs. Counts the event as dropped if there is none. */
static struct strata_ring *find_ring(uint32_t id)
{
    for (unsigned level = 0; level < RING_LEVELS; level++) {
        struct strata_ring *ring = ring_of_level(level);

        if (!ring->line) {
            ring = ring_acquire(level);
            if (!ring) {
                ring_count_no_ring(id);
                return NULL;
            }
        }
        if (!__atomic_load_n(&ring->busy, __ATOMIC_RELAXED))
            return ring;
    }
    strata_ring_drop(id);
    return NULL;
}

void strata_ring_drop(uint32_t id)
{
    struct strata_ring *ring = strata_ring_self;

    if (!ring->line)
        ring = ring_acquire(0);
    if (ring)
        ring_count_drop(ring, ring_map_of(ring->line), id);
    else
        ring_count_no_ring(id);
}

/* Where the record begins in memory. */
static uint8_t *record_at(const struct strata_ring *ring)
{
    return ring->data + (ring->head & ring->mask);
}

uint8_t *strata_ring_begin_slow(struct strata_slot *slot, uint32_t id, size_t size)
{
    struct strata_ring *ring, it;
    uint64_t time, last;

    if (!slot) /* strata_ring_bind() */
        return NULL;
    ring = find_ring(id);
    if (!ring)
        return NULL;
    set_busy(ring, 1);
    it = *ring;
    if (!it.line) /* wiped */
        return NULL;
    it.limit = packet_limit(&it);

    time = trace_clock_ticks();
    last = __atomic_load_n(&it.line->time, __ATOMIC_RELAXED);
    time = later(time, last); /* another processor's clock may be behind: [1] comes first */
    if (it.head + size <= it.limit && time - last < STRATA_RING_GAP) {
        __atomic_store_n(&it.line->time, time, __ATOMIC_RELEASE);
    } else if (!next_packet(ring, &it, size, time)) {
        drop_record(ring, &it, id);
        return NULL;
    }
    *slot = (struct strata_slot){
        .ring = ring,
        .line = it.line,
        .record = record_at(&it),
        .word = strata_ring_word(id, time),
        .from = it.head,
        .size = size,
        .room = it.limit - it.head - size,
    };
    return slot->record + STRATA_RING_HEADER;
}

uint8_t *strata_ring_string_slow(struct strata_slot *slot, uint8_t *at, const char *string)
{
    struct strata_ring it;
    size_t length, size;

    if (!slot) /* strata_ring_bind() */
        return NULL;
    if (!string)
        string = "(null)"; /* as printf() prints it */
    length = strnlen(string, STRATA_STRING_MAX);
    if (length > slot->room) {
        /* To a packet where there is room, with what there is of the record. */
        it = *slot->ring;
        if (it.line != slot->line) /* wiped */
            return NULL;
        if (!next_packet(slot->ring, &it, (size_t)slot->size + length,
                         __atomic_load_n(&it.line->time, __ATOMIC_RELAXED))) {
            drop_record(slot->ring, &it, strata_ring_word_id(slot->word));
            return NULL;
        }
        size = (size_t)(at - slot->record);
        memcpy(record_at(&it), slot->record, size);
        slot->record = record_at(&it);
        slot->from = it.head;
        slot->room = it.limit - it.head - slot->size;
        at = slot->record + size;
    }
    memcpy(at, string, length);
    at[length] = 0;
    slot->size += length;
    slot->room -= length;
    return at + length + 1;
}
