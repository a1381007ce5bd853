/* SPDX-License-Identifier: MIT */
#pragma once

/* What the owner's side of the ring shares among its files: ring.c makes rings and hands them to
 * threads, ring_reserve.c writes to them. */

#include "runtime/macro.h"
#include "runtime/ring.h"
#include "strata/ring.h"

#define RING_HEADER_SIZE sizeof(struct ring_packet_header)

/* The ring that stands for none: nothing fits in it. */
extern struct strata_ring ring_none;

static inline struct ring_map *ring_map_of(const struct strata_ring_line *line)
{
    return (struct ring_map *)((uintptr_t)line - offsetof(struct ring_map, committed));
}

/* A ring for the calling thread, which becomes strata_ring_self; NULL: there is none to be had. Safe in
 * signal handlers. */
struct strata_ring *ring_acquire(void);

/* An event of this class is lost as its thread has no ring. */
void ring_count_homeless(uint32_t class_id);

/* Where a ring made here has its drop counts. The owner does not ask the map for this or for their number: processes of
 * other users may write to a map that lies in a ring pool. */
#define RING_CLASSES_OFFSET 4096U

static inline uint64_t *ring_drops(struct ring_map *map)
{
    return (uint64_t *)((uint8_t *)map + RING_CLASSES_OFFSET);
}

/* The event was dropped by RING, whose map is MAP. */
void ring_count_drop(const struct strata_ring *ring, struct ring_map *map, uint32_t class_id);

/* Closes the packet that is open, if one is, so that the ring stands at the begin of a sub-buffer. A
 * record that is still open (its thread ended in the middle) is given up and counted. For the owner
 * outside of begin and end, or for who has taken the ring over from a dead one. */
void ring_settle(struct strata_ring *ring);

/* Adds to a count that only this thread and its signal handlers add to. */
static inline void ring_add(uint64_t *count, uint64_t n)
{
#if defined(__x86_64__) && !defined(STRATA_RING_TSAN)
    __asm__ __volatile__("addq %[n], %[count]" : [count] "+m"(*count) : [n] "er"(n) : "cc");
#else
    __atomic_fetch_add(count, n, __ATOMIC_RELAXED);
#endif
}
