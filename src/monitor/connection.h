/* SPDX-License-Identifier: MIT */
#pragma once

/* A session over two file descriptors. Nothing here waits: it reports to the server (monitor/server.c) which
 * descriptors to poll. */

#include <stdbool.h>

#include "monitor/session.h"

struct connection {
    struct connection *next;
    int in, out;       /* its own */
    bool is_socket[2]; /* of in and out */
    bool accepted;     /* shut down at its end, even if other processes have copies of it */
    bool at_end;       /* nothing comes any more */
    bool dead;
    bool linger; /* when the session was ended: let the other side close first (see the server) */
    struct strata_monitor_session *session;
    char *bytes; /* what was read, CONNECTION_BYTES at most */
    size_t at, len;
    /* The server's: what epoll watches, and whether it can. */
    bool watched[2];
    bool unwatchable[2];
    bool pending;
    bool over;
};

#define CONNECTION_BYTES 16384

enum connection_need {
    CONNECTION_DEAD,
    CONNECTION_READABLE, /* call again when there is something to read */
    CONNECTION_WRITABLE,
    CONNECTION_TURN, /* call again when others have had their turn */
    CONNECTION_OVER, /* as READABLE, but the session has ended and waits for the other side's end */
};

/* Takes ownership of SESSION, IN and OUT; on failure (-ENOMEM, -EBADF) they stay the caller's. */
int connection_new(struct strata_monitor_session *session, int in, int out,
                   struct connection **ret);
enum connection_need connection_work(struct connection *connection);
/* QUIETLY: only the memory and the descriptors, as they are another process's as well. */
void connection_free(struct connection *connection, bool quietly);
