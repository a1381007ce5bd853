/* SPDX-License-Identifier: MIT */
#pragma once

/* A session over two file descriptors. Nothing here waits: it reports to the server (monitor/server.c) which
 * descriptors to poll. */

#include <stdbool.h>

#include "monitor/session.h"

struct connection {
    struct connection *next;
    int in, out;       /* owned */
    bool is_socket[2]; /* of in and out */
    bool accepted;     /* shut down at its end, even if other processes have copies of it */
    bool at_end;       /* no more input comes */
    bool dead;
    bool linger; /* at the end of the session: let the peer close first (see the server) */
    struct strata_monitor_session *session;
    char *bytes; /* input, at most CONNECTION_BYTES */
    size_t at, len;
    /* For the server: what epoll watches, and what it cannot watch. */
    bool watched[2];
    bool unwatchable[2];
    bool pending;
    bool over;
};

#define CONNECTION_BYTES 16384

enum connection_need {
    CONNECTION_DEAD,
    CONNECTION_READABLE, /* call again when there is input */
    CONNECTION_WRITABLE,
    CONNECTION_TURN, /* call again after other connections have had their turn */
    /* as READABLE, but the session has ended and waits until the peer closes */
    CONNECTION_OVER,
};

/* Takes ownership of SESSION, IN and OUT. On failure (-ENOMEM, -EBADF), the caller still owns them. */
int connection_new(struct strata_monitor_session *session, int in, int out,
                   struct connection **ret);
enum connection_need connection_work(struct connection *connection);
/* QUIETLY: only frees the memory and closes the descriptors, because another process uses the connection too. */
void connection_free(struct connection *connection, bool quietly);
