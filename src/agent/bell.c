/* SPDX-License-Identifier: MIT */
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/reader.h"

int bell_init(struct bell *bell)
{
    bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_init(&bell->armed, false);
    return bell->fd < 0 ? -errno : 0;
}

void bell_done(struct bell *bell)
{
    if (bell->fd >= 0)
        close(bell->fd);
    bell->fd = -1;
}

void bell_ring_always(struct bell *bell)
{
    /* It fails only when it was rung 2^64 - 2 times and nobody listens. */
    (void)!write(bell->fd, &(uint64_t){1}, sizeof(uint64_t));
}

void bell_ring(struct bell *bell)
{
    /* Sequentially consistent, as are arming and what both look at behind it (R3). */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&bell->armed) && atomic_exchange(&bell->armed, false))
        bell_ring_always(bell);
}

void bell_arm(struct bell *bell)
{
    atomic_store(&bell->armed, true);
    atomic_thread_fence(memory_order_seq_cst);
}

void bell_disarm(struct bell *bell)
{
    uint64_t n;

    atomic_store(&bell->armed, false);
    (void)!read(bell->fd, &n, sizeof n);
}
