/* SPDX-License-Identifier: MIT */
/* The setup of a session: HELLO, the proof that the agent knows the key, then SETUP, or RESUME of the session that the agent
 * still has. */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "record/kernel/guest_session_send.h"

/* HELLO is sent again, for an agent that is started later, after intervals that double four times. */
#define HELLO_EVERY (NSEC_PER_SEC / 2)
#define HELLO_DOUBLED 4

#define PINGS_BEFORE 16

void guest_session_put_hello(struct guest_session *session, uint64_t now)
{
    struct proto_host_hello hello = {.lowest = PROTO_VERSION_LOWEST, .highest = PROTO_VERSION};
    struct proto_out out;

    session->hello_next = now + (HELLO_EVERY << MIN(session->hellos, (unsigned)HELLO_DOUBLED));
    /* The last one was not even sent. */
    if (session->out_filled > session->out_sent)
        return;
    /* Each HELLO has a nonce of its own, so that an answer to an earlier one is recognised. */
    store_le32(session->nonce, load_le32(session->nonce) + 1);
    memcpy(hello.nonce, session->nonce, sizeof hello.nonce);
    out = guest_session_begin(session);
    proto_put_host_hello(&out, &hello);
    (void)guest_session_put(session, &out, PROTO_HELLO);
    session->hellos++;
}

static int resume(struct guest_session *session, uint64_t now)
{
    struct proto_resume resume = {0};
    struct proto_out out = guest_session_begin(session);

    memcpy(resume.session, session->session, sizeof resume.session);
    for (uint32_t i = 0; i < session->n_cpus; i++)
        resume.n_cpus += session->cpus[i].known;
    proto_put_resume(&out, &resume);
    for (uint32_t i = 0; i < session->n_cpus; i++)
        if (session->cpus[i].known) {
            proto_put_resume_cpu(&out, i, session->cpus[i].next_page);
            session->cpus[i].is_repeating = true;
        }
    session->resumes = true;
    session->is_rewound = false;
    guest_session_wait_for(session, GUEST_STARTING, now, ANSWER_MAX);
    return guest_session_put(session, &out, PROTO_RESUME);
}

static int set_up(struct guest_session *session, uint64_t now, struct error *error)
{
    const struct trace_config *config = session->config;
    struct proto_out out = guest_session_begin(session);
    struct proto_setup setup = {
        .buffer_kib = config->buffer_kib,
        .queue_kib = config->queue_kib,
        .keep_seconds = config->keep_seconds,
        .clock = proto_text(config->clock),
        .level = config->level,
        .wants = (uint8_t)(config->wants | PROTO_WANT_UNCHECKED),
        .n_events = config->n_events,
    };
    int r;

    /* An agent that does not know the one knows the other. */
    if (guest_session_holds(session))
        setup.wants |= PROTO_WANT_HOLD | PROTO_WANT_DELAY;
    proto_put_setup(&out, &setup);
    for (uint32_t i = 0; i < config->n_events; i++)
        proto_put_setup_event(&out,
                              &(struct proto_setup_event){proto_text(config->events[i].event),
                                                          proto_text(config->events[i].filter)});
    session->has_session = false;
    session->resumes = false;
    session->meta_total = 0;
    session->n_files = 0;
    session->page_size = 0;
    guest_session_wait_for(session, GUEST_SETUP, now, SETUP_MAX);
    session->ping_out = false;
    session->ping_next = now + NSEC_PER_SEC;
    r = guest_session_put(session, &out, PROTO_SETUP);
    return r < 0 ? error_set(error, r, NULL, "too many events and filters") : 0;
}

int guest_session_lose(struct guest_session *session, struct error *error)
{
    session->has_session = false;
    return kernel_sink_fact(
        session->sink, "loss",
        "the agent ended before it had sent the rest: what it had recorded last "
        "is lost",
        error);
}

int guest_session_go_on(struct guest_session *session, uint64_t now, struct error *error)
{
    if (session->has_session &&
        memcmp(session->session, session->agent_session, sizeof session->session) == 0)
        return resume(session, now);
    if (session->has_session) {
        int r = guest_session_lose(session, error);

        if (r < 0)
            return r;
    }
    if (session->stop_wanted)
        return guest_session_end(session, now, error);
    return set_up(session, now, error);
}

static int after_hello(struct guest_session *session, uint64_t now, struct error *error)
{
    uint8_t proof[SHA256_SIZE];
    struct proto_out out;

    if (!session->config->key)
        return guest_session_go_on(session, now, error);
    proto_host_proof(session->config->key, session->config->key_size, session->agent_nonce,
                     session->nonce, proof);
    out = guest_session_begin(session);
    proto_put(&out, proof, sizeof proof);
    guest_session_wait_for(session, GUEST_AUTH, now, ANSWER_MAX);
    return guest_session_put(session, &out, PROTO_AUTH);
}

/* The agent's boot ID has changed. The sink begins another trace; nothing of the boot before continues in it. */
static int handle_reboot(struct guest_session *session, struct error *error)
{
    int r = guest_session_end_dropped(session, error);

    if (r >= 0)
        r = guest_session_flush_pair(session, error);
    if (r >= 0 && !session->said_bye)
        r = kernel_sink_fact(session->sink, "loss",
                             "the guest rebooted before its agent had sent the rest: what it had "
                             "recorded last is lost",
                             error);
    if (r >= 0)
        r = kernel_sink_boot(session->sink, error);
    if (r < 0)
        return r;
    session->has_session = false;
    session->has_pages = false;
    session->first = session->last = session->guest_time = 0;
    for (uint32_t i = 0; i < session->n_cpus; i++)
        session->cpus[i].pages = session->cpus[i].bytes = 0;
    return 0;
}

int guest_session_on_hello(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error)
{
    struct proto_agent_hello hello;
    char boot_id[sizeof session->boot_id];
    int r = proto_get_agent_hello(frame, &hello);

    if (r < 0)
        return r;
    if (session->state != GUEST_HELLO ||
        memcmp(hello.answers, session->nonce, sizeof hello.answers) != 0)
        return 0; /* the answer to an earlier HELLO, or to another host */
    if (hello.version < PROTO_VERSION_LOWEST || hello.version > PROTO_VERSION)
        return error_set(error, -EPROTONOSUPPORT, NULL,
                         "the agent chose version %u of the protocol, which was not offered",
                         hello.version);
    guest_session_copy_text(boot_id, sizeof boot_id, &hello.boot_id);
    if (session->has_pages && strcmp(boot_id, session->boot_id) != 0) {
        r = handle_reboot(session, error);
        if (r < 0)
            return r;
    }
    memcpy(session->boot_id, boot_id, sizeof boot_id);
    memcpy(session->agent_nonce, hello.nonce, sizeof session->agent_nonce);
    memcpy(session->agent_session, hello.session, sizeof session->agent_session);
    session->version = hello.version;
    session->big_endian = hello.big_endian;
    session->long_size = hello.long_size;
    r = guest_session_put_fact(session, "agent", &hello.agent, error);
    if (r >= 0)
        r = guest_session_put_fact(session, "release", &hello.release, error);
    if (r >= 0)
        r = guest_session_put_fact(session, "machine", &hello.machine, error);
    if (r >= 0)
        r = guest_session_put_fact(session, "boot_id", &hello.boot_id, error);
    if (r < 0)
        return r;
    if (hello.needs_auth && !session->config->key)
        return error_set(error, -EACCES, NULL, "the agent requires a key; give its file by --key");
    return after_hello(session, now, error);
}

int guest_session_on_auth(struct guest_session *session, const struct proto_frame *frame,
                          uint64_t now, struct error *error)
{
    uint8_t expected[SHA256_SIZE], proof[SHA256_SIZE];
    int r = proto_get_auth(frame, proof);

    if (r < 0)
        return r;
    if (session->state != GUEST_AUTH)
        return 0;
    proto_agent_proof(session->config->key, session->config->key_size, session->agent_nonce,
                      session->nonce, expected);
    if (!sha256_equal(expected, proof))
        return error_set(
            error, -EACCES, NULL,
            "the agent does not know the key; give the agent and this host the same one");
    return guest_session_go_on(session, now, error);
}

int guest_session_on_ready(struct guest_session *session, const struct proto_frame *frame,
                           uint64_t now, struct error *error)
{
    struct proto_ready ready;
    char number[32];
    int r = proto_get_ready(frame, &ready);

    if (r < 0)
        return r;
    if (session->state != GUEST_SETUP || session->in_file)
        return -EBADMSG;
    session->page_size = ready.page_size;
    session->n_events = ready.n_events;
    if (session->hz != ready.hz)
        session->guest_time = 0; /* of another clock */
    session->hz = ready.hz;
    snprintf(number, sizeof number, "%llu", (unsigned long long)ready.hz);
    r = guest_session_put_fact(session, "clock", &ready.clock, error);
    if (r >= 0)
        r = kernel_sink_fact(session->sink, "hz", number, error);
    if (r < 0)
        return r;
    if (ready.n_events == 0)
        return error_set(error, -ENOENT, NULL, "the guest's kernel has none of these events");
    guest_session_forget_counts(session);
    session->relatable = true;
    session->same_clock = session->config->is_host && ready.clock.len == strlen("mono") &&
                          memcmp(ready.clock.p, "mono", ready.clock.len) == 0;
    guest_session_ping_some(session, GUEST_BEFORE, PINGS_BEFORE, now);
    return 0;
}
