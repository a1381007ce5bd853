/* SPDX-License-Identifier: MIT */
#pragma once

/* The ring pool: a file that a recorder makes beside the directories of the processes it records,
 *
 *     PARENT/pool/rings                        (PARENT: as in runtime/ring/process_file.h)
 *
 * A process maps it when its options name PARENT, and its children inherit the mapping. It holds the rings of
 * processes that can make no file there, as they have changed their user or root since, or have no descriptor
 * left: the mapping stays when a process changes its user and closes all descriptors. The file is sparse: a slot
 * has the pages that were written to.
 *
 * Where addresses have 32 bits a process maps the head and 32 slots, 160 MiB: which ones depends on its pid.
 *
 * A process takes 128 slots at most, so that one of many threads leaves some to others. That is a bound for processes that
 * mean well: one that does not can take all, or write what it likes; events of processes that find none are counted.
 *
 * Slots change hands by `pid`: a process puts its pid where 0 is, by compare-and-exchange, then fills in the rest, and
 * `length` last. Only the recorder frees a slot, when its process is dead and what it held is read: the pages
 * first, then `length`, and `pid` last. In native byte order:
 *
 *     offset  bytes
 *          0      8  "STRAPOOL"
 *          8      4  version, 2
 *         12      4  number of slots
 *         16      8  size of a slot
 *         24      4  changes: one up with each slot that is filled in
 *         28      4  processes that have mapped the file by themselves
 *         32      8  events that were lost as their process had neither a directory nor a slot
 *         40      4  processes that lost such events
 *         44      4  asleep: 1: the recorder sleeps until it is woken, see below
 *
 *       4096  512x32 a slot's entry each:
 *                 0      4  pid of the process; 0: free
 *                 4      4  the ring's number; 2^32 - 1: the slot holds a process file
 *                 8      8  when the process began, in clock ticks since boot
 *                16      8  length: how much of the slot is used, bytes; 0: it is being filled in
 *
 *      20480      …  the slots
 *
 * While rings fill slowly, the recorder sleeps, and is woken by a futex:
 *
 *     the recorder    asleep = 1; [full fence] drains all rings; where all of them were nearly empty, sleeps while
 *                     asleep is 1, for a bounded time
 *     a process       closed = next sub-buffer; [full fence] if asleep is 1: exchanges it with 0, and, where it was 1,
 *                     wakes; likewise after `changes`
 *
 * So either the recorder sees the sub-buffer that was closed, or its process sees that the recorder sleeps. A process
 * that does so has the flag PROCESS_WAKES in its process file. tests/model/wake.pml is this for spin.
 *
 * All processes that map the pool can write everywhere in it, of whatever user they are: the recorder believes
 * nothing of it, and names no file by it. */

#include <stdint.h>

#define POOL_DIR_NAME "pool"
#define POOL_FILE_NAME "rings"
#define POOL_MAGIC "STRAPOOL"
#define POOL_VERSION 2
#define POOL_SLOTS 512U
/* Slots that one process takes at most. Its further threads have no ring, and their events are counted as such. */
#define POOL_SLOTS_EACH 128U
/* Slots that a process maps. */
#define POOL_SLOTS_MAPPED (sizeof(void *) > 4 ? POOL_SLOTS : 32U)
/* A ring of the default size, with drop counts of all classes that there can be. */
#define POOL_SLOT_SIZE ((uint64_t)5 << 20)
#define POOL_PROCESS UINT32_MAX

struct pool_slot {
    uint32_t pid;
    uint32_t number;
    uint64_t start;
    uint64_t length;
    uint64_t reserved;
};

struct pool_file {
    char magic[8];
    uint32_t version;
    uint32_t n_slots;
    uint64_t slot_size;
    uint32_t changes;
    uint32_t n_mapped;
    uint64_t no_ring_events;
    uint32_t no_ring_processes;
    uint32_t asleep;
    char reserved[4096 - 48];
    struct pool_slot slots[POOL_SLOTS];
};

_Static_assert(sizeof(struct pool_file) == 20480, "as documented");

#define POOL_SIZE (sizeof(struct pool_file) + POOL_SLOTS * POOL_SLOT_SIZE)

static inline uint64_t pool_slot_offset(unsigned slot)
{
    return sizeof(struct pool_file) + slot * POOL_SLOT_SIZE;
}
