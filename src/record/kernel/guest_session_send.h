/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions shared by the files that implement record/kernel/guest_session.h. Inside of this layer. */

#include "base/clock_ns.h"
#include "record/kernel/guest_session.h"

/* For the agent to answer a request … */
#define ANSWER_MAX (10 * NSEC_PER_SEC)
/* … and to set up the tracing. */
#define SETUP_MAX (120 * NSEC_PER_SEC)

/* Begins a frame, in the buffer from which it is sent … */
struct proto_out guest_session_begin(struct guest_session *session);
/* … and ends it. -E2BIG: its body is too long, and it is not sent. */
int guest_session_put(struct guest_session *session, struct proto_out *out, enum proto_type type);
/* Whether there is room for a short frame. */
bool guest_session_has_room(const struct guest_session *session);
/* Sends a frame without a body. -ECONNRESET: there is no room, because the agent reads nothing. */
int guest_session_put_nothing(struct guest_session *session, enum proto_type type);

/* Enters STATE at NOW. What it waits for has to come within LONGEST. */
void guest_session_wait_for(struct guest_session *session, enum guest_state state, uint64_t now,
                            uint64_t longest);
/* Sends BYE, which the agent answers. */
int guest_session_end(struct guest_session *session, uint64_t now, struct error *error);

/* The setup (guest_session_setup.c). The functions that handle a frame return 0, -EBADMSG if the frame is invalid, and other
 * errors as guest_session_received(). */
void guest_session_put_hello(struct guest_session *session, uint64_t now);
int guest_session_on_hello(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error);
int guest_session_on_auth(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error);
int guest_session_on_ready(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error);
/* The agent was accepted: resumes the session that it has for this host, or sets up another one. */
int guest_session_go_on(struct guest_session *session, uint64_t now, struct error *error);
/* The agent's session is gone, and what it had not sent. */
int guest_session_lose(struct guest_session *session, struct error *error);

/* What the agent holds (guest_session_flush.c). In state RUNNING: asks the agent, if that is due. */
int guest_session_ask_flush(struct guest_session *session, uint64_t now, struct error *error);
/* Whatever is asked for is done if nothing can come. */
void guest_session_settle_flush(struct guest_session *session);
int guest_session_on_flushed(struct guest_session *session, const struct proto_frame *frame,
                             struct error *error);

/* Whether the agent is to wait with what it records. */
static inline bool guest_session_holds(const struct guest_session *session)
{
    return session->config->holds && !(session->config->wants & PROTO_WANT_LIVE);
}

/* The clocks (guest_session_clock.c). Sends a ping, unless one is not answered yet … */
void guest_session_ping(struct guest_session *session, uint64_t now);
/* … for SIZE more bytes that the agent has spliced, which does so in large pieces as long as pings show that they are read
 * (agent/frame_tx.h, W5) … */
void guest_session_spliced(struct guest_session *session, size_t size);
/* … and N pings in STATE, each after the answer to the one before. */
void guest_session_ping_some(struct guest_session *session, enum guest_state state, unsigned n,
                             uint64_t now);
int guest_session_on_pong(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error);
/* Hands on the fastest pair so far, if there is one. */
int guest_session_flush_pair(struct guest_session *session, struct error *error);

/* The guest's state went back (guest_session_rewind.c). Whether TIME of its clock shows that. */
bool guest_session_is_set_back(const struct guest_session *session, uint64_t time);
/* The trace begins again, with what comes from now on. Asks the agent to go on if it RUNS. -ECONNRESET, or an error of the
 * sink. */
int guest_session_rewind(struct guest_session *session, bool runs, uint64_t now,
                         struct error *error);

/* What the guest sends about itself (guest_session_meta.c). */
int guest_session_on_meta(struct guest_session *session, const struct proto_frame *frame,
                          struct error *error);
int guest_session_put_fact(struct guest_session *session, const char *name,
                           const struct proto_text *text, struct error *error);
/* TEXT, as a string of SIZE - 1 bytes at most. */
void guest_session_copy_text(char *buf, size_t size, const struct proto_text *text);

/* The pages (guest_session_pages.c). */
int guest_session_on_data(struct guest_session *session, const struct proto_frame *frame,
                          struct error *error);
int guest_session_on_status(struct guest_session *session, const struct proto_frame *frame);
/* Counts the pages that the agent, by its last status, sent at the very end and that never came. */
void guest_session_count_tail(struct guest_session *session);
/* The counts of CPU begin again. */
void guest_session_keep_lost(struct guest_cpu *cpu);
/* A session that is set up again counts pages and lost events from 0. */
void guest_session_forget_counts(struct guest_session *session);
