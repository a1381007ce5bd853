/* SPDX-License-Identifier: MIT */
#pragma once

/* The agent's own protocol (proto/message.h) at one place where hosts are met.
 *
 * Two threads besides the readers: the receiver makes connections, takes in frames and answers pings;
 * the sender does the rest (agent/session.h). One host at a time; another that has sent something is let in when the
 * one before is gone, has been silent for some seconds, or has not been admitted for one. */

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
    struct wakeup sender_bell, receiver_bell;
    pthread_t sender, receiver;
    bool has_sender, has_receiver;
    struct notify *notify;
    _Atomic bool ending;
    _Atomic uint64_t
        drop; /* the wire's connection that is to be closed, so says the session; 0: none */

    /* The receiver's own. */
    struct proto_reader reader;
    struct port_sigio sigio;
    struct accept_queue waiting; /* at an address where it listens */
    int fd;                      /* -1: no connection */
    bool tells;                  /* ARRIVALS tells what comes there */
    bool is_unread;              /* not all that came was read */
    bool is_socket;
    bool is_closed;      /* the host's end of a port is */
    int64_t heard;       /* CLOCK_MONOTONIC, ms: when anything came last */
    int64_t connected;   /* the same: since when */
    int last_error;      /* of connecting, that was told */
    uint64_t connection; /* of the wire */
};

/* Takes ENDPOINT over, which is open, and starts. KEY (NULL: none), PID (0: all processes; as for
 * tracer_set_up()) and NOTIFY outlive it, as TRACEFS and SAY do. On failure ENDPOINT stays the caller's. */
int server_new(const struct endpoint *endpoint, const struct tracefs *tracefs, size_t queue_bytes,
               pid_t pid, const uint8_t *key, size_t key_size, const struct agent_log *log,
               struct notify *notify, struct agent_server **ret_own, struct error *error);

/* As old_end() and virtio_trace_free(). */
void server_end(struct agent_server *own, int64_t deadline);
void server_free(struct agent_server *own, int64_t deadline, uint64_t *ret_left);
