/* SPDX-License-Identifier: MIT */
#pragma once

/* Sends the frames of a session, and waits until each frame is written. Only for files of this directory. */

#include "agent/session.h"

/* Begins a frame's body in the session's memory; session_send() sends it, compressed if the host asked
 * for it and it helps. Returns 0 when the frame is written. -ENOTCONN, -EPIPE, …: the connection is
 * lost; -ECANCELED: the agent must end now. */
struct proto_out session_begin(struct session *session);
int session_send(struct session *session, struct proto_out *out, enum proto_type type);

/* Short messages; return values as session_send(). */
int session_send_empty(struct session *session, enum proto_type type);
int session_send_time(struct session *session, enum proto_type type);
int session_send_failed(struct session *session, int error, const char *what, const char *hint);
int session_send_status(struct session *session);

enum session_wait {
    WAIT_INPUT, /* until a message arrives or there are pages to send */
    /* until there are pages, all readers have stopped, or another HELLO has arrived */
    WAIT_DRAINED,
    WAIT_FLUSHED, /* the same, or all readers have flushed */
    WAIT_ROOM,    /* until the connection accepts more of the frame in progress */
};
/* Sleeps up to MS. -ECANCELED: the agent must end now. */
int session_wait(struct session *session, enum session_wait what, int ms);
/* True if the agent is ending and its deadline has passed. */
bool session_must_end(struct session *session);
/* Every CPU_CHECK_INTERVAL_MS: handles CPUs that went online or offline. */
void session_check_cpus(struct session *session);

/* Sends everything that a reader of the trace needs to decode it (session_meta.c). CHANGED: only what may have changed
 * since. -ECANCELED also if another HELLO has arrived. */
int session_send_metadata(struct session *session, bool changed);
/* Sends only the names of tasks. */
int session_send_cmdlines(struct session *session);
/* Tells the host, once, that other programs have switched tracing off (tracer_stop()). */
int session_send_disturbed(struct session *session);
/* Handles one message of the host (session_handle.c). */
void session_handle(struct session *session, const struct rx_message *message);
/* Answers the host's HELLO, or leaves that for the next iteration. */
void session_answer_hello(struct session *session);
/* Sends pages of one CPU. Returns 1: some were sent; 0: none available; errors as session_send(). */
int session_send_pages(struct session *session);
/* Fills P with SIZE random bytes; never blocks. GOOD: unpredictable bytes, or -EAGAIN if the kernel has none yet, early
 * in the boot. Otherwise: the best available bytes. */
int session_random(void *p, size_t size, bool good);
/* Makes the kernel gather random numbers, without waiting for it. */
void session_seed(void);
/* Starts or stops sending pages; readers may send them too while FLOWING. */
void session_set_flowing(struct session *session, bool flowing);
/* Discards what was set up, before another setup. */
void session_clear(struct session *session);
/* Discards what was set up for good: it cannot be resumed. */
void session_discard(struct session *session);
