/* SPDX-License-Identifier: MIT */
#pragma once

/* The agent's side of what proto/message.h says, in the sender's thread: answers what hosts ask, and sends
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

#include "agent/frame_tx.h"
#include "agent/notify.h"
#include "agent/tracer.h"

struct ZSTD_CCtx_s;

/* What came from the host, in order, from the receiver's thread to the sender's. */
struct rx_message {
    struct rx_message *next;
    uint64_t connection;      /* of the wire */
    struct proto_frame frame; /* its body is here */
    uint8_t body[];
};

struct rx_queue {
    pthread_mutex_t lock;
    struct rx_message *first, *last;
    size_t bytes;
    unsigned n_hellos; /* among them */
};

void rx_queue_init(struct rx_queue *rx_queue);
void rx_queue_done(struct rx_queue *rx_queue);
/* -ENOBUFS: it is full, the host talks without waiting for answers; -ENOMEM. */
int rx_queue_put(struct rx_queue *rx_queue, const struct proto_frame *frame, uint64_t connection);
/* NULL: there is none. The caller frees it. */
struct rx_message *rx_queue_take(struct rx_queue *rx_queue);
bool rx_queue_has_hello(struct rx_queue *rx_queue);

struct session {
    /* Set before the sender starts. */
    const struct tracefs *tracefs;
    const struct agent_log *log;
    struct frame_tx *tx;
    struct rx_queue *rx_queue;
    struct wakeup *wakeup; /* the sender's */
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
    uint8_t id[PROTO_SESSION_SIZE];
    uint8_t host_nonce[PROTO_NONCE_SIZE], nonce[PROTO_NONCE_SIZE];
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
