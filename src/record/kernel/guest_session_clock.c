/* SPDX-License-Identifier: MIT */
/* How a guest's clock is related to the host's: pings, and of their exchanges the fastest. */
#include "record/kernel/guest_session_send.h"

/* How long those before and after the trace may take. */
#define PINGS_TIME (NSEC_PER_SEC / 2)
#define PING_EVERY (50 * NSEC_PER_MSEC)
#define PING_LOST (2 * NSEC_PER_SEC)
/* A ping shows what was read before the last one: twice this is less than the agent's SPLICE_UNREAD_MAX. */
#define PING_SPLICED (UINT64_C(3) << 20)
/* In each of these periods, the fastest exchange is kept. */
#define PAIR_EVERY NSEC_PER_SEC
#define PAIR_EVERY_LONG (4 * NSEC_PER_SEC) /* with PROTO_WANT_DELAY or PROTO_WANT_HOLD */
/* The first ones give the rate, which the guest's kernel may have measured wrongly, by any factor; it may end soon. */
#define PAIRS_SOON 2
#define PAIR_SOON (NSEC_PER_SEC / 4)
/* They go on, one right after the other, until one is this fast, up to a number. The first finds the guest's CPU
 * asleep, and waking it is what takes longest; those right after it find it awake. On a busy machine few are fast,
 * and each takes a guest under emulation most of a millisecond. */
#define PAIR_GOOD 90000 /* ns that it may be wrong by */
#define PING_SOON (NSEC_PER_MSEC / 5)
#define PINGS_MOST 8
#define PINGS_MOST_AT_REST 48 /* before and after */

void guest_session_ping(struct guest_session *session, uint64_t now)
{
    bool sets_up = session->state == GUEST_SETUP;
    struct proto_out out;

    session->ping_next = now + (sets_up ? NSEC_PER_SEC : PING_EVERY);
    if ((!session->relatable && !sets_up) || !guest_session_has_room(session))
        return;
    if (session->ping_out && now - session->ping_sent < PING_LOST)
        return;
    out = guest_session_begin(session);
    if (!session->ping_out)
        session->unanswered_since = now;
    session->ping_out = true;
    session->ping_sent = now;
    proto_put_ping(&out, &(struct proto_ping){++session->token, now});
    (void)guest_session_put(session, &out, PROTO_PING);
}

void guest_session_spliced(struct guest_session *session, size_t size)
{
    session->spliced += size;
    if (session->spliced < PING_SPLICED)
        return;
    session->spliced = 0;
    session->ping_next = session->received_at;
}

static uint64_t pair_every(const struct guest_session *session)
{
    if (session->n_pairs < PAIRS_SOON)
        return PAIR_SOON;
    return session->config->wants & PROTO_WANT_DELAY || guest_session_holds(session)
               ? PAIR_EVERY_LONG
               : PAIR_EVERY;
}

int guest_session_flush_pair(struct guest_session *session, struct error *error)
{
    bool has_best = session->has_best;

    session->has_best = false;
    session->n_pairs += has_best;
    return has_best ? kernel_sink_pair(session->sink, &session->best, error) : 0;
}

static int keep_fastest(struct guest_session *session, const struct guest_pair *pair, uint64_t now,
                        struct error *error)
{
    if (session->has_best && now - session->best_since >= pair_every(session)) {
        int r = guest_session_flush_pair(session, error);

        if (r < 0)
            return r;
    }
    if (!session->has_best) {
        session->best_since = now;
        session->pings = 0;
        session->best = *pair;
        session->has_best = true;
    } else if (pair->error_ns < session->best.error_ns) {
        session->best = *pair;
    }
    return 0;
}

/* 1: the state of the guest went back, and the exchange is of no use. */
static int check_clock(struct guest_session *session, const struct proto_pong *pong, uint64_t now,
                       struct error *error)
{
    bool is_back = pong->came != 0 && guest_session_is_set_back(session, pong->came);
    bool runs = session->state == GUEST_RUNNING || session->state == GUEST_STOPPING;
    int r = 0;

    if (is_back && session->state == GUEST_AFTER)
        return 1; /* all has come */
    session->guest_time = pong->sent;
    if (!is_back)
        return 0;
    if (session->has_pages)
        r = guest_session_rewind(session, runs, now, error);
    session->has_best = false;
    return r < 0 ? r : session->has_pages && runs;
}

/* The guest's time was read between sending and receiving, on whichever way the time was spent: the middle of both is wrong
 * by at most half of the round trip. */
int guest_session_on_pong(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error)
{
    struct proto_pong pong;
    int r = proto_get_pong(frame, &pong);
    bool good;

    if (r < 0)
        return r;
    if (!session->ping_out || pong.ping.token != session->token ||
        pong.ping.host_time != session->ping_sent)
        return 0; /* to a ping that was given up */
    session->ping_out = false;
    if (session->state == GUEST_SETUP)
        return 0; /* only a sign of life: the clock of the trace is not chosen yet */
    r = check_clock(session, &pong, now, error);
    if (r != 0)
        return MIN(r, 0);
    if (pong.came == 0 || pong.sent < pong.came) {
        session->relatable = false;
    } else {
        struct guest_pair pair = {
            .host_ns = session->ping_sent + (now - session->ping_sent) / 2,
            .guest = pong.came + (pong.sent - pong.came) / 2,
            .error_ns = (now - session->ping_sent + 1) / 2,
        };

        r = keep_fastest(session, &pair, now, error);
        if (r < 0)
            return r;
    }
    session->pings++;
    good = session->same_clock || !session->has_best || session->best.error_ns <= PAIR_GOOD;
    session->ping_next = good || session->pings >= PINGS_MOST
                             ? session->best_since + pair_every(session)
                             : now + PING_SOON;
    if (session->pings_left == 0)
        return 0;
    session->pings_left--;
    if (session->pings_left == 0 && !good && session->pings < PINGS_MOST_AT_REST)
        session->pings_left = 1;
    if (session->pings_left > 0)
        guest_session_ping(session, now);
    return 0;
}

void guest_session_ping_some(struct guest_session *session, enum guest_state state, unsigned n,
                             uint64_t now)
{
    guest_session_wait_for(session, state, now, PINGS_TIME);
    session->ping_out = false;
    session->pings_left = n;
    guest_session_ping(session, now);
}
