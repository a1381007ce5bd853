/* SPDX-License-Identifier: MIT */
#include "runtime/scratch_buffer.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Enough for as many threads as are in the middle of a line at one moment; a page of its own is mapped for
 * more. A child of fork() does not get back what other threads of its parent had taken. */
#define BUFFERS 32

static char buffers[BUFFERS][SCRATCH_SIZE];
static _Atomic uint32_t taken; /* a bit for each */

char *scratch_buffer_get(void)
{
    uint32_t now = atomic_load_explicit(&taken, memory_order_relaxed);
    void *mapped;

    while (~now) {
        unsigned i = (unsigned)__builtin_ctz(~now);

        /* Acquire: the previous user is done with it. */
        if (atomic_compare_exchange_weak_explicit(&taken, &now, now | 1U << i, memory_order_acquire,
                                                  memory_order_relaxed))
            return buffers[i];
    }
    mapped = mmap(NULL, SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void scratch_buffer_put(char *scratch)
{
    uintptr_t offset = (uintptr_t)scratch - (uintptr_t)buffers;

    if (!scratch)
        return;
    if (offset >= sizeof(buffers)) {
        (void)munmap(scratch, SCRATCH_SIZE);
        return;
    }
    atomic_fetch_and_explicit(&taken, ~(1U << offset / SCRATCH_SIZE), memory_order_release);
}
