/* SPDX-License-Identifier: MIT */
#pragma once

/* The agent's side of the protocol in proto/message.h, run by the sender thread: handles the host's
 * requests, and sends pages while tracing flows.
 *
 *   idle ─HELLO─► (AUTH) ─► hello_done ─SETUP─► set up ─START─► flowing ─STOP─► set up ─BYE─► idle
 *                               └──────────RESUME──────────────►┘
 *
 * What was set up outlives the connection: after a disconnect the host continues by RESUME. Meanwhile
 * pages stay in the queues and then in the kernel's ring, which overwrites and counts. HELLO starts a
 * new conversation at any time; SETUP discards what another host had set up.
 *
 * No function waits for the host past the agent's `deadline`, and a new HELLO interrupts long answers. */

#include <stdatomic.h>

#include "agent/frame_tx.h"
#include "agent/notify.h"
#include "agent/tracer.h"

struct ZSTD_CCtx_s;

/* Messages from the host in order, from the receiver thread to the sender thread. */
struct rx_message {
    struct rx_message *next;
    uint64_t connection;      /* its number in frame_tx */
    struct proto_frame frame; /* points to `body` */
    uint8_t body[];
};

struct rx_queue {
    pthread_mutex_t lock;
    struct rx_message *first, *last;
    size_t bytes;
    unsigned n;        /* messages in the queue */
    unsigned n_hellos; /* HELLOs in the queue */
};

void rx_queue_init(struct rx_queue *rx_queue);
void rx_queue_done(struct rx_queue *rx_queue);
/* Copies FRAME. -ENOBUFS: the queue is full because the host sends without waiting for answers;
 * -ENOMEM. */
int rx_queue_put(struct rx_queue *rx_queue, const struct proto_frame *frame, uint64_t connection);
/* Call it when the host is gone. Drops its messages, except a BYE. */
void rx_queue_leave(struct rx_queue *rx_queue);
/* Removes the first message; the caller frees it. NULL: the queue is empty. */
struct rx_message *rx_queue_take(struct rx_queue *rx_queue);
bool rx_queue_has_hello(struct rx_queue *rx_queue);

struct session {
    /* Set before the sender starts. */
    const struct tracefs *tracefs;
    const struct agent_log *log;
    struct frame_tx *tx;
    struct rx_queue *rx_queue;
    struct wakeup *wakeup; /* of the sender thread */
    size_t queue_bytes;
    pid_t pid;          /* for tracer_set_up() */
    const uint8_t *key; /* NULL: no key is required */
    size_t key_size;
    struct notify *notify;
    /* asks the receiver to close the connection */
    void (*drop_connection)(void *userdata, uint64_t connection);
    void *userdata;

    /* For any thread. */
    _Atomic uint64_t authenticated; /* number of the connection whose pings are answered; 0: none */
    _Atomic bool ending;
    _Atomic bool holds;       /* the host's SETUP has PROTO_WANT_HOLD */
    _Atomic int64_t deadline; /* CLOCK_MONOTONIC, ms; valid with `ending` */

    /* Only for the sender thread. */
    struct tracer tracer;
    bool waits_for_auth;
    bool waits_for_random; /* to answer the host's HELLO */
    bool has_seeded;       /* session_seed() was called */
    bool hello_done;       /* the host may send more than HELLO */
    bool flowing;
    uint64_t connection; /* number of the connection of this conversation */
    uint8_t id[PROTO_SESSION_SIZE];
    uint8_t host_nonce[PROTO_NONCE_SIZE], nonce[PROTO_NONCE_SIZE];
    uint32_t keep_seconds;
    uint16_t version; /* chosen version of the protocol */
    uint8_t level, wants;
    int64_t disconnected_since; /* CLOCK_MONOTONIC, ms; 0: connected */
    int64_t next_cpu_check, next_status;
    unsigned next_reader;
    uint8_t *plain, *compressed; /* buffers for frames */
    size_t plain_size, compressed_size;
    struct ZSTD_CCtx_s *zstd;
    uint64_t pages_left; /* at the end: pages that were read but not sent */
};

/* The fields of the first group must be set, all others 0. -ENOMEM. */
int session_init(struct session *session);
void session_done(struct session *session);

/* The main function of the sender thread: runs until `ending`, then until everything is sent or
 * `deadline`. */
void session_run(struct session *session);
