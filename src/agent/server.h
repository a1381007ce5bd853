/* SPDX-License-Identifier: MIT */
#pragma once

/* The Strata agent protocol (proto/message.h) at one endpoint.
 *
 * Two threads besides the readers: the receiver accepts connections, reads frames and answers pings;
 * the sender does the rest (agent/session.h). One host is served at a time. Another host that has sent
 * data replaces it if it has disconnected, has sent nothing for IDLE_TIMEOUT_MS, or has not
 * authenticated within HELLO_TIMEOUT_MS. */

#include "agent/accept_queue.h"
#include "agent/endpoint.h"
#include "agent/notify.h"
#include "agent/port_sigio.h"
#include "agent/session.h"

struct agent_server {
    const struct agent_log *log;
    struct endpoint endpoint;
    struct frame_tx tx;
    struct rx_queue rx_queue;
    struct session session;
    struct wakeup sender_wakeup, receiver_wakeup;
    pthread_t sender, receiver;
    bool has_sender, has_receiver;
    struct notify *notify;
    _Atomic bool ending;
    _Atomic uint64_t
        drop_connection; /* connection number (frame_tx) that the session wants closed; 0: none */

    /* Only for the receiver thread. */
    struct proto_reader reader;
    struct port_sigio sigio;
    struct accept_queue accept_queue; /* of a listening endpoint */
    int fd;                           /* -1: no connection */
    bool uses_sigio;                  /* `sigio` reports data at `fd` */
    bool has_unread;                  /* read again before polling */
    bool is_socket;
    bool is_closed;           /* the host has closed its end of the port */
    int64_t last_received_ms; /* CLOCK_MONOTONIC */
    int64_t connected_ms;     /* CLOCK_MONOTONIC */
    int last_error;           /* last error of connecting, already reported */
    uint64_t connection;      /* number of the connection in frame_tx */
};

/* Takes ownership of ENDPOINT, which must be open, and starts the threads. On failure, the caller still owns ENDPOINT.
 * KEY may be NULL: no key is required. PID: see tracer_set_up(). TRACEFS, KEY, LOG and NOTIFY must outlive the
 * server. */
int server_new(const struct endpoint *endpoint, const struct tracefs *tracefs, size_t queue_bytes,
               pid_t pid, const uint8_t *key, size_t key_size, const struct agent_log *log,
               struct notify *notify, struct agent_server **ret_server, struct error *error);

/* As virtio_trace_stop() and virtio_trace_free(). */
void server_stop(struct agent_server *server, int64_t deadline);
void server_free(struct agent_server *server, int64_t deadline, uint64_t *ret_left);
