/* SPDX-License-Identifier: MIT */
#include "runtime/wakeup.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/semaphore_wait.h"

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
    semaphore_wait(&wakeup.semaphore, ns);
    while (sem_trywait(&wakeup.semaphore) == 0) /* several posts are one */
        ;
}
