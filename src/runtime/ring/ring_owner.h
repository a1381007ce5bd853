/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of the ring's owner: ring.c creates rings and assigns them to threads; ring_reserve.c writes to
 * them and asks ring.c for a ring. */

#include "runtime/macro.h"
#include "runtime/ring/ring.h"
#include "strata/ring.h"

#define RING_HEADER_SIZE sizeof(struct ring_packet_header)

/* The ring of a thread without a ring: nothing fits in it. */
extern struct strata_ring ring_none;

static inline struct ring_map *ring_map_of(const struct strata_ring_commit *line)
{
    return (struct ring_map *)((uintptr_t)line - offsetof(struct ring_map, committed));
}

/* Creates or reuses a ring for LEVEL of the calling thread (see runtime/ring/ring.h); strata_ring_self is the ring of
 * level 0. NULL: impossible. Safe in signal handlers. */
struct strata_ring *ring_acquire(unsigned level);

/* The thread's ring of LEVEL. If the thread has none, the result has no `line`. */
struct strata_ring *ring_of_level(unsigned level);

/* Counts an event of this class as lost because its thread has no ring. */
void ring_count_no_ring(uint32_t class_id);

/* Offset of the drop counts in rings created here. The owner reads neither it nor the number of counts
 * from the map: a map in a ring pool can be written by processes of other users. */
#define RING_CLASSES_OFFSET 4096U

static inline uint64_t *ring_drops(struct ring_map *map)
{
    return (uint64_t *)((uint8_t *)map + RING_CLASSES_OFFSET);
}

/* Counts an event as dropped by RING, whose map is MAP. */
void ring_count_drop(const struct strata_ring *ring, struct ring_map *map, uint32_t class_id);

/* Adds to a count that only this thread and its signal handlers add to. */
static inline void ring_add(uint64_t *count, uint64_t n)
{
#if defined(__x86_64__) && !defined(STRATA_RING_TSAN)
    __asm__ __volatile__("addq %[n], %[count]" : [count] "+m"(*count) : [n] "er"(n) : "cc");
#else
    __atomic_fetch_add(count, n, __ATOMIC_RELAXED);
#endif
}

/* The later of two times that are less than 2^63 ticks apart. */
static inline uint64_t later(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0 ? b : a;
}

/* Limit of the end of a record in the open packet; 0: no packet is open. */
static inline uint64_t packet_limit(const struct strata_ring *ring)
{
    return ring->head & ring->sub_mask ? (ring->head | ring->sub_mask) - 7 : 0;
}

static inline struct ring_packet_header *packet_at(const struct strata_ring *ring,
                                                   uint64_t position)
{
    return (struct ring_packet_header *)(ring->data + (position & ring->mask));
}

/* Completes the header of the open packet. */
static inline void close_packet(const struct strata_ring *ring, struct ring_map *map, uint64_t time)
{
    struct ring_packet_header *header = packet_at(ring, ring->head & ~ring->sub_mask);
    uint64_t end = __atomic_load_n(&map->committed, __ATOMIC_RELAXED), content;

    /* Processes of other users may write to the map. */
    if (((end + 7) & ~7ULL) != ring->head)
        end = ring->head;
    content = end & ring->sub_mask;
    header->timestamp_end = time;
    header->content_size = content * 8;
    header->packet_size = ((content + 7) & ~7ULL) * 8;
    header->events_discarded = __atomic_load_n(&map->discarded, __ATOMIC_RELAXED);
}
