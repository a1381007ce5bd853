/* SPDX-License-Identifier: MIT */
/* The end of a domain, as libvirt reports it: by an event, which its event loop receives in a thread. There is one loop
 * per process. Its thread starts with the first subscription and stays as long as the process. */

#include <signal.h>
#include <string.h>
#include <time.h>

#include "control/libvirt_internal.h"

/* A callback that is under way when its subscription ends. */
#define RELEASE_TIMEOUT_MS 2000

static void *run_loop(void *userdata)
{
    const struct libvirt_api *api = userdata;

    while (api->run_loop() >= 0)
        ;
    return NULL;
}

static int start_loop(const struct libvirt_api *api)
{
    static bool is_started;
    sigset_t all, before;
    pthread_t thread;
    int r;

    if (is_started)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&thread, NULL, run_loop, (void *)(uintptr_t)api);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r >= 0)
        (void)pthread_detach(thread);
    is_started = r >= 0;
    return r;
}

static int note_event(struct virt_connection *connection, struct virt_domain *handle, int event,
                      int detail, void *userdata)
{
    struct libvirt_domain *domain = userdata;

    (void)connection;
    (void)handle;
    if (event != VIRT_EVENT_STOPPED)
        return 0;
    pthread_mutex_lock(&domain->lock);
    if (!domain->has_stopped)
        domain->stop_detail = detail;
    domain->has_stopped = true;
    pthread_cond_broadcast(&domain->has_changed);
    pthread_mutex_unlock(&domain->lock);
    return 0;
}

static void note_release(void *userdata)
{
    struct libvirt_domain *domain = userdata;

    pthread_mutex_lock(&domain->lock);
    domain->is_used = false;
    pthread_cond_broadcast(&domain->has_changed);
    pthread_mutex_unlock(&domain->lock);
}

int libvirt_domain_subscribe(struct libvirt_domain *domain, struct error *error)
{
    domain->is_used = true;
    domain->event = domain->api->register_event(
        domain->connection, domain->handle, VIRT_EVENT_LIFECYCLE, note_event, domain, note_release);
    if (domain->event >= 0)
        return 0;
    domain->is_used = false;
    return libvirt_error(domain->api, -EREMOTE, "", "libvirt reports no events", error);
}

static struct timespec deadline(unsigned ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    return until;
}

bool libvirt_domain_unsubscribe(struct libvirt_domain *domain)
{
    struct timespec until = deadline(RELEASE_TIMEOUT_MS);
    bool is_used;
    int r = 0;

    if (domain->event >= 0)
        (void)domain->api->deregister_event(domain->connection, domain->event);
    domain->event = -1;
    pthread_mutex_lock(&domain->lock);
    while (r == 0 && domain->is_used)
        r = pthread_cond_timedwait(&domain->has_changed, &domain->lock, &until);
    is_used = domain->is_used;
    pthread_mutex_unlock(&domain->lock);
    return !is_used;
}

int libvirt_domain_watch(struct libvirt_domain *domain, struct error *error)
{
    int r = start_loop(domain->api);

    if (r < 0)
        return error_set(error, r, NULL, "cannot start a thread: %s", strerror(-r));
    domain->is_watched = true;
    return libvirt_domain_subscribe(domain, error);
}

const char *libvirt_domain_stop_reason(struct libvirt_domain *domain, unsigned ms)
{
    /* By virDomainEventStoppedDetailType. */
    static const char *const reasons[] = {
        "shut down",
        "destroyed",
        "crashed",
        "migrated",
        "saved to a file",
        "QEMU failed",
        "reverted to a snapshot",
    };
    struct timespec until = deadline(ms);
    const char *reason = NULL;
    int r = 0;

    pthread_mutex_lock(&domain->lock);
    while (r == 0 && domain->event >= 0 && !domain->has_stopped)
        r = pthread_cond_timedwait(&domain->has_changed, &domain->lock, &until);
    if (domain->has_stopped && domain->stop_detail >= 0 &&
        (size_t)domain->stop_detail < ARRAY_SIZE(reasons))
        reason = reasons[domain->stop_detail];
    pthread_mutex_unlock(&domain->lock);
    return reason;
}
