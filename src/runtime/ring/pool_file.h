/* SPDX-License-Identifier: MIT */
#pragma once

/* The ring pool: a file that a recorder creates beside the directories of the processes that it records,
 *
 *     PARENT/pool/rings                        (PARENT: as in runtime/ring/process_file.h)
 *
 * A process maps it when its options name PARENT, and its children inherit the mapping. It holds the rings of processes
 * that cannot create files there, because they have changed their user or root, or have no descriptor left. The mapping
 * stays when a process changes its user and closes all descriptors. The file is sparse: a slot has only the pages that
 * were written to.
 *
 * With 32-bit addresses, a process maps only the head and 32 slots (160 MiB). Its PID determines which slots.
 *
 * A process takes at most 128 slots, so that a process with many threads leaves slots to others. Only well-behaved
 * processes keep this limit; any process can take all slots, or write anything. Events of processes that find no slot
 * are counted.
 *
 * A slot belongs to the process in `pid`. A process replaces 0 by its PID, by compare-and-exchange, then fills in the
 * other members, `length` last. Only the recorder frees a slot, when its process is dead and its content has been read:
 * first the pages, then `length`, and last `pid`. In native byte order:
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
 * So either the recorder sees the closed sub-buffer, or the process sees that the recorder sleeps. A process that wakes
 * the recorder has the flag PROCESS_WAKES in its process file. tests/model/wake.pml is the model for spin.
 *
 * All processes that map the pool, of any user, can write everywhere in it. The recorder trusts no content of the pool,
 * and uses none of it in file names. */

#include <stdint.h>

#define POOL_DIR_NAME "pool"
#define POOL_FILE_NAME "rings"
#define POOL_MAGIC "STRAPOOL"
#define POOL_VERSION 2
#define POOL_SLOTS 512U
/* Limit of slots of one process. Its further threads have no ring, and their events are counted as lost for this
 * reason. */
#define POOL_SLOTS_EACH 128U
/* Slots that a process maps. */
#define POOL_SLOTS_MAPPED (sizeof(void *) > 4 ? POOL_SLOTS : 32U)
/* Enough for a ring of the default size with drop counts for all possible classes. */
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
