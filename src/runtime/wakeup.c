/* SPDX-License-Identifier: MIT */
#include "runtime/wakeup.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "runtime/clock.h"

#define SECOND UINT64_C(1000000000)

static struct {
    atomic_bool armed;
    sem_t semaphore;
} wakeup;

void wakeup_arm(void)
{
    sem_init(&wakeup.semaphore, 0, 0);
    atomic_store(&wakeup.armed, true);
}

void wakeup_disarm(void)
{
    atomic_store(&wakeup.armed, false);
}

void wakeup_post(void)
{
    if (atomic_load(&wakeup.armed))
        sem_post(&wakeup.semaphore);
}

void wakeup_wait(uint64_t ns)
{
    uint64_t until = trace_clock_ns(CLOCK_MONOTONIC) + ns;
    struct timespec time = {.tv_sec = (time_t)(until / SECOND), .tv_nsec = (long)(until % SECOND)};

    sem_clockwait(&wakeup.semaphore, CLOCK_MONOTONIC, &time);
    while (sem_trywait(&wakeup.semaphore) == 0) /* several posts are one */
        ;
}
