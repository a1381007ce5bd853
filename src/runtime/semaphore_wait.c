/* SPDX-License-Identifier: MIT */
#include "runtime/semaphore_wait.h"

#include <time.h>

#include "runtime/clock.h"

#define SECOND UINT64_C(1000000000)

bool semaphore_wait(sem_t *semaphore, uint64_t ns)
{
#ifdef __GLIBC__
    const clockid_t clock = CLOCK_MONOTONIC;
#else
    const clockid_t clock = CLOCK_REALTIME;
#endif
    uint64_t until = trace_clock_ns(clock) + ns;
    struct timespec time = {.tv_sec = (time_t)(until / SECOND), .tv_nsec = (long)(until % SECOND)};

#ifdef __GLIBC__
    return sem_clockwait(semaphore, clock, &time) == 0;
#else
    return sem_timedwait(semaphore, &time) == 0;
#endif
}
