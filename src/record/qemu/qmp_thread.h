/* SPDX-License-Identifier: MIT */
#pragma once

/* A thread that sends QMP commands to a running QEMU. A thread is needed because QEMU writes its log while it answers,
 * and blocks if the recorder does not read the log. The connection lasts only as long as the commands, because a
 * monitor serves one client at a time. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "control/qmp.h"

struct qmp_thread {
    /* Runs the commands, in the thread. -errno with ERROR. */
    int (*run)(struct qmp_thread *self, struct qmp *qmp, struct error *error);
    const struct qmp_endpoint *endpoint; /* borrowed */
    struct qmp *qmp; /* NULL, or an open connection to `endpoint`; the thread then owns it */
    /* The rest is private, but results may be read after the end. */
    int event_fd; /* readable when QEMU has greeted, and when the thread has ended; -1: no thread */
    pthread_t thread;
    atomic_bool is_connected,
        /* Cancelled by qmp_thread_finish() before the commands were done. */
        is_cancelled;
    atomic_bool is_greeted, has_ended;
    uint64_t began_at;
    bool is_reported; /* the user knows that QEMU serves another client */
    int r;
    struct error error;
    struct error refused; /* set by `run`: what QEMU refused */
    json_t *cpus;         /* result of query-cpus-fast */
    json_t *status;       /* result of query-status */
    char version[128];    /* "QEMU 7.2.22" */
};

#define QMP_THREAD_NONE ((struct qmp_thread){.event_fd = -1})

/* Starts the thread, with `run`, `endpoint` and `qmp` of SELF. It connects if `qmp` is NULL. -errno with ERROR. */
int qmp_thread_start(struct qmp_thread *self, struct error *error);
static inline bool qmp_thread_is_on(const struct qmp_thread *self)
{
    return self->event_fd >= 0;
}
/* True if QEMU serves this connection. */
static inline bool qmp_thread_is_greeted(const struct qmp_thread *self)
{
    return atomic_load(&self->is_greeted);
}
/* True if the thread has ended. Clears `event_fd`. */
bool qmp_thread_has_ended(struct qmp_thread *self);
/* Returns true, once, if QEMU has not greeted for so long that it must be serving another client; the caller reports
 * that. *RET_AT: when to call this again; UINT64_MAX: never. */
bool qmp_thread_waits(struct qmp_thread *self, uint64_t now, uint64_t *ret_at);
/* Ends the thread, by closing the connection if necessary. Returns the result of `run`, with ERROR. The caller releases
 * `cpus` and `status`; the other results stay valid until the next start. */
int qmp_thread_finish(struct qmp_thread *self, struct error *error);
