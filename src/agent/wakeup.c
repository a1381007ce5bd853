/* SPDX-License-Identifier: MIT */
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/reader.h"

int wakeup_init(struct wakeup *wakeup)
{
    wakeup->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_init(&wakeup->armed, false);
    return wakeup->fd < 0 ? -errno : 0;
}

void wakeup_done(struct wakeup *wakeup)
{
    if (wakeup->fd >= 0)
        close(wakeup->fd);
    wakeup->fd = -1;
}

void wakeup_signal_always(struct wakeup *wakeup)
{
    /* It fails only if the counter is full: 2^64 - 2 signals that no thread has read. */
    (void)!write(wakeup->fd, &(uint64_t){1}, sizeof(uint64_t));
}

void wakeup_signal(struct wakeup *wakeup)
{
    /* Sequentially consistent, like wakeup_arm() and the checks after both (R3). */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&wakeup->armed) && atomic_exchange(&wakeup->armed, false))
        wakeup_signal_always(wakeup);
}

void wakeup_arm(struct wakeup *wakeup)
{
    atomic_store(&wakeup->armed, true);
    atomic_thread_fence(memory_order_seq_cst);
}

void wakeup_disarm(struct wakeup *wakeup)
{
    uint64_t n;

    atomic_store(&wakeup->armed, false);
    (void)!read(wakeup->fd, &n, sizeof n);
}
