/* SPDX-License-Identifier: MIT */
/* The state machine: what is waited for, and what follows from what came and from the time. */
#include <string.h>
#include <zstd.h>

#include "base/macro.h"
#include "record/kernel/guest_session_send.h"

/* The longest that an agent is believed to be busy without a word. */
#define KEEPALIVE_TIMEOUT (10 * NSEC_PER_SEC)
/* An agent that does not answer a ping for so long may have been killed. */
#define SILENCE NSEC_PER_SEC
/* If an agent has closed its port, data that it sent before is still on its way. After this time without data,
 * everything has come; but another agent may have opened the port, and send data that is not an answer. */
#define CLOSED_SILENCE (NSEC_PER_SEC / 4)
#define CLOSED_MAX NSEC_PER_SEC
#define BYE_MAX (2 * NSEC_PER_SEC)
#define STOP_MAX (60 * NSEC_PER_SEC)

#define PINGS_AFTER 16
#define DAMAGES_MAX 16u
#define OUT_SIZE ((size_t)PROTO_HEADER_SIZE + PROTO_HOST_BODY_MAX)

int guest_session_init(struct guest_session *session, const struct trace_config *config,
                       struct kernel_sink *sink)
{
    struct guest_session made = {.config = config, .sink = sink};

    made.zstd = ZSTD_createDCtx();
    made.unpacked = malloc(PROTO_BODY_MAX);
    made.scratch = malloc(2 * (size_t)PROTO_BODY_MAX);
    made.out = malloc(OUT_SIZE);
    made.cpus = calloc(PROTO_CPUS_MAX, sizeof *made.cpus);
    if (!made.zstd || !made.unpacked || !made.scratch || !made.out || !made.cpus ||
        proto_reader_init(&made.reader, PROTO_WIRE_MAX) < 0) {
        guest_session_done(&made);
        return -ENOMEM;
    }
    *session = made;
    return 0;
}

void guest_session_done(struct guest_session *session)
{
    ZSTD_freeDCtx(session->zstd);
    free(session->unpacked);
    free(session->scratch);
    free(session->out);
    free(session->cpus);
    proto_reader_done(&session->reader);
    *session = (struct guest_session){0};
}

/* ---- Sending ----
 *
 * One ping at a time, and one request per state: the buffer is too small only for an agent that reads nothing, and that
 * counts as disconnected soon. */

struct proto_out guest_session_begin(struct guest_session *session)
{
    if (session->out_sent > 0) {
        memmove(session->out, session->out + session->out_sent,
                session->out_filled - session->out_sent);
        session->out_filled -= session->out_sent;
        session->out_sent = 0;
    }
    return proto_begin(session->out + session->out_filled, OUT_SIZE - session->out_filled);
}

int guest_session_put(struct guest_session *session, struct proto_out *out, enum proto_type type)
{
    int r = proto_end(out, type, session->sequence);

    if (r < 0)
        return r;
    session->sequence++;
    session->out_filled += out->len;
    return 0;
}

bool guest_session_has_room(const struct guest_session *session)
{
    return session->out_filled - session->out_sent + 4096 < OUT_SIZE;
}

int guest_session_put_nothing(struct guest_session *session, enum proto_type type)
{
    struct proto_out out;

    if (!guest_session_has_room(session))
        return -ECONNRESET;
    out = guest_session_begin(session);
    return guest_session_put(session, &out, type);
}

void guest_session_sent(struct guest_session *session, size_t size)
{
    session->out_sent += size;
}

/* ---- States ---- */

void guest_session_wait_for(struct guest_session *session, enum guest_state state, uint64_t now,
                            uint64_t longest)
{
    session->state = state;
    session->deadline = now + longest;
    session->received_at = now;
}

void guest_session_connected(struct guest_session *session, const uint8_t nonce[PROTO_NONCE_SIZE],
                             uint64_t now)
{
    guest_session_disconnected(session);
    session->ran = false;
    memcpy(session->nonce, nonce, PROTO_NONCE_SIZE);
    guest_session_wait_for(session, GUEST_HELLO, now, UINT64_MAX / 2);
    guest_session_put_hello(session, now);
}

void guest_session_disconnected(struct guest_session *session)
{
    (void)guest_session_flush_pair(session, NULL); /* there may be no other one */
    session->state = session->state >= GUEST_BYE ? GUEST_OVER : GUEST_DISCONNECTED;
    session->out_sent = session->out_filled = 0;
    session->sequence = 0;
    session->closed_at = 0;
    session->hellos = 0;
    session->ping_out = false;
    session->in_file = session->file_is_unknown = false;
    session->skipped_seen = 0;
    session->skipped += session->reader.skipped;
    proto_reader_reset(&session->reader);
}

static int start(struct guest_session *session, uint64_t now, struct error *error)
{
    int r;

    session->pings_left = 0;
    /* At least one pair before the events, and one after them: the rate needs two. */
    r = guest_session_flush_pair(session, error);
    if (r < 0)
        return r;
    session->n_pairs = 0;
    guest_session_wait_for(session, GUEST_STARTING, now, ANSWER_MAX);
    session->start_sent = now;
    return guest_session_put_nothing(session, PROTO_START);
}

static int on_started(struct guest_session *session, const struct proto_frame *frame, uint64_t now)
{
    uint64_t time;
    int r = proto_get_time(frame, &time);

    if (r < 0)
        return r;
    if (session->state != GUEST_STARTING)
        return -EBADMSG;
    session->has_session = true;
    session->said_bye = false;
    session->flush_sent = session->flushed; /* what was not answered is asked again */
    session->ran = session->has_pages = true;
    memcpy(session->session, session->agent_session, sizeof session->session);
    guest_session_wait_for(session, GUEST_RUNNING, now, UINT64_MAX / 2);
    if (session->started_at == 0)
        session->started_at = now;
    session->ping_out = false;
    session->ping_next = now;
    return 0;
}

/* All that the agent had came, or never will. */
static int end_pages(struct guest_session *session, struct error *error)
{
    session->has_session = false;
    guest_session_count_tail(session);
    return guest_session_flush_pair(session, error);
}

static int on_stopped(struct guest_session *session, const struct proto_frame *frame, uint64_t now,
                      struct error *error)
{
    uint64_t time;
    int r = proto_get_time(frame, &time);

    if (r < 0)
        return r;
    if (session->state != GUEST_STOPPING || session->in_file)
        return -EBADMSG;
    session->stopped_ns = now - session->stop_sent;
    r = end_pages(session, error);
    if (r < 0)
        return r;
    guest_session_ping_some(session, GUEST_AFTER, PINGS_AFTER, now);
    return 0;
}

/* The agent answers when tracefs is as it was before. Waits for that only BYE_MAX. */
int guest_session_end(struct guest_session *session, uint64_t now, struct error *error)
{
    int r = guest_session_flush_pair(session, error);

    if (r < 0)
        return r;
    session->has_session = false;
    guest_session_wait_for(session, GUEST_BYE, now, BYE_MAX);
    return guest_session_put_nothing(session, PROTO_BYE);
}

static int on_bye(struct guest_session *session, struct error *error)
{
    /* The agent exits by itself, as when its guest shuts down: it has sent what was left before. Another one may be
     * started. */
    if (session->state == GUEST_RUNNING && session->has_session) {
        int r = end_pages(session, error);

        if (r < 0)
            return r;
        session->said_bye = true;
    }
    if (session->state != GUEST_BYE)
        return -ECONNRESET;
    session->state = GUEST_OVER;
    return 0;
}

static int on_failed(struct guest_session *session, const struct proto_frame *frame, uint64_t now,
                     struct error *error)
{
    struct proto_failed failed;
    int r = proto_get_failed(frame, &failed);
    char what[256], hint[128];

    if (r < 0)
        return r;
    if (session->state == GUEST_STARTING && session->resumes) {
        /* It does not have the session any more. If its state went back, which one it has is not known. */
        r = session->is_rewound ? -ESTALE : guest_session_lose(session, error);
        session->has_session = false;
        return r < 0 ? r : guest_session_go_on(session, now, error);
    }
    guest_session_copy_text(what, sizeof what, &failed.what);
    guest_session_copy_text(hint, sizeof hint, &failed.hint);
    /* Not its errno: some of those that this function returns have a meaning. */
    return error_set(error, -EREMOTEIO, NULL, "the agent: %s%s%s", what, *hint ? "; " : "", hint);
}

/* ---- Receiving ---- */

static int on_frame(struct guest_session *session, const struct proto_frame *frame, uint64_t now,
                    struct error *error)
{
    /* It was sent before the agent received BYE. */
    if (session->state == GUEST_BYE && frame->type != PROTO_BYE)
        return 0;
    switch (frame->type) {
    case PROTO_HELLO: return guest_session_on_hello(session, frame, now, error);
    case PROTO_AUTH: return guest_session_on_auth(session, frame, now, error);
    case PROTO_META: return guest_session_on_meta(session, frame, error);
    case PROTO_READY: return guest_session_on_ready(session, frame, now, error);
    case PROTO_STARTED: return on_started(session, frame, now);
    case PROTO_STOPPED: return on_stopped(session, frame, now, error);
    case PROTO_FLUSHED: return guest_session_on_flushed(session, frame, error);
    case PROTO_DATA: return guest_session_on_data(session, frame, error);
    case PROTO_STATUS: return guest_session_on_status(session, frame);
    case PROTO_PONG: return guest_session_on_pong(session, frame, now, error);
    case PROTO_FAILED: return on_failed(session, frame, now, error);
    case PROTO_BYE: return on_bye(session, error);
    default: return -EBADMSG;
    }
}

/* Decompresses the body of FRAME. */
static int unpack(struct guest_session *session, struct proto_frame *frame)
{
    size_t n;

    if (!(frame->flags & PROTO_ZSTD))
        return 0;
    n = ZSTD_decompressDCtx(session->zstd, session->unpacked, frame->unpacked, frame->body,
                            frame->size);
    if (ZSTD_isError(n) || n != frame->unpacked)
        return -EBADMSG;
    frame->body = session->unpacked;
    frame->size = frame->unpacked;
    return 0;
}

/* Frames before the answer to HELLO are the rest of another session. */
static bool is_from_before(const struct guest_session *session, const struct proto_frame *frame)
{
    return session->state == GUEST_HELLO && frame->type != PROTO_HELLO &&
           frame->type != PROTO_FAILED;
}

/* Data was corrupted on the way. While pages come, the session goes on: a gap in their numbers shows what is missing. In
 * other states a request or its answer may be lost, and the session is restarted. */
static int on_damage(struct guest_session *session, struct error *error)
{
    session->skipped_seen = session->reader.skipped;
    if (session->state == GUEST_HELLO)
        return 0; /* the rest of another session */
    if (++session->damages > DAMAGES_MAX)
        return error_set(error, -EBADMSG, NULL, "data from the guest was corrupted %u times",
                         DAMAGES_MAX);
    if ((session->state == GUEST_RUNNING || session->state == GUEST_STOPPING) &&
        !session->in_file) {
        session->file_is_unknown = true;
        return 0;
    }
    return -ESTALE;
}

int guest_session_received(struct guest_session *session, size_t size, uint64_t now,
                           struct error *error)
{
    struct proto_frame frame;
    int r = 0;

    proto_reader_filled(&session->reader, size);
    if (session->state == GUEST_DISCONNECTED || session->state == GUEST_OVER)
        return 0;
    while (r == 0 && session->state != GUEST_OVER) {
        int next = proto_reader_next(&session->reader, &frame);

        if (session->reader.skipped > session->skipped_seen)
            r = on_damage(session, error);
        if (r < 0 || next == 0)
            break;
        session->received_at = now;
        if (is_from_before(session, &frame))
            continue;
        r = frame.flags & PROTO_UNCHECKED && frame.type != PROTO_DATA ? -EBADMSG
                                                                      : unpack(session, &frame);
        if (r == 0)
            r = on_frame(session, &frame, now, error);
        if (r == -EBADMSG) {
            const char *name = proto_type_name(frame.type);

            return error_set(error, r, NULL,
                             "invalid message from the agent: %s (type %u) of %u bytes",
                             name ? name : "a message", frame.type, frame.size);
        }
    }
    return r;
}

/* ---- Deadlines ---- */

static int too_late(struct guest_session *session, struct error *error)
{
    switch (session->state) {
    case GUEST_SETUP:
        return error_set(error, -ETIMEDOUT, NULL,
                         "the agent did not set up the tracing in %u seconds",
                         (unsigned)(SETUP_MAX / NSEC_PER_SEC));
    case GUEST_STOPPING:
        return error_set(error, -ETIMEDOUT, NULL, "the agent did not send the rest in %u seconds",
                         (unsigned)((session->deadline - session->stop_sent) / NSEC_PER_SEC));
    case GUEST_BYE: session->state = GUEST_OVER; return 0;
    default: return -ECONNRESET;
    }
}

static int stop(struct guest_session *session, uint64_t now)
{
    /* Pages that would be left out need not be waited for. */
    guest_session_wait_for(session, GUEST_STOPPING, now,
                           session->full || session->failure.code ? ANSWER_MAX : STOP_MAX);
    session->stop_sent = now;
    return guest_session_put_nothing(session, PROTO_STOP);
}

/* Nothing is due before the guest's machine goes on. */
static bool waits_for_machine(const struct guest_session *session)
{
    return session->is_paused && !session->stop_wanted && session->state > GUEST_HELLO &&
           session->state < GUEST_OVER;
}

/* When nothing more comes from an agent that has closed its port. */
static uint64_t closed_until(const struct guest_session *session)
{
    return MIN(MAX(session->received_at, session->closed_at) + CLOSED_SILENCE,
               session->closed_at + CLOSED_MAX);
}

static int step(struct guest_session *session, uint64_t now, struct error *error)
{
    int r;

    guest_session_settle_flush(session);
    if (session->closed_at && now >= closed_until(session))
        return -ECONNRESET;
    switch (session->state) {
    case GUEST_OVER: return 0;
    case GUEST_DISCONNECTED:
        if (session->stop_wanted && !session->has_session)
            session->state = GUEST_OVER;
        return 0;
    case GUEST_HELLO:
        /* No agent has answered: there is nothing to clean up. */
        if (session->stop_wanted && !session->has_session) {
            session->state = GUEST_OVER;
            return 0;
        }
        if (now >= session->hello_next)
            guest_session_put_hello(session, now);
        return 0;
    case GUEST_AUTH:
    case GUEST_SETUP:
        if (session->stop_wanted && !session->has_session)
            return guest_session_end(session, now, error);
        break;
    case GUEST_BEFORE:
        if (waits_for_machine(session))
            return 0;
        if (session->pings_left == 0 || !session->relatable || now >= session->deadline)
            return start(session, now, error);
        return 0;
    case GUEST_AFTER:
        if (session->pings_left == 0 || !session->relatable || now >= session->deadline)
            return guest_session_end(session, now, error);
        return 0;
    case GUEST_RUNNING:
        if (session->stop_wanted)
            return stop(session, now);
        r = guest_session_ask_flush(session, now, error);
        if (r < 0)
            return r;
        break;
    default: break;
    }
    if (waits_for_machine(session))
        return 0;
    if (now >= session->deadline)
        return too_late(session, error);
    if (now - session->received_at >= KEEPALIVE_TIMEOUT)
        return -ECONNRESET;
    /* Enabling events may take the kernel longer than KEEPALIVE_TIMEOUT. Without a ping the connection would be made again,
     * and the agent would start again, for ever. */
    if ((session->state == GUEST_RUNNING || session->state == GUEST_SETUP) &&
        now >= session->ping_next)
        guest_session_ping(session, now);
    return 0;
}

int guest_session_step(struct guest_session *session, uint64_t now, uint64_t *ret_next,
                       struct error *error)
{
    uint64_t next;
    int r = step(session, now, error);

    if (r < 0)
        return r;
    next = MIN(session->deadline, session->received_at + KEEPALIVE_TIMEOUT);
    if (session->state == GUEST_HELLO)
        next = session->hello_next;
    else if (session->state == GUEST_BEFORE || session->state == GUEST_AFTER)
        next = session->deadline;
    else if (session->state == GUEST_RUNNING || session->state == GUEST_SETUP)
        next = MIN(next, session->ping_next);
    if (session->state == GUEST_DISCONNECTED || session->state == GUEST_OVER ||
        waits_for_machine(session))
        next = UINT64_MAX;
    *ret_next = session->closed_at ? MIN(next, closed_until(session)) : next;
    return 0;
}

void guest_session_add_delay(struct guest_session *session, uint64_t delay, uint64_t now)
{
    session->received_at = MIN(session->received_at + delay, now);
    session->unanswered_since = MIN(session->unanswered_since + delay, now);
    if (session->deadline < UINT64_MAX / 2)
        session->deadline += delay;
}

void guest_session_pause(struct guest_session *session, bool is_paused, uint64_t now)
{
    if (is_paused && !session->is_paused)
        session->paused_at = now;
    if (!is_paused && session->is_paused) {
        guest_session_add_delay(session, now - session->paused_at, now);
        session->ping_out = false; /* the answer would say little about the clocks */
        session->best_since = 0;   /* what was the fastest before the pause is kept with the next */
        session->ping_next = MIN(session->ping_next, now);
    }
    session->is_paused = is_paused;
}

void guest_session_agent_closed(struct guest_session *session, uint64_t now)
{
    if (session->state > GUEST_HELLO && session->state < GUEST_OVER && !session->closed_at)
        session->closed_at = now;
}

bool guest_session_is_silent(const struct guest_session *session, uint64_t now)
{
    return session->state == GUEST_RUNNING && session->ping_out && !session->is_paused &&
           now >= MAX(session->received_at, session->unanswered_since) + SILENCE;
}

void guest_session_stop(struct guest_session *session)
{
    session->stop_wanted = true;
}

void guest_session_give_up(struct guest_session *session)
{
    if (session->state >= GUEST_SETUP && session->state < GUEST_BYE)
        (void)guest_session_put_nothing(session, PROTO_BYE);
}
