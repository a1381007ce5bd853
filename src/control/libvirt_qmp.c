/* SPDX-License-Identifier: MIT */
/* QMP through libvirt's daemon. A request is a call that waits for QEMU without limit, so each has a thread: the client
 * stops to wait when QEMU does not answer in time, or when another thread says so. A thread that is left then ends
 * when the daemon answers. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/libvirt_internal.h"
#include "control/qmp_transport.h"

/* Shared by the client and the thread of the current request. The last one frees it. */
struct exchange {
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    unsigned users;
    bool is_shut; /* no further request; nothing is waited for */
    bool has_answer;
    const struct libvirt_api *api;
    struct virt_domain *domain;
    char *request;
    char *answer; /* NULL: `error` */
    struct error error;
};

struct libvirt_qmp {
    struct qmp_transport transport;
    struct exchange *exchange;
    char *answer; /* that was returned last */
};

static struct libvirt_qmp *self_of(struct qmp_transport *transport)
{
    return container_of(transport, struct libvirt_qmp, transport);
}

static void leave(struct exchange *exchange)
{
    bool is_last;

    pthread_mutex_lock(&exchange->lock);
    is_last = --exchange->users == 0;
    pthread_mutex_unlock(&exchange->lock);
    if (!is_last)
        return;
    (void)exchange->api->free(exchange->domain);
    pthread_cond_destroy(&exchange->has_changed);
    pthread_mutex_destroy(&exchange->lock);
    free(exchange->request);
    free(exchange->answer);
    free(exchange);
}

/* ---- The request, in a thread ---- */

static void *run_request(void *userdata)
{
    struct exchange *exchange = userdata;
    struct error error = {0};
    char *answer = NULL;

    pthread_setname_np(pthread_self(), "strata-libvirt");
    if (exchange->api->monitor_command(exchange->domain, exchange->request, &answer, 0) < 0)
        libvirt_error(exchange->api, -EIO, "", "libvirt does not pass commands to QEMU's monitor",
                      &error);
    pthread_mutex_lock(&exchange->lock);
    exchange->answer = answer;
    exchange->error = error;
    exchange->has_answer = true;
    pthread_cond_broadcast(&exchange->has_changed);
    pthread_mutex_unlock(&exchange->lock);
    leave(exchange);
    return NULL;
}

static int start_thread(struct exchange *exchange)
{
    sigset_t all, before;
    pthread_t thread;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&thread, NULL, run_request, exchange);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r >= 0)
        (void)pthread_detach(thread);
    return r;
}

static int send_request(struct qmp_transport *transport, const char *text, size_t len,
                        struct error *error)
{
    struct exchange *exchange = self_of(transport)->exchange;
    char *request = strndup(text, len - 1); /* without the newline */
    bool is_shut;
    int r;

    if (!request)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    pthread_mutex_lock(&exchange->lock);
    is_shut = exchange->is_shut;
    if (!is_shut) {
        free(exchange->request);
        exchange->request = request;
        exchange->has_answer = false;
        exchange->users++;
    }
    pthread_mutex_unlock(&exchange->lock);
    if (is_shut) {
        free(request);
        return -ECONNRESET;
    }
    r = start_thread(exchange);
    if (r >= 0)
        return 0;
    leave(exchange);
    return error_set(error, r, NULL, "cannot start a thread: %s", strerror(-r));
}

static int receive_answer(struct qmp_transport *transport, uint64_t until_ns, char **ret,
                          struct error *error)
{
    struct libvirt_qmp *self = self_of(transport);
    struct exchange *exchange = self->exchange;
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    int r = 0;

    pthread_mutex_lock(&exchange->lock);
    while (until_ns && r == 0 && !exchange->has_answer && !exchange->is_shut)
        r = -pthread_cond_timedwait(&exchange->has_changed, &exchange->lock, &until);
    r = exchange->is_shut ? -ECONNRESET : exchange->has_answer ? 0 : -EAGAIN;
    /* What comes later would be the answer to the wrong request. */
    if (r == -EAGAIN && until_ns)
        exchange->is_shut = true;
    if (r == 0 && !exchange->answer) {
        r = exchange->error.code;
        if (error)
            *error = exchange->error;
    }
    if (r == 0) {
        free(self->answer);
        *ret = self->answer = TAKE_PTR(exchange->answer);
        exchange->has_answer = false;
    }
    pthread_mutex_unlock(&exchange->lock);
    return r;
}

static void stop_waiting(struct qmp_transport *transport)
{
    struct exchange *exchange = self_of(transport)->exchange;

    pthread_mutex_lock(&exchange->lock);
    exchange->is_shut = true;
    pthread_cond_broadcast(&exchange->has_changed);
    pthread_mutex_unlock(&exchange->lock);
}

static void free_transport(struct qmp_transport *transport)
{
    struct libvirt_qmp *self = self_of(transport);

    stop_waiting(transport);
    leave(self->exchange);
    free(self->answer);
    free(self);
}

static const struct qmp_transport_ops ops = {
    .greets = false,
    .send = send_request,
    .receive = receive_answer,
    .shutdown = stop_waiting,
    .free = free_transport,
};

/* ---- The endpoint ---- */

static struct exchange *make_exchange(const struct libvirt_domain *domain)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    pthread_condattr_t attributes;

    if (!exchange)
        return NULL;
    if (domain->api->ref(domain->handle) < 0) {
        free(exchange);
        return NULL;
    }
    exchange->api = domain->api;
    exchange->domain = domain->handle;
    exchange->users = 1;
    pthread_mutex_init(&exchange->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&exchange->has_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return exchange;
}

static int connect_monitor(const struct qmp_endpoint *endpoint, struct qmp **ret,
                           struct error *error)
{
    /* The endpoint belongs to a domain, which may be changed. */
    struct libvirt_domain *domain = (struct libvirt_domain *)(uintptr_t)const_container_of(
        endpoint, struct libvirt_domain, monitor);
    struct libvirt_qmp *self;
    int r = libvirt_domain_reconnect(domain, error);

    if (r < 0)
        return r;
    self = calloc(1, sizeof *self);
    if (self)
        self->exchange = make_exchange(domain);
    if (!self || !self->exchange) {
        free(self);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    self->transport = (struct qmp_transport){.ops = &ops, .fd = -1};
    return qmp_open(&self->transport, endpoint->name, ret, error);
}

static const char *silence(const struct qmp_endpoint *endpoint, char *buf, size_t size)
{
    (void)endpoint;
    snprintf(buf, size, "QEMU is busy or stopped, or libvirt runs another job of this domain");
    return buf;
}

struct qmp_endpoint libvirt_monitor(const char *label)
{
    return (struct qmp_endpoint){.name = label, .connect = connect_monitor, .silence = silence};
}
