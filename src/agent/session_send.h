/* SPDX-License-Identifier: MIT */
#pragma once

/* How a session sends: whole frames, waited for. Inside of this layer. */

#include "agent/session.h"

/* A frame's body is put together in the session's own memory … */
struct proto_out session_begin(struct session *session);
/* … and sent, compressed where that was asked for and helps. Returns 0 when it is out. -ENOTCONN,
 * -EPIPE, …: the connection is lost; -ECANCELED: the agent is to end now. */
int session_put(struct session *session, struct proto_out *out, enum proto_type type);

/* Messages that are short. */
int session_put_nothing(struct session *session, enum proto_type type);
int session_put_time(struct session *session, enum proto_type type);
int session_put_failed(struct session *session, int error, const char *what, const char *hint);
int session_put_status(struct session *session);

enum session_wait {
    WAIT_WORK, /* until the host says something, or there are pages to send */
    WAIT_REST, /* … there are pages, or all readers have stopped, or another HELLO has come */
    WAIT_ROOM, /* … the wire takes more of the frame under way */
};
/* Sleeps MS at most. -ECANCELED: the agent is to end now. */
int session_wait(struct session *session, enum session_wait what, int ms);
/* The agent ends, and its deadline has passed. */
bool session_must_end(struct session *session);
/* What comes round: CPUs that come and go. */
void session_tick(struct session *session);

/* Everything that decodes the trace (session_meta.c), or with CHANGED what may have changed since.
 * -ECANCELED also when another HELLO has come. */
int session_put_metadata(struct session *session, bool changed);
/* The names of tasks alone. */
int session_put_cmdlines(struct session *session);
/* Answers one message (session_answer.c). */
void session_answer(struct session *session, const struct rx_message *message);
/* Sends pages of one CPU. 1: some; 0: there are none; errors as of session_put(). */
int session_put_pages(struct session *session);
/* SIZE random bytes. GOOD: that nobody can foresee, or -EAGAIN: the kernel has none yet, early in the boot; otherwise
 * the best there are. Never blocks. */
int session_random(void *p, size_t size, bool good);
/* Whether pages go out, and readers may send them. */
void session_flow(struct session *session, bool flowing);
/* Throws away what was set up, for another … */
void session_clear(struct session *session);
/* … or for good: it cannot be resumed. */
void session_forget(struct session *session);
