/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions shared by the files that implement record/kernel/guest_session.h. Inside of this layer. */

#include "base/clock_ns.h"
#include "record/kernel/guest_session.h"

/* Time for the agent to answer a request. */
#define ANSWER_MAX (10 * NSEC_PER_SEC)
/* Time for the agent to set up the tracing. */
#define SETUP_MAX (120 * NSEC_PER_SEC)

/* Begins a frame in the output buffer. */
struct proto_out guest_session_begin(struct guest_session *session);
/* Ends the frame. -E2BIG: its body is too long, and it is not sent. */
int guest_session_put(struct guest_session *session, struct proto_out *out, enum proto_type type);
/* True if there is room for a short frame. */
bool guest_session_has_room(const struct guest_session *session);
/* Sends a frame without a body. -ECONNRESET: no room, because the agent does not read. */
int guest_session_put_nothing(struct guest_session *session, enum proto_type type);

/* Enters STATE at NOW. The answer that it waits for must come within LONGEST. */
void guest_session_wait_for(struct guest_session *session, enum guest_state state, uint64_t now,
                            uint64_t longest);
/* Sends BYE, which the agent answers. */
int guest_session_end(struct guest_session *session, uint64_t now, struct error *error);

/* The setup (guest_session_setup.c). Functions that handle a frame return 0, -EBADMSG if the frame is invalid, and
 * other errors as guest_session_received(). */
void guest_session_put_hello(struct guest_session *session, uint64_t now);
int guest_session_on_hello(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error);
int guest_session_on_auth(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error);
int guest_session_on_ready(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error);
/* Call it when the agent was accepted. Resumes the session that the agent has for this host, or sets up a new one. */
int guest_session_go_on(struct guest_session *session, uint64_t now, struct error *error);
/* Call it if the agent's session is lost, with the data that it had not sent. */
int guest_session_lose(struct guest_session *session, struct error *error);

/* Flushing what the agent holds back (guest_session_flush.c). In state RUNNING: asks the agent if that is due. */
int guest_session_ask_flush(struct guest_session *session, uint64_t now, struct error *error);
/* Ends requested flushes if nothing can come. */
void guest_session_settle_flush(struct guest_session *session);
int guest_session_on_flushed(struct guest_session *session, const struct proto_frame *frame,
                             struct error *error);

/* True if the agent may hold data back. */
static inline bool guest_session_holds(const struct guest_session *session)
{
    return session->config->holds && !(session->config->wants & PROTO_WANT_LIVE);
}

/* The clocks (guest_session_clock.c). Sends a ping, unless one is not answered yet. */
void guest_session_ping(struct guest_session *session, uint64_t now);
/* Sends a ping for SIZE more bytes that the agent has spliced. The agent splices large pieces as long as pings show
 * that they are read (agent/frame_tx.h, W5). */
void guest_session_spliced(struct guest_session *session, size_t size);
/* Sends N pings in STATE, each after the answer to the one before. */
void guest_session_ping_some(struct guest_session *session, enum guest_state state, unsigned n,
                             uint64_t now);
int guest_session_on_pong(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error);
/* Passes on the fastest pair so far, if any. */
int guest_session_flush_pair(struct guest_session *session, struct error *error);

/* The guest's state went back (guest_session_rewind.c). True if TIME of the guest's clock shows that. */
bool guest_session_is_set_back(const struct guest_session *session, uint64_t time);
/* Begins the trace again, with the data that comes from now on. RUNS: asks the agent to continue. -ECONNRESET, or an
 * error of the sink. */
int guest_session_rewind(struct guest_session *session, bool runs, uint64_t now,
                         struct error *error);

/* What the guest sends about itself (guest_session_meta.c). */
int guest_session_on_meta(struct guest_session *session, const struct proto_frame *frame,
                          struct error *error);
int guest_session_put_fact(struct guest_session *session, const char *name,
                           const struct proto_text *text, struct error *error);
/* Copies TEXT as a string of at most SIZE - 1 bytes. */
void guest_session_copy_text(char *buf, size_t size, const struct proto_text *text);

/* The pages (guest_session_pages.c). */
int guest_session_on_data(struct guest_session *session, const struct proto_frame *frame,
                          struct error *error);
int guest_session_on_status(struct guest_session *session, const struct proto_frame *frame);
/* Counts pages that the agent sent at the very end, according to its last status, and that never came. */
void guest_session_count_tail(struct guest_session *session);
/* Call it when the counts of CPU begin again. */
void guest_session_keep_lost(struct guest_cpu *cpu);
/* Call it when a session is set up again: it counts pages and lost events from 0. */
void guest_session_forget_counts(struct guest_session *session);
