/* SPDX-License-Identifier: MIT */
/* A guest whose state goes back to an earlier one while it is recorded, as by QEMU's loadvm: its clock, its kernel's buffers
 * and its agent with the numbers of its pages are those of then. Nothing of the protocol says so, as the connection stays.
 * It shows by a clock that goes back, or by pages with numbers that came before without RESUME.
 *
 * What follows is another history of the guest, so the sink begins another trace. RESUME without CPUs makes the agent go on
 * if it has this session, whatever it has sent. If it has another one, or none, a session is set up again. */
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
