/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/drain_pass.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "runtime/clock.h"
#include "runtime/uuid.h"

#define SECOND UINT64_C(1000000000)

/* How long a sink waits for a reader that does not read while a thread waits for the sink. */
#define READER_TIMEOUT SECOND

static struct {
    pthread_mutex_t lock;
    bool child; /* forked: files are to have other names than the parent's */
    bool has_uuid;
    bool has_times;
    bool by_thread;
    atomic_bool hurry;
    atomic_uint n_waiting; /* threads that wait for the lock */
    uint8_t uuid[16];
    struct clock_sync times;
} pass = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pass_lock(void)
{
    atomic_fetch_add_explicit(&pass.n_waiting, 1, memory_order_relaxed);
    pthread_mutex_lock(&pass.lock);
    atomic_fetch_sub_explicit(&pass.n_waiting, 1, memory_order_relaxed);
}

int pass_lock_within(uint64_t ns)
{
    uint64_t until = trace_clock_ns(CLOCK_REALTIME) + ns;
    struct timespec time = {
        .tv_sec = (time_t)(until / SECOND),
        .tv_nsec = (long)(until % SECOND),
    };

    return pthread_mutex_timedlock(&pass.lock, &time);
}

void pass_unlock(void)
{
    pthread_mutex_unlock(&pass.lock);
}

void pass_set_by_thread(bool by_thread)
{
    pass.by_thread = by_thread;
}

void pass_set_hurry(bool hurry)
{
    atomic_store(&pass.hurry, hurry);
}

bool pass_is_hurried(void)
{
    return atomic_load(&pass.hurry);
}

bool pass_may_wait(bool *stalled, uint64_t *since)
{
    uint64_t now = trace_clock_ns(CLOCK_MONOTONIC);
    bool hurry = !pass.by_thread || pass_is_hurried() ||
                 atomic_load_explicit(&pass.n_waiting, memory_order_relaxed) > 0;

    if (*since == 0 || !hurry)
        *since = now;
    *stalled |= now - *since >= READER_TIMEOUT;
    return !*stalled;
}

bool pass_is_child(void)
{
    return pass.child;
}

void pass_uuid(uint8_t ret[16])
{
    if (!pass.has_uuid) {
        uuid_make(pass.uuid);
        pass.has_uuid = true;
    }
    memcpy(ret, pass.uuid, sizeof(pass.uuid));
}

struct clock_sync *pass_times(void)
{
    if (!pass.has_times) {
        clock_sync_init(&pass.times);
        pass.has_times = true;
    }
    return &pass.times;
}

void pass_finish_times(void)
{
    if (pass.has_times)
        clock_sync_finish(&pass.times);
}

struct clock_pair pass_clock_start(void)
{
    return pass_times()->start;
}

uint64_t pass_clock_hz(void)
{
    return pass_times()->hz;
}

uint64_t pass_realtime(uint64_t monotonic)
{
    return monotonic + (uint64_t)pass_times()->realtime_offset;
}

void pass_after_fork_child(bool locked)
{
    pass.child = true;
    pass.has_uuid = false;
    pass.by_thread = false;
    if (locked)
        pass_unlock();
    else /* it is another thread's, which is not here */
        pass.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&pass.n_waiting, 0);
}
