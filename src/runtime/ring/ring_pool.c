/* SPDX-License-Identifier: MIT */
#include "runtime/ring/ring_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/process/proc_file.h"

#define SLOTS_LENGTH ((size_t)(POOL_SLOTS_MAPPED * POOL_SLOT_SIZE))

static struct pool_file *pool; /* its head */
static uint8_t *slots;         /* those from FIRST_SLOT on; NULL: they are not mapped */
static unsigned first_slot;
static bool spoilt[POOL_SLOTS]; /* in this process */
static uint64_t no_ring;        /* events of this process */
static uint32_t n_slots;        /* of this process */

static uint8_t *slot_bytes(unsigned slot)
{
    return slots + (size_t)((slot - first_slot) * POOL_SLOT_SIZE);
}

static bool is_pool(const struct pool_file *file)
{
    return memcmp(file->magic, POOL_MAGIC, sizeof(file->magic)) == 0 &&
           file->version == POOL_VERSION && file->n_slots == POOL_SLOTS &&
           file->slot_size == POOL_SLOT_SIZE;
}

static void *map_part(int fd, uint64_t offset, size_t length)
{
    void *part =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset);

    if (part == MAP_FAILED)
        return NULL;
    (void)madvise(part, length, MADV_DONTDUMP);
    return part;
}

static void map_all(int fd)
{
    struct pool_file *file = map_part(fd, 0, sizeof(*file));

    if (!file)
        return;
    if (!is_pool(file)) {
        munmap(file, sizeof(*file));
        return;
    }
    pool = file;
    /* Of few slots, others than its neighbours. Where the address space is limited, losses can be counted at least. */
    first_slot = (unsigned)getpid() * POOL_SLOTS_MAPPED % POOL_SLOTS;
    slots = map_part(fd, pool_slot_offset(first_slot), SLOTS_LENGTH);
    __atomic_fetch_add(&pool->n_mapped, 1, __ATOMIC_RELAXED);
}

void ring_pool_map(const char *parent)
{
    char path[1024];
    struct stat st;
    int fd;

    if (pool || (size_t)snprintf(path, sizeof(path), "%s/" POOL_DIR_NAME "/" POOL_FILE_NAME,
                                 parent) >= sizeof(path))
        return;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == (off_t)POOL_SIZE)
        map_all(fd);
    close(fd);
}

bool ring_pool_is_mapped(void)
{
    return pool != NULL;
}

void *ring_pool_take(uint32_t number, unsigned *ret_slot)
{
    uint32_t pid = (uint32_t)getpid();

    if (!slots)
        return NULL;
    if (__atomic_fetch_add(&n_slots, 1, __ATOMIC_RELAXED) >= POOL_SLOTS_EACH) {
        __atomic_fetch_sub(&n_slots, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    for (unsigned i = first_slot; i < first_slot + POOL_SLOTS_MAPPED; i++) {
        struct pool_slot *slot = &pool->slots[i];
        uint32_t none = 0;

        if (spoilt[i] || __atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != 0)
            continue;
        /* Acquire: the pages of the previous process are gone. */
        if (!__atomic_compare_exchange_n(&slot->pid, &none, pid, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        slot->number = number;
        slot->start = proc_start_time();
        *ret_slot = i;
        return slot_bytes(i);
    }
    __atomic_fetch_sub(&n_slots, 1, __ATOMIC_RELAXED);
    return NULL;
}

void ring_pool_publish(unsigned slot, uint64_t length)
{
    /* Release: the recorder that sees the length sees the rest. */
    __atomic_store_n(&pool->slots[slot].length, length, __ATOMIC_RELEASE);
    __atomic_fetch_add(&pool->changes, 1, __ATOMIC_RELEASE);
    ring_pool_wake();
}

void ring_pool_wake(void)
{
    int saved_errno = errno;

    if (!pool)
        return;
    /* Between our `closed` and this load: see runtime/ring/pool_file.h. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->asleep, __ATOMIC_RELAXED) == 0 ||
        __atomic_exchange_n(&pool->asleep, 0, __ATOMIC_SEQ_CST) == 0)
        return;
    /* All: another process that waits there must not take the wake-up. */
    (void)syscall(SYS_futex, &pool->asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved_errno;
}

void ring_pool_give_back(unsigned slot)
{
    (void)madvise(slot_bytes(slot), POOL_SLOT_SIZE, MADV_REMOVE);
    __atomic_store_n(&pool->slots[slot].pid, 0, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&n_slots, 1, __ATOMIC_RELAXED);
}

/* How far behind the slots' begin P is. */
static size_t offset_of(const void *p)
{
    return (size_t)((uintptr_t)p - (uintptr_t)slots);
}

bool ring_pool_contains(const void *p)
{
    return slots && offset_of(p) < SLOTS_LENGTH;
}

void ring_pool_spoil(const void *p)
{
    spoilt[first_slot + offset_of(p) / POOL_SLOT_SIZE] = true;
}

bool ring_pool_count_no_ring(void)
{
    if (!pool)
        return false;
    if (__atomic_fetch_add(&no_ring, 1, __ATOMIC_RELAXED) == 0)
        __atomic_fetch_add(&pool->no_ring_processes, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->no_ring_events, 1, __ATOMIC_RELAXED);
    return true;
}

uint64_t ring_pool_no_ring(void)
{
    return __atomic_load_n(&no_ring, __ATOMIC_RELAXED);
}

void ring_pool_forget(void)
{
    no_ring = 0;
    n_slots = 0;
}
