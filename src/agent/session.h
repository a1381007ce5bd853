/* SPDX-License-Identifier: MIT */
#pragma once

/* The agent's side of what link/message.h says, in the sender's thread: answers what hosts ask, and sends
 * pages while a host takes them.
 *
 *   nobody ─HELLO─► (AUTH) ─► greeted ─SETUP─► set up ─START─► flowing ─STOP─► set up ─BYE─► nobody
 *                                └──────────RESUME──────────────►┘
 *
 * What was set up outlives the connection: a host that is lost finds it again by RESUME. Meanwhile pages
 * stay in the queues and then in the kernel's ring, which overwrites and counts. HELLO begins a new
 * conversation at any time; SETUP throws away what another host had set up.
 *
 * Nothing here waits for the host longer than until the agent is to end, and a new HELLO cuts long
 * answers short. */

#include <stdatomic.h>

#include "agent/notify.h"
#include "agent/tracer.h"
#include "agent/wire.h"

struct ZSTD_CCtx_s;

/* What came from the host, in order, from the receiver's thread to the sender's. */
struct letter {
    struct letter *next;
    uint64_t connection;     /* of the wire */
    struct link_frame frame; /* its body is here */
    uint8_t body[];
};

struct inbox {
    pthread_mutex_t lock;
    struct letter *first, *last;
    size_t bytes;
    unsigned n_hellos; /* among them */
};

void inbox_init(struct inbox *inbox);
void inbox_done(struct inbox *inbox);
/* -ENOBUFS: it is full, the host talks without waiting for answers; -ENOMEM. */
int inbox_put(struct inbox *inbox, const struct link_frame *frame, uint64_t connection);
/* NULL: there is none. The caller frees it. */
struct letter *inbox_take(struct inbox *inbox);
bool inbox_has_hello(struct inbox *inbox);

struct session {
    /* Set before the sender starts. */
    const struct tracefs *tracefs;
    const struct say *say;
    struct wire *wire;
    struct inbox *inbox;
    struct bell *bell; /* the sender's */
    size_t queue_bytes;
    pid_t pid;          /* for tracer_set_up() */
    const uint8_t *key; /* NULL: none is needed */
    size_t key_size;
    struct notify *notify;
    void (*drop)(void *userdata, uint64_t connection); /* it is to be closed */
    void *userdata;

    /* From any thread. */
    _Atomic uint64_t admitted; /* the wire's connection whose pings are answered; 0: none's */
    _Atomic bool ending;
    _Atomic int64_t deadline; /* CLOCK_MONOTONIC, ms; with `ending` */

    /* The sender's own. */
    struct tracer tracer;
    bool waits_for_auth;
    bool greeted; /* the host may ask for more than HELLO */
    bool flowing;
    uint64_t connection; /* that the conversation is on */
    uint8_t id[LINK_SESSION_SIZE];
    uint8_t host_nonce[LINK_NONCE_SIZE], nonce[LINK_NONCE_SIZE];
    uint32_t keep_seconds;
    uint8_t level, wants;
    int64_t apart_since; /* 0: connected */
    int64_t next_follow, next_status;
    unsigned next_reader;
    uint8_t *plain, *packed; /* frames that are being made */
    size_t plain_size, packed_size;
    struct ZSTD_CCtx_s *zstd;
    uint64_t pages_left; /* at the end: read, and not sent */
};

/* -ENOMEM. Everything else of SESSION is 0 or set as above. */
int session_init(struct session *session);
void session_done(struct session *session);

/* The sender's thread: until `ending`, and then until all is sent or the deadline is there. */
void session_run(struct session *session);
