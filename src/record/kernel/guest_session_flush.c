/* SPDX-License-Identifier: MIT */
/* Flushes: the agent sends what it and its kernel hold, and goes on. */
#include "record/kernel/guest_session_send.h"

void guest_session_flush(struct guest_session *session)
{
    session->flush_asked++;
}

void guest_session_settle_flush(struct guest_session *session)
{
    if (session->is_paused || session->state < GUEST_STARTING || session->state > GUEST_STOPPING)
        session->flush_sent = session->flushed = session->flush_asked;
}

int guest_session_ask_flush(struct guest_session *session, uint64_t now, struct error *error)
{
    struct proto_out out;
    int r;

    if (session->flush_sent >= session->flush_asked)
        return 0;
    if (session->version < PROTO_VERSION_FLUSH) {
        session->flush_sent = session->flushed = session->flush_asked;
        return kernel_sink_fact(
            session->sink, "problem",
            "its agent is too old to hand over on demand what it holds: the last "
            "events may be missing from snapshots; install a newer strata-agent",
            error);
    }
    /* The last events are to have a pair of the clocks near them: the answer comes before that to the flush. A ping that is
     * on its way is older; that of a flush that was not answered yet is not given up, or none would ever be answered in time. */
    r = guest_session_flush_pair(session, error);
    if (r < 0)
        return r;
    if (session->flushed >= session->flush_sent)
        session->ping_out = false;
    guest_session_ping(session, now);
    if (!guest_session_has_room(session))
        return -ECONNRESET;
    out = guest_session_begin(session);
    session->flush_sent = session->flush_asked;
    proto_put_u64(&out, session->flush_sent);
    return guest_session_put(session, &out, PROTO_FLUSH);
}

int guest_session_on_flushed(struct guest_session *session, const struct proto_frame *frame,
                             struct error *error)
{
    struct proto_flushed flushed;
    int r = proto_get_flushed(frame, &flushed);

    if (r < 0)
        return r;
    if (session->in_file)
        return -EBADMSG;
    /* An answer to an earlier one, or from before the guest was set back. */
    if (flushed.token != session->flush_sent || session->flushed >= session->flush_sent)
        return 0;
    session->flushed = session->flush_sent;
    return guest_session_flush_pair(session, error);
}
