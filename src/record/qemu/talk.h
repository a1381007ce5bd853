/* SPDX-License-Identifier: MIT */
#pragma once

/* A conversation with the monitor of a QEMU that runs, in a thread of its own: QEMU writes its log while it answers, and
 * waits when nothing reads it. The connection is held for these moments only, as a monitor serves one at a time. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "control/qmp.h"

struct qemu_talk {
    /* Talks, in the thread. -errno with ERROR. */
    int (*talk)(struct qemu_talk *talk, struct qmp *qmp, struct error *error);
    const char *socket; /* borrowed */
    struct qmp *qmp;    /* NULL, or an open connection to that, which is taken over */
    /* The rest is this file's; what the talk found out may be read after its end. */
    int news; /* readable when QEMU has greeted, and when it has ended; -1: there is none */
    pthread_t thread;
    atomic_bool is_connected, is_cancelled; /* by us, before it has ended */
    atomic_bool is_greeted, has_ended;
    uint64_t began_at;
    bool is_reported; /* that another client is served */
    int r;
    struct error error;
    struct error refused; /* of the talk: what QEMU does not do */
    json_t *cpus;         /* of query-cpus-fast */
    char version[128];    /* "QEMU 7.2.22" */
};

#define QEMU_TALK_NONE ((struct qemu_talk){.news = -1})

/* Starts the thread: with `talk`, `socket` and `qmp`, in TALK. It connects, where there is no connection yet. -errno with
 * ERROR. */
int qemu_talk_start(struct qemu_talk *talk, struct error *error);
static inline bool qemu_talk_is_on(const struct qemu_talk *talk)
{
    return talk->news >= 0;
}
/* Whether QEMU serves us. */
static inline bool qemu_talk_is_greeted(const struct qemu_talk *talk)
{
    return atomic_load(&talk->is_greeted);
}
/* Whether it has ended. There are no news then, until something changes. */
bool qemu_talk_has_ended(struct qemu_talk *talk);
/* QEMU serves another client, and has not greeted yet: true when that is to be reported, once. *RET_AT: when to ask again;
 * UINT64_MAX: not. */
bool qemu_talk_waits(struct qemu_talk *talk, uint64_t now, uint64_t *ret_at);
/* Ends it, by closing the connection where it has not ended yet. Returns what the talk returned, with ERROR. `cpus` is to
 * be released, and all else is good until the next start. */
int qemu_talk_finish(struct qemu_talk *talk, struct error *error);
