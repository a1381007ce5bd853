/* SPDX-License-Identifier: MIT */
/* The end of a domain, and the events of QEMU's monitor, as libvirt reports them: its event loop receives them in a
 * thread. There is one loop per process. Its thread starts with the first subscription and stays as long as the process. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "control/libvirt_internal.h"

/* A callback that is under way when its subscription ends. */
#define RELEASE_TIMEOUT_MS 2000

static void *run_loop(void *userdata)
{
    const struct libvirt_api *api = userdata;

    pthread_setname_np(pthread_self(), "strata-libvirt");
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

static bool is_of_machine(const char *event)
{
    return strcmp(event, "STOP") == 0 || strcmp(event, "RESUME") == 0 ||
           strcmp(event, "RESET") == 0;
}

static void note_monitor_event(struct virt_connection *connection, struct virt_domain *handle,
                               const char *event, long long seconds, unsigned us,
                               const char *details, void *userdata)
{
    struct libvirt_domain *domain = userdata;
    struct libvirt_monitor_event *new;
    const uint64_t one = 1;

    (void)connection, (void)handle;
    pthread_mutex_lock(&domain->lock);
    if (domain->n_queued < (is_of_machine(event) ? LIBVIRT_EVENTS_MAX : LIBVIRT_EVENTS_MAX / 2)) {
        new = &domain->queue[domain->n_queued++];
        snprintf(new->name, sizeof new->name, "%s", event);
        new->realtime_us =
            seconds > 0 && seconds < INT64_C(1) << 40 ? seconds * 1000000 + (int64_t)us : 0;
        new->data[0] = '\0';
        if (details && strlen(details) < sizeof new->data)
            memcpy(new->data, details, strlen(details) + 1);
    }
    pthread_mutex_unlock(&domain->lock);
    (void)!write(domain->event_fd, &one, sizeof one);
}

bool libvirt_domain_next_event(struct libvirt_domain *domain, struct libvirt_monitor_event *ret)
{
    uint64_t unused;
    bool is_there;

    if (domain->event_fd < 0)
        return false;
    /* Before the queue is looked at: what comes after that makes it readable again. */
    (void)!read(domain->event_fd, &unused, sizeof unused);
    pthread_mutex_lock(&domain->lock);
    is_there = domain->n_queued > 0;
    if (is_there) {
        *ret = domain->queue[0];
        domain->n_queued--;
        memmove(domain->queue, domain->queue + 1, domain->n_queued * sizeof domain->queue[0]);
    }
    pthread_mutex_unlock(&domain->lock);
    return is_there;
}

int libvirt_domain_event_fd(const struct libvirt_domain *domain)
{
    return domain->event_fd;
}

static void note_release(void *userdata)
{
    struct libvirt_domain *domain = userdata;

    pthread_mutex_lock(&domain->lock);
    domain->users--;
    pthread_cond_broadcast(&domain->has_changed);
    pthread_mutex_unlock(&domain->lock);
}

static void change_users(struct libvirt_domain *domain, int by)
{
    pthread_mutex_lock(&domain->lock);
    domain->users += (unsigned)by;
    pthread_mutex_unlock(&domain->lock);
}

int libvirt_domain_subscribe(struct libvirt_domain *domain, struct error *error)
{
    const struct libvirt_api *api = domain->api;

    change_users(domain, 2);
    domain->monitor_event = api->register_monitor_event(
        domain->connection, domain->handle, NULL, note_monitor_event, domain, note_release, 0);
    if (domain->monitor_event < 0)
        change_users(domain, -1);
    domain->event = api->register_event(domain->connection, domain->handle, VIRT_EVENT_LIFECYCLE,
                                        note_event, domain, note_release);
    if (domain->event < 0)
        change_users(domain, -1);
    if (domain->event >= 0 && domain->monitor_event >= 0)
        return 0;
    return libvirt_error(api, -EREMOTE, "", "libvirt reports no events", error);
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
    if (domain->monitor_event >= 0)
        (void)domain->api->deregister_monitor_event(domain->connection, domain->monitor_event);
    domain->event = domain->monitor_event = -1;
    pthread_mutex_lock(&domain->lock);
    while (r == 0 && domain->users > 0)
        r = pthread_cond_timedwait(&domain->has_changed, &domain->lock, &until);
    is_used = domain->users > 0;
    pthread_mutex_unlock(&domain->lock);
    return !is_used;
}

int libvirt_domain_watch(struct libvirt_domain *domain, struct error *error)
{
    int r = start_loop(domain->api);

    if (r < 0)
        return error_set(error, r, NULL, "cannot start a thread: %s", strerror(-r));
    domain->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (domain->event_fd < 0)
        return error_set(error, -errno, NULL, "cannot make an eventfd: %s", strerror(errno));
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
