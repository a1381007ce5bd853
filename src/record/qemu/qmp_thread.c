/* SPDX-License-Identifier: MIT */
#include "record/qemu/qmp_thread.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"

/* A monitor that serves no other client greets at once. */
#define GREETING_NS NSEC_PER_SEC

#define CONNECT_INTERVAL_NS (NSEC_PER_SEC / 10)

/* Connects if there is no connection yet, again and again while the monitor serves other clients. */
static int connect_monitor(struct qmp_thread *self)
{
    const struct timespec interval = {.tv_nsec = CONNECT_INTERVAL_NS};
    uint64_t until = self->began_at + QMP_TIMEOUT_S * NSEC_PER_SEC;
    int r = self->qmp ? 0 : self->endpoint->connect(self->endpoint, &self->qmp, &self->error);

    while (r == -EAGAIN && clock_ns(CLOCK_MONOTONIC) < until && !atomic_load(&self->is_cancelled)) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &interval, NULL);
        error_clear(&self->error);
        r = self->endpoint->connect(self->endpoint, &self->qmp, &self->error);
    }
    if (r < 0)
        return r;
    /* qmp_thread_finish() sees the connection, or we see that it came before. */
    atomic_store(&self->is_connected, true);
    if (atomic_load(&self->is_cancelled))
        qmp_shutdown(self->qmp);
    return 0;
}

static void *thread_main(void *userdata)
{
    struct qmp_thread *self = userdata;
    const uint64_t one = 1;

    pthread_setname_np(pthread_self(), "strata-qmp");
    self->r = connect_monitor(self);
    if (self->r >= 0)
        self->r = qmp_greet(self->qmp, &self->error);
    atomic_store(&self->is_greeted, true);
    (void)!write(self->event_fd, &one, sizeof one);
    if (self->r >= 0)
        self->r = self->run(self, self->qmp, &self->error);
    if (self->r >= 0) {
        snprintf(self->version, sizeof self->version, "%s", qmp_version(self->qmp));
        (void)qmp_execute(self->qmp, "query-cpus-fast", NULL, &self->cpus, NULL);
        (void)qmp_execute(self->qmp, "query-status", NULL, &self->status, NULL);
    }
    atomic_store(&self->has_ended, true);
    (void)!write(self->event_fd, &one, sizeof one);
    return NULL;
}

int qmp_thread_start(struct qmp_thread *self, struct error *error)
{
    sigset_t all, before;
    int r;

    *self = (struct qmp_thread){
        .run = self->run, .endpoint = self->endpoint, .qmp = self->qmp, .event_fd = -1};
    self->began_at = clock_ns(CLOCK_MONOTONIC);
    self->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = self->event_fd < 0 ? -errno : 0;
    if (r >= 0) {
        /* Signals are the main thread's. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = -pthread_create(&self->thread, NULL, thread_main, self);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (r >= 0)
        return 0;
    qmp_free(self->qmp);
    self->qmp = NULL;
    if (self->event_fd >= 0)
        close(self->event_fd);
    self->event_fd = -1;
    return error_set(error, r, NULL, "cannot start a thread: %s", strerror(-r));
}

bool qmp_thread_has_ended(struct qmp_thread *self)
{
    uint64_t unused;

    (void)!read(self->event_fd, &unused, sizeof unused); /* before what it says is looked at */
    return atomic_load(&self->has_ended);
}

bool qmp_thread_waits(struct qmp_thread *self, uint64_t now, uint64_t *ret_at)
{
    *ret_at = UINT64_MAX;
    if (self->is_reported || atomic_load(&self->is_greeted))
        return false;
    self->is_reported = now - self->began_at >= GREETING_NS;
    if (!self->is_reported)
        *ret_at = self->began_at + GREETING_NS;
    return self->is_reported;
}

int qmp_thread_finish(struct qmp_thread *self, struct error *error)
{
    bool is_stopped = !qmp_thread_has_ended(self);
    char why[128];

    if (is_stopped) {
        atomic_store(&self->is_cancelled, true);
        if (atomic_load(&self->is_connected))
            qmp_shutdown(self->qmp);
    }
    pthread_join(self->thread, NULL);
    qmp_free(self->qmp);
    self->qmp = NULL;
    close(self->event_fd);
    self->event_fd = -1;
    if (self->r >= 0)
        return 0;
    if (is_stopped)
        return error_set(error, -EINTR, self->endpoint->name, "QEMU's monitor has not answered: %s",
                         self->endpoint->silence(self->endpoint, why, sizeof why));
    *error = self->error;
    return self->r;
}
