/* SPDX-License-Identifier: MIT */
#include "serve/audience.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"

int audience_init(struct audience *audience, uint64_t now)
{
    pthread_condattr_t attributes;

    audience->request = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (audience->request < 0)
        return -errno;
    atomic_init(&audience->asked_at, now);
    audience->is_behind = false;
    pthread_mutex_init(&audience->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&audience->current, &attributes);
    pthread_condattr_destroy(&attributes);
    return 0;
}

void audience_done(struct audience *audience)
{
    close(audience->request);
    pthread_cond_destroy(&audience->current);
    pthread_mutex_destroy(&audience->lock);
}

void audience_ask(struct audience *audience, uint64_t now, uint64_t max_ns)
{
    uint64_t until = now + max_ns;
    struct timespec time = {(time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC)};
    const uint64_t one = 1;
    int r = 0;

    atomic_store(&audience->asked_at, now);
    pthread_mutex_lock(&audience->lock);
    if (audience->is_behind)
        (void)!write(audience->request, &one, sizeof one);
    while (audience->is_behind && r == 0)
        r = pthread_cond_timedwait(&audience->current, &audience->lock, &time);
    pthread_mutex_unlock(&audience->lock);
}

bool audience_is_there(const struct audience *audience, uint64_t now)
{
    return now < atomic_load(&audience->asked_at) + AUDIENCE_GONE_NS;
}

void audience_wait(struct audience *audience, int stop)
{
    struct pollfd fds[] = {{audience->request, POLLIN, 0}, {stop, POLLIN, 0}};
    uint64_t unused;

    pthread_mutex_lock(&audience->lock);
    audience->is_behind = true;
    pthread_mutex_unlock(&audience->lock);
    /* A request that came just before this is one that counts, too. */
    if (!audience_is_there(audience, clock_ns(CLOCK_MONOTONIC)))
        while (poll(fds, 2, -1) < 0 && errno == EINTR)
            ;
    (void)!read(audience->request, &unused, sizeof unused);
}

void audience_set_current(struct audience *audience)
{
    pthread_mutex_lock(&audience->lock);
    audience->is_behind = false;
    pthread_cond_broadcast(&audience->current);
    pthread_mutex_unlock(&audience->lock);
}
