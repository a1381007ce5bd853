/* SPDX-License-Identifier: MIT */
/* Handles each type of message from the host. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/session_send.h"

/* AUTHENTICATED: the host's other messages are accepted. */
static void set_authenticated(struct session *session, bool authenticated)
{
    session->hello_done = authenticated;
    atomic_store(&session->authenticated, authenticated ? session->connection : 0);
}

static int read_boot_id(char *ret_id, size_t size)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = tracefs_read(-1, "/proc/sys/kernel/random/boot_id", 256, &text, &len);

    if (r < 0)
        return r;
    text[strcspn(text, "\n")] = '\0';
    snprintf(ret_id, size, "%s", text);
    return 0;
}

/* Turns the text of trace_clock into a plain list: "local global x86-tsc". */
static void strip_brackets(char *text)
{
    char *to = text;

    for (const char *p = text; *p; p++)
        if (*p != '[' && *p != ']' && *p != '\n')
            *to++ = *p;
    *to = '\0';
}

static int greet(struct session *session)
{
    struct proto_agent_hello hello = {
        .version = session->version,
        .needs_auth = session->key != NULL,
        .agent = proto_text("strata-agent " STRATA_VERSION),
        .page_size = (uint32_t)sysconf(_SC_PAGESIZE),
        .long_size = sizeof(long),
        .big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    };
    _cleanup_free_ char *clocks = NULL;
    _cleanup_free_ uint32_t *online = NULL;
    char in_force[32] = "", boot_id[64] = "";
    struct guest_clock clock = {.dir = session->tracefs->fd};
    struct proto_out out = session_begin(session);
    struct cpu_set cpus = {0};
    struct utsname name;
    uint32_t n = 0;
    size_t len;

    if (uname(&name) < 0)
        memset(&name, 0, sizeof name);
    hello.release = proto_text(name.release);
    hello.machine = proto_text(name.machine);
    read_boot_id(boot_id, sizeof boot_id);
    hello.boot_id = proto_text(boot_id);
    memcpy(hello.answers, session->host_nonce, sizeof hello.answers);
    memcpy(hello.nonce, session->nonce, sizeof hello.nonce);
    memcpy(hello.session, session->id, sizeof hello.session);
    if (cpus_possible(&cpus) >= 0)
        hello.n_possible = cpu_set_count(&cpus);
    cpus_online(&cpus);
    online = calloc((size_t)cpu_set_count(&cpus) + 1, sizeof *online);
    if (!online)
        return -ENOMEM;
    for (uint32_t cpu = cpu_set_next(&cpus, 0); cpu < CPU_SET_MAX;
         cpu = cpu_set_next(&cpus, cpu + 1))
        online[n++] = cpu;
    if (tracefs_read(session->tracefs->fd, "trace_clock", 4096, &clocks, &len) >= 0) {
        guest_clock_in_force(clocks, in_force, sizeof in_force);
        /* The clock that pongs report until SETUP chooses one. */
        if (!tracer_is_set_up(&session->tracer) &&
            guest_clock_choose(clocks, "", clock.name, sizeof clock.name) >= 0)
            frame_tx_set_clock(session->tx, &clock);
        strip_brackets(clocks);
    }
    hello.clocks = proto_text(clocks ? clocks : "");
    hello.clock = proto_text(in_force);
    proto_put_agent_hello(&out, &hello, online, n);
    return session_send(session, &out, PROTO_HELLO);
}

/* Early in a boot the kernel has no random numbers yet: the host waits for them. */
void session_answer_hello(struct session *session)
{
    session->waits_for_random =
        session_random(session->nonce, sizeof session->nonce, session->key != NULL) < 0;
    if (session->waits_for_random) {
        if (!session->has_seeded) {
            agent_log(session->log, "waiting for the kernel's random numbers, to authenticate");
            session_seed();
        }
        session->has_seeded = true;
        return;
    }
    session->waits_for_auth = session->key != NULL;
    if (greet(session) >= 0 && !session->waits_for_auth)
        set_authenticated(session, true);
}

static void on_hello(struct session *session, const struct proto_frame *frame)
{
    struct proto_host_hello hello;

    session_set_flowing(session, false);
    session->waits_for_auth = session->waits_for_random = false;
    set_authenticated(session, false);
    if (proto_get_host_hello(frame, &hello) < 0)
        return;
    frame_tx_forget_pings(session->tx);
    if (hello.lowest > PROTO_VERSION || hello.highest < PROTO_VERSION_LOWEST) {
        session_send_failed(session, -EPROTONOSUPPORT,
                            "the host does not support this agent's protocol version",
                            "the agent supports versions 1 and 2; use a strata of the same age");
        return;
    }
    session->version = MIN(hello.highest, (uint16_t)PROTO_VERSION);
    memcpy(session->host_nonce, hello.nonce, sizeof session->host_nonce);
    session_answer_hello(session);
}

static void on_auth(struct session *session, const struct proto_frame *frame)
{
    uint8_t expected[SHA256_SIZE], proof[SHA256_SIZE];
    struct proto_out out = session_begin(session);

    if (proto_get_auth(frame, proof) < 0)
        return;
    if (!session->key) {
        session_send_failed(session, -EACCES, "this agent has no key",
                            "start the agent with --key=FILE, or leave out --key");
        return;
    }
    if (!session->waits_for_auth)
        return;
    session->waits_for_auth = false;
    proto_host_proof(session->key, session->key_size, session->nonce, session->host_nonce,
                     expected);
    if (!sha256_equal(expected, proof)) {
        session_send_failed(session, -EACCES, "the host does not know the key",
                            "give host and agent the same key file");
        session->drop_connection(session->userdata, session->connection);
        return;
    }
    proto_agent_proof(session->key, session->key_size, session->nonce, session->host_nonce, proof);
    proto_put(&out, proof, sizeof proof);
    if (session_send(session, &out, PROTO_AUTH) >= 0)
        set_authenticated(session, true);
}

static int put_ready(struct session *session)
{
    struct tracer *tracer = &session->tracer;
    unsigned n = atomic_load(&tracer->readers->n);
    _cleanup_free_ uint32_t *cpus = calloc((size_t)n + 1, sizeof *cpus);
    struct proto_ready ready = {
        .n_events = tracer->n_enabled,
        .clock = proto_text(tracer->clock.name),
        .hz = guest_clock_hz(&tracer->clock),
        .page_size = (uint32_t)tracer->readers->buffer.page.size,
    };
    struct proto_out out = session_begin(session);

    if (!cpus)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        cpus[i] = tracer->readers->list[i]->cpu;
    proto_put_ready(&out, &ready, cpus, n);
    return session_send(session, &out, PROTO_READY);
}

static void on_setup(struct session *session, const struct proto_frame *frame)
{
    struct proto_setup setup;
    struct error error = {0};
    const char *hint;
    int r;

    if (proto_get_setup(frame, &setup) < 0) {
        session_send_failed(session, -EBADMSG, "SETUP is not well formed", "");
        return;
    }
    session_clear(session);
    r = tracer_set_up(&session->tracer, setup, session->queue_bytes, session->pid, &error, &hint);
    if (r < 0) {
        char text[sizeof error.path + sizeof error.what + 64];

        error_print(&error, text, sizeof text);
        session_send_failed(session, r, text, hint);
        session_clear(session);
        return;
    }
    session->level = setup.level;
    session->wants = setup.wants;
    if (setup.wants & (PROTO_WANT_DELAY | PROTO_WANT_HOLD))
        session->tracer.readers->buffer.period_ms =
            setup.wants & PROTO_WANT_HOLD ? READER_HOLD_PERIOD_MS : READER_LONG_PERIOD_MS;
    atomic_store(&session->holds, setup.wants & PROTO_WANT_HOLD);
    session->keep_seconds = setup.keep_seconds;
    session->next_reader = 0;
    frame_tx_set_clock(session->tx, &session->tracer.clock);
    if (session_send_metadata(session, false) >= 0)
        (void)put_ready(session);
}

static void on_start(struct session *session)
{
    int r;

    if (!tracer_is_set_up(&session->tracer)) {
        session_send_failed(session, -EINVAL, "START without SETUP", "");
        return;
    }
    r = tracer_start(&session->tracer);
    if (r < 0) {
        session_send_failed(session, r, "cannot switch the tracing on", "");
        return;
    }
    notify_tracing(session->notify);
    if (session_send_time(session, PROTO_STARTED) >= 0)
        session_set_flowing(session, true);
}

static void on_resume(struct session *session, const struct proto_frame *frame)
{
    struct readers *readers = session->tracer.readers;
    struct proto_resume resume;

    if (proto_get_resume(frame, &resume) < 0)
        return;
    if (!tracer_is_set_up(&session->tracer) ||
        memcmp(resume.session, session->id, sizeof resume.session) != 0) {
        session_send_failed(session, -ESTALE, "the session to resume has ended",
                            "begin a new one with SETUP");
        return;
    }
    for (uint32_t i = 0; i < resume.n_cpus; i++) {
        uint32_t cpu;
        uint64_t next;

        proto_resume_at(&resume, i, &cpu, &next);
        for (unsigned j = 0; j < atomic_load(&readers->n); j++)
            if (readers->list[j]->cpu == cpu && next > atomic_load(&readers->list[j]->queue.tail)) {
                session_send_failed(session, -ESTALE, "the session to resume is a different one",
                                    "begin a new one with SETUP");
                return;
            }
    }
    if (session_send_time(session, PROTO_STARTED) >= 0)
        session_set_flowing(session, true);
}

/* Sends everything that was recorded before STOPPED. */
static void on_stop(struct session *session)
{
    int r;

    if (!tracer_is_set_up(&session->tracer)) {
        session_send_failed(session, -EINVAL, "STOP without SETUP", "");
        return;
    }
    r = tracer_stop(&session->tracer);
    if (r < 0) {
        session_send_failed(session, r, "cannot switch the tracing off", "");
        return;
    }
    for (;;) {
        bool stopped = readers_are_stopped(session->tracer.readers);

        r = session_send_pages(session);
        if (r < 0 || rx_queue_has_hello(session->rx_queue) || atomic_load(&session->ending))
            return;
        if (r == 0 && stopped)
            break;
        if (r == 0)
            session_wait(session, WAIT_DRAINED, 1000);
    }
    r = session_send_metadata(session, true);
    if (r >= 0)
        r = session_send_status(session);
    if (r >= 0)
        (void)session_send_time(session, PROTO_STOPPED);
    session_set_flowing(session, false);
}

/* What a reader holds is in its queue then, and sent with what was queued before. Pages that are read after that are
 * not waited for, so that it ends however much is recorded meanwhile. */
static void on_flush(struct session *session, const struct proto_frame *frame)
{
    struct proto_flushed flushed = {.time = frame_tx_now(session->tx)};
    bool traces = session->flowing && tracer_is_set_up(&session->tracer);
    struct proto_out out;
    int r = 0;

    if (proto_get_flush(frame, &flushed.token) < 0) {
        session_send_failed(session, -EBADMSG, "FLUSH is not well formed", "");
        return;
    }
    if (traces)
        tracer_flush(&session->tracer);
    while (traces && !readers_are_flushed(session->tracer.readers)) {
        r = session_send_pages(session);
        if (r < 0 || rx_queue_has_hello(session->rx_queue) || atomic_load(&session->ending))
            return;
        if (r == 0)
            session_wait(session, WAIT_FLUSHED, 1000);
    }
    if (traces && session->wants & PROTO_WANT_CMDLINES)
        r = session_send_cmdlines(session);
    if (traces && r >= 0)
        r = session_send_disturbed(session);
    if (traces && r >= 0)
        r = session_send_status(session);
    if (r < 0)
        return;
    out = session_begin(session);
    proto_put_flushed(&out, &flushed);
    (void)session_send(session, &out, PROTO_FLUSHED);
}

void session_handle(struct session *session, const struct rx_message *message)
{
    const struct proto_frame *frame = &message->frame;

    if (frame->flags) {
        session_send_failed(session, -EPROTO, "the agent does not accept compressed frames", "");
        return;
    }
    if (frame->type == PROTO_HELLO) {
        on_hello(session, frame);
        return;
    }
    if (frame->type == PROTO_AUTH) {
        on_auth(session, frame);
        return;
    }
    if (!session->hello_done)
        return; /* of an earlier conversation, or from a host that has not authenticated */
    switch (frame->type) {
    case PROTO_SETUP: on_setup(session, frame); break;
    case PROTO_START: on_start(session); break;
    case PROTO_STOP: on_stop(session); break;
    case PROTO_RESUME: on_resume(session, frame); break;
    case PROTO_FLUSH: on_flush(session, frame); break;
    case PROTO_ASK_STATUS: (void)session_send_status(session); break;
    case PROTO_BYE:
        session_discard(session);
        (void)session_send_empty(session, PROTO_BYE);
        set_authenticated(session, false);
        break;
    default: session_send_failed(session, -EPROTO, "the agent does not know this message", "");
    }
}
