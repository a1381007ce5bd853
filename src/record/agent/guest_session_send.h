/* SPDX-License-Identifier: MIT */
#pragma once

/* How a session with an agent sends and waits, and which of its files does what. Inside of this layer. */

#include "record/agent/guest_session.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* The longest that an agent is believed to take for what was asked, however much it says meanwhile … */
#define ANSWER_MAX (10 * SECOND)
/* … and to set up the tracing. */
#define SETUP_MAX (120 * SECOND)

/* A frame's body is put together where it is sent from … */
struct proto_out guest_session_begin(struct guest_session *session);
/* … and becomes a frame. -E2BIG: it is too long, and there is none. */
int guest_session_put(struct guest_session *session, struct proto_out *out, enum proto_type type);
/* Whether a short one has room. */
bool guest_session_has_room(const struct guest_session *session);
/* One without a body. -ECONNRESET: there is no room, so the agent reads nothing. */
int guest_session_put_nothing(struct guest_session *session, enum proto_type type);

/* STATE begins NOW, and its answer comes in LONGEST at most. */
void guest_session_wait_for(struct guest_session *session, enum guest_state state, uint64_t now,
                            uint64_t longest);
/* Sends BYE, which the agent answers. */
int guest_session_end(struct guest_session *session, uint64_t now, struct error *error);

/* How it comes about (guest_session_setup.c). These, and what else answers a frame, return 0, -EBADMSG where the frame
 * is not what it may be, and other errors as guest_session_received(). */
void guest_session_put_hello(struct guest_session *session, uint64_t now);
int guest_session_on_hello(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error);
int guest_session_on_auth(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error);
int guest_session_on_ready(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error);
/* The agent is who it should be: what it has set up for us is resumed, or set up. */
int guest_session_go_on(struct guest_session *session, uint64_t now, struct error *error);

/* The clocks (guest_session_clock.c). Sends a ping, where that is of use and none is under way … */
void guest_session_ping(struct guest_session *session, uint64_t now);
/* … and N one behind the other, in STATE. */
void guest_session_ping_some(struct guest_session *session, enum guest_state state, unsigned n,
                             uint64_t now);
int guest_session_on_pong(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error);
/* Hands on the fastest pair so far, if there is one. */
int guest_session_flush_pair(struct guest_session *session, struct error *error);

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
/* An agent that has begun anew counts its pages and the kernel its losses from 0. */
void guest_session_forget_counts(struct guest_session *session);
