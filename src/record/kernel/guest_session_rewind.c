/* SPDX-License-Identifier: MIT */
/* Handles a guest whose state goes back to an earlier state during the recording, for example by QEMU's loadvm. Its
 * clock, its kernel's buffers, its agent and the agent's page numbers then have their earlier state. The protocol does
 * not report this, because the connection stays. It is detected by a clock that goes back, or by pages whose numbers
 * have come before without RESUME.
 *
 * From then on, the guest has another history, so the sink begins another trace. RESUME without CPUs makes the agent
 * continue if it has this session, whatever it has sent. If it has another session or none, a session is set up
 * again. */
#include <string.h>

#include "record/kernel/guest_session_send.h"

/* CPUs may disagree by as much: parts of a second. */
#define SET_BACK_PARTS 1000

bool guest_session_is_set_back(const struct guest_session *session, uint64_t time)
{
    return time < session->guest_time && session->guest_time - time > session->hz / SET_BACK_PARTS;
}

static void forget_pages(struct guest_session *session)
{
    for (uint32_t i = 0; i < session->n_cpus; i++) {
        struct guest_cpu *cpu = &session->cpus[i];

        guest_session_keep_lost(cpu);
        cpu->next_page = 0;
        cpu->torn = cpu->is_repeating = false;
        cpu->is_rewound = cpu->status_is_old = true;
    }
}

int guest_session_rewind(struct guest_session *session, bool runs, uint64_t now,
                         struct error *error)
{
    struct proto_resume resume = {0};
    struct proto_out out;
    int r;

    /* It was made before. */
    r = guest_session_end_dropped(session, error);
    if (r >= 0)
        r = guest_session_flush_pair(session, error);
    if (r >= 0)
        r = kernel_sink_rewind(session->sink, error);
    if (r < 0)
        return r;
    session->guest_time = 0;
    session->first = session->last = 0;
    session->in_file = false;
    session->ping_out = false;
    if (!runs)
        return 0;
    forget_pages(session);
    if (!guest_session_has_room(session))
        return -ECONNRESET;
    out = guest_session_begin(session);
    memcpy(resume.session, session->session, sizeof resume.session);
    proto_put_resume(&out, &resume);
    session->resumes = session->is_rewound = true;
    guest_session_wait_for(session, GUEST_STARTING, now, ANSWER_MAX);
    return guest_session_put(session, &out, PROTO_RESUME);
}
