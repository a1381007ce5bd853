/* SPDX-License-Identifier: MIT */
#pragma once

/* Tracks whether any client uses the server, because a running recording is only read for somebody.
 *
 *     the follower: while (audience_is_there()) …; audience_wait(); …; audience_set_current()
 *     a request: audience_ask()
 *
 * Thread-safe, for one follower. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Without a request for so long, nobody is there. An open page sends one each second. */
#define AUDIENCE_GONE_NS (UINT64_C(10) * 1000000000)

struct audience {
    int request;               /* an eventfd */
    _Atomic uint64_t asked_at; /* CLOCK_MONOTONIC, ns */
    pthread_mutex_t lock;
    pthread_cond_t current;
    bool is_behind; /* the follower waits for a request, or has not caught up yet */
};

/* NOW counts as a request. A negative errno. */
int audience_init(struct audience *audience, uint64_t now);
void audience_done(struct audience *audience);

/* A request has come. If the follower was waiting, returns when it has caught up, or after MAX_NS. */
void audience_ask(struct audience *audience, uint64_t now, uint64_t max_ns);

bool audience_is_there(const struct audience *audience, uint64_t now);
/* Waits until a request comes, or STOP is readable. */
void audience_wait(struct audience *audience, int stop);
/* The follower has caught up, or does not follow any more. */
void audience_set_current(struct audience *audience);
