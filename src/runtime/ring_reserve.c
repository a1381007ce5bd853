/* SPDX-License-Identifier: MIT */

/* The rare cases of the emit path: what strata/ring.h does not do inline. All of it may run in a signal
 * handler, be interrupted anywhere by one that does the same, and never come to run on. The numbers in
 * brackets are the invariants of runtime/ring.h. */

#include <errno.h>
#include <string.h>

#include "runtime/pages.h"
#include "runtime/process_dir.h"
#include "runtime/ring_owner.h"
#include "runtime/ring_pool.h"

/* The rest of the header is close_packet()'s, which may even come before: a handler that interrupts us
 * here may fill the packet and go to the next. */
static void open_packet(const struct geometry *ring, struct ring_map *map, uint64_t position,
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

/* Takes the pages of the data up to the position BEHIND, in the first round through the ring: a thread of few events
 * has few pages. A handler that comes in between does the same, which does no harm [10]. */
static _cold_ bool take_pages(const struct geometry *ring, struct ring_map *map, uint64_t behind)
{
    uint64_t ready = __atomic_load_n(&map->ready, __ATOMIC_RELAXED);

    if (behind > ring->mask + 1) /* the owner of the mapping is ill */
        return false;
    if (ready < behind && !pages_take(ring->data + ready, behind - ready))
        return false;
    __atomic_store_n(&map->ready, behind == ring->mask + 1 ? UINT64_MAX : behind, __ATOMIC_RELAXED);
    return true;
}

/* Whether there is space for a packet at NEXT. In an overwrite ring this gives the oldest up [8]. */
static bool make_room(const struct geometry *ring, struct ring_map *map, uint64_t next)
{
    uint64_t size = ring->mask + 1, behind = next + ring->sub_mask + 1, oldest;

    if (behind > __atomic_load_n(&map->ready, __ATOMIC_RELAXED) && !take_pages(ring, map, behind))
        return false;
    if (!(map->flags & RING_OVERWRITE))
        /* Acquire: the consumer's reads come before our writes. */
        return behind - __atomic_load_n(&map->consumed, __ATOMIC_ACQUIRE) <= size;

    /* A handler must not go all around the ring to the record that it interrupted. */
    if (behind - (__atomic_load_n(&map->committed, __ATOMIC_RELAXED) & ~ring->sub_mask) > size)
        return false;
    if (behind <= size)
        return true;
    oldest = __atomic_load_n(&map->oldest, __ATOMIC_RELAXED);
    while (oldest < behind - size && !strata_ring_exchange(&map->oldest, oldest, behind - size))
        oldest = __atomic_load_n(&map->oldest, __ATOMIC_RELAXED);
    /* Release fence: what is written from here on is not seen before the new `oldest` is. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return true;
}

static void free_extent(struct ring_map *map, uint32_t i)
{
    __atomic_fetch_and(&map->extents_used, ~(1U << i), __ATOMIC_RELEASE);
}

/* Finds the extent that a nested record will be noted in, before its space is taken: the one that ends
 * where the record's space begins, else a new one. What a new entry holds is past (it ends before
 * committed), and stays so until the record is committed [3]. -EAGAIN: a handler was faster. */
static int find_extent(struct ring_map *map, struct strata_slot *slot, uint64_t from)
{
    uint32_t used = __atomic_load_n(&map->extents_used, __ATOMIC_RELAXED);
    unsigned i;

    slot->claimed = false;
    slot->extends = false;
    for (i = 0; i < RING_EXTENTS; i++)
        if (used & 1U << i && __atomic_load_n(&map->extents[i].to, __ATOMIC_RELAXED) == from) {
            slot->extent = i;
            slot->extends = true;
            return 0;
        }
    for (i = 0; i < RING_EXTENTS && used & 1U << i; i++)
        ;
    if (i == RING_EXTENTS)
        return -ENOSPC;
    /* Release, as everything behind it: see publish. */
    if (!__atomic_compare_exchange_n(&map->extents_used, &used, used | 1U << i, false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return -EAGAIN;
    slot->extent = i;
    slot->claimed = true;
    return 0;
}

/* A handler that came since our space was taken has stamped later than we. */
static void raise_nested_time(struct strata_ring_commit *line, uint64_t time)
{
    uint64_t nested_time;

    do
        nested_time = __atomic_load_n(&line->nested_time, __ATOMIC_RELAXED);
    while (later(nested_time, time) != nested_time &&
           !strata_ring_exchange(&line->nested_time, nested_time, time));
}

void strata_ring_drop(uint32_t id)
{
    struct strata_ring *ring = strata_ring_self;

    if (!ring->line)
        ring = ring_acquire();
    if (ring)
        ring_count_drop(ring, ring_map_of(ring->line), id);
    else
        ring_count_no_ring(id);
}

uint8_t *strata_ring_begin_slow(struct strata_slot *slot, uint32_t id, size_t size)
{
    struct strata_ring *ring = strata_ring_self;
    struct strata_ring_commit *line;
    struct geometry geometry;
    struct ring_map *map;

    if (!slot) /* strata_ring_bind() */
        return NULL;
    if (!ring->line) {
        ring = ring_acquire();
        if (!ring) {
            ring_count_no_ring(id);
            return NULL;
        }
    }
    line = ring->line;
    map = ring_map_of(line);
    geometry = geometry_of(ring);

    for (;;) {
        uint64_t from = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
        bool nested = __atomic_load_n(&line->committed, __ATOMIC_RELAXED) != from;
        uint64_t at = (from + 7) & ~7ULL, next = 0, last, time;
        bool opens;
        int r;

        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        time = trace_clock_ticks();
        last = later(__atomic_load_n(&line->time, __ATOMIC_RELAXED), line->nested_time);
        time = later(time, last); /* another processor's clock may be behind: [1] comes first */

        opens = ((at - 1) & geometry.sub_mask) + size >= geometry.sub_mask ||
                time - last >= STRATA_RING_GAP;
        if (opens) {
            next = (from + geometry.sub_mask) & ~geometry.sub_mask;
            at = next + RING_HEADER_SIZE;
            if (RING_HEADER_SIZE + size > geometry.sub_mask || !make_room(&geometry, map, next))
                goto drop;
        }
        if (nested) {
            r = find_extent(map, slot, from);
            if (r == -EAGAIN)
                continue;
            if (r < 0)
                goto drop;
        }
        if (!strata_ring_exchange(&ring->head, from, at + size)) {
            /* A handler emitted since, and it may be that we only seemed to be nested. */
            if (nested && slot->claimed)
                free_extent(map, slot->extent);
            if (ring->line != line) /* it forked, and we are in the child */
                goto drop;
            continue;
        }

        if (opens) {
            if (from & geometry.sub_mask)
                close_packet(&geometry, map, from, time);
            open_packet(&geometry, map, next, time);
        }
        if (nested) {
            raise_nested_time(line, time);
        } else {
            __atomic_store_n(&line->time, time, __ATOMIC_RELEASE);
            if (opens) {
                /* Committed as a record of its own, so that `closed` can follow [5]. */
                __atomic_store_n(&line->committed, at, __ATOMIC_RELEASE);
                __atomic_store_n(&map->closed, next, __ATOMIC_RELEASE);
                from = at;
                ring_pool_wake();
            }
        }
        slot->ring = ring;
        slot->line = line;
        slot->from = from;
        slot->end = at + size;
        slot->word = strata_ring_word(id, time);
        slot->record = geometry.data + (at & geometry.mask);
        return slot->record + 8;
    }

drop:
    ring_count_drop(ring, map, id);
    return NULL;
}

void strata_ring_end_nested(const struct strata_slot *slot)
{
    struct ring_extent *extent;
    struct ring_map *map;
    uint64_t from;

    if (!slot) /* strata_ring_bind() */
        return;
    map = ring_map_of(slot->line);
    extent = &map->extents[slot->extent];
    if (slot->ring->line !=
        slot->line) /* in a child that a handler forked: the parent commits it */
        return;

    from = slot->extends ? __atomic_load_n(&extent->from, __ATOMIC_RELAXED) : slot->from;

    /* What handlers put behind this record while it was open is one extent, and is made longer towards
     * the front; what led up to the record is then in both for a moment. */
    for (unsigned i = 0; i < RING_EXTENTS; i++)
        if (i != slot->extent && __atomic_load_n(&map->extents_used, __ATOMIC_RELAXED) & 1U << i &&
            __atomic_load_n(&map->extents[i].from, __ATOMIC_RELAXED) == slot->end &&
            __atomic_load_n(&map->extents[i].to, __ATOMIC_RELAXED) > slot->end) {
            /* Release: from this store on it counts [3]. */
            __atomic_store_n(&map->extents[i].from, from, __ATOMIC_RELEASE);
            free_extent(map, slot->extent);
            return;
        }

    __atomic_store_n(&extent->from, from, __ATOMIC_RELAXED);
    /* Release: likewise. */
    __atomic_store_n(&extent->to, slot->end, __ATOMIC_RELEASE);
}

void strata_ring_publish(const struct strata_slot *slot)
{
    struct strata_ring *ring;
    struct strata_ring_commit *line;
    struct ring_map *map;
    uint64_t head, committed, before, closed;

    if (!slot) /* strata_ring_bind() */
        return;
    ring = slot->ring;
    line = slot->line;
    map = ring_map_of(line);
    if (ring->line != line) /* as above */
        return;

    /* While committed < head, handlers that come take themselves for nested and leave `committed` alone;
     * so it does not go back [4]. One that comes when they are equal publishes by itself. */
    for (;;) {
        head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
        committed = __atomic_load_n(&line->committed, __ATOMIC_RELAXED);
        if (committed >= head)
            break;
        /* Release, each: a reader that sees this time also sees that extents are in use, and a reader
         * that sees none in use also sees this position [6]. */
        __atomic_store_n(&line->time, line->nested_time, __ATOMIC_RELEASE);
        __atomic_store_n(&line->committed, head, __ATOMIC_RELEASE);
    }

    committed &= ~ring->sub_mask;
    closed = before = __atomic_load_n(&map->closed, __ATOMIC_RELAXED);
    while (closed < committed && !strata_ring_exchange(&map->closed, closed, committed))
        closed = __atomic_load_n(&map->closed, __ATOMIC_RELAXED);
    __atomic_store_n(&map->extents_used, 0, __ATOMIC_RELEASE);
    if (before < committed)
        ring_pool_wake();
}
