/* SPDX-License-Identifier: MIT */
#include "guests/guest_session.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/macro.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* The longest that an agent is believed to be busy without a word. */
#define SILENCE_MAX (10 * SECOND)
/* … and to take for what was asked, however much it says meanwhile. */
#define ANSWER_MAX (10 * SECOND)
#define SETUP_MAX (120 * SECOND)
#define BYE_MAX (2 * SECOND)
#define STOP_MAX (60 * SECOND)
/* HELLO is said again, to an agent that was not there yet, at growing distances. */
#define HELLO_EVERY (SECOND / 2)
#define HELLO_DOUBLED 4

#define PINGS_BEFORE 16
#define PINGS_AFTER 16
#define PINGS_TIME (SECOND / 2) /* … but no longer than this, once one came back */
#define PING_EVERY (50 * MS)
#define PING_LOST (2 * SECOND)
/* Of the exchanges in so much time the fastest is kept. */
#define PAIR_EVERY SECOND
/* They go on, close behind each other, until one is this fast, up to a number. The first finds the guest's CPU
 * asleep, and waking it is what takes longest; those right behind it find it awake. On a busy machine few are fast,
 * and each takes a guest under emulation most of a millisecond. */
#define PAIR_GOOD 90000 /* ns that it may be wrong by */
#define PING_SOON (MS / 5)
#define PINGS_MOST 8
#define PINGS_MOST_AT_REST 48 /* before and behind */

#define FILES_MAX 65536
#define DAMAGES_MAX 16u
#define OUT_SIZE ((size_t)LINK_HEADER_SIZE + LINK_HOST_BODY_MAX)

int guest_session_init(struct guest_session *session, const struct guest_wishes *wishes,
                       const struct guest_ops *ops, void *owner)
{
    struct guest_session made = {.wishes = wishes, .ops = ops, .owner = owner};

    made.zstd = ZSTD_createDCtx();
    made.unpacked = malloc(LINK_BODY_MAX);
    made.scratch = malloc(LINK_BODY_MAX);
    made.out = malloc(OUT_SIZE);
    made.cpus = calloc(LINK_CPUS_MAX, sizeof *made.cpus);
    if (!made.zstd || !made.unpacked || !made.scratch || !made.out || !made.cpus ||
        link_reader_init(&made.reader, LINK_WIRE_MAX) < 0) {
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
    link_reader_done(&session->reader);
    *session = (struct guest_session){0};
}

/* Sending. What is asked for never piles up (one ping at a time, one request per state), so that the
 * buffer is too small only for an agent that reads nothing: then it is apart soon. */

static struct link_out begin(struct guest_session *session)
{
    if (session->out_sent > 0) {
        memmove(session->out, session->out + session->out_sent,
                session->out_filled - session->out_sent);
        session->out_filled -= session->out_sent;
        session->out_sent = 0;
    }
    return link_begin(session->out + session->out_filled, OUT_SIZE - session->out_filled);
}

static int send_it(struct guest_session *session, struct link_out *out, enum link_type type)
{
    int r = link_end(out, type, session->sequence);

    if (r < 0)
        return r;
    session->sequence++;
    session->out_filled += out->len;
    return 0;
}

static bool has_room(const struct guest_session *session)
{
    return session->out_filled - session->out_sent + 4096 < OUT_SIZE;
}

static int say(struct guest_session *session, enum link_type type)
{
    struct link_out out;

    if (!has_room(session))
        return -ECONNRESET;
    out = begin(session);
    return send_it(session, &out, type);
}

void guest_session_sent(struct guest_session *session, size_t size)
{
    session->out_sent += size;
}

static void wait_for(struct guest_session *session, enum guest_state state, uint64_t now,
                     uint64_t longest)
{
    session->state = state;
    session->deadline = now + longest;
    session->heard = now;
}

static void say_hello(struct guest_session *session, uint64_t now)
{
    struct link_host_hello hello = {.lowest = LINK_VERSION, .highest = LINK_VERSION};
    struct link_out out;

    session->hello_next = now + (HELLO_EVERY << MIN(session->hellos, (unsigned)HELLO_DOUBLED));
    /* Nobody listens: saying it again would only pile up. */
    if (session->out_filled > session->out_sent)
        return;
    /* Each has a nonce of its own, so that what is said next is known to come behind the last. */
    store_le32(session->nonce, load_le32(session->nonce) + 1);
    memcpy(hello.nonce, session->nonce, sizeof hello.nonce);
    out = begin(session);
    link_put_host_hello(&out, &hello);
    (void)send_it(session, &out, LINK_HELLO);
    session->hellos++;
}

void guest_session_connected(struct guest_session *session, const uint8_t nonce[LINK_NONCE_SIZE],
                             uint64_t now)
{
    guest_session_apart(session);
    memcpy(session->nonce, nonce, LINK_NONCE_SIZE);
    wait_for(session, GUEST_HELLO, now, UINT64_MAX / 2);
    say_hello(session, now);
}

void guest_session_apart(struct guest_session *session)
{
    session->state = session->state >= GUEST_BYE ? GUEST_OVER : GUEST_APART;
    session->out_sent = session->out_filled = 0;
    session->sequence = 0;
    session->hellos = 0;
    session->ping_out = false;
    session->in_file = session->doubtful = false;
    session->skipped_seen = 0;
    session->skipped += session->reader.skipped;
    link_reader_reset(&session->reader);
}

/* Pings. */

static void ping(struct guest_session *session, uint64_t now)
{
    bool sets_up = session->state == GUEST_SETUP;
    struct link_out out;

    session->ping_next = now + (sets_up ? SECOND : PING_EVERY);
    if ((!session->relatable && !sets_up) || !has_room(session))
        return;
    if (session->ping_out && now - session->ping_sent < PING_LOST)
        return;
    out = begin(session);
    session->ping_out = true;
    session->ping_sent = now;
    link_put_ping(&out, &(struct link_ping){++session->token, now});
    (void)send_it(session, &out, LINK_PING);
}

static void flush_pair(struct guest_session *session)
{
    if (session->has_best)
        session->ops->pair(session->owner, &session->best);
    session->has_best = false;
}

static void keep_fastest(struct guest_session *session, const struct guest_pair *pair, uint64_t now)
{
    if (session->has_best && now - session->best_since >= PAIR_EVERY)
        flush_pair(session);
    if (!session->has_best) {
        session->best_since = now;
        session->pings = 0;
        session->best = *pair;
        session->has_best = true;
    } else if (pair->error_ns < session->best.error_ns) {
        session->best = *pair;
    }
}

/* What the guest's clock showed while it held the ping lies between sending and receiving, whatever way
 * the time was lost on: the middle of both is wrong by half the round trip at most. */
static int on_pong(struct guest_session *session, const struct link_frame *frame, uint64_t now)
{
    struct link_pong pong;
    int r = link_get_pong(frame, &pong);
    bool good;

    if (r < 0)
        return r;
    if (!session->ping_out || pong.ping.token != session->token ||
        pong.ping.host_time != session->ping_sent)
        return 0; /* one that was given up */
    session->ping_out = false;
    if (session->state == GUEST_SETUP)
        return 0; /* it is there; which clock it is going to have is not decided yet */
    if (pong.came == 0 || pong.sent < pong.came) {
        session->relatable = false;
    } else {
        struct guest_pair pair = {
            .host_ns = session->ping_sent + (now - session->ping_sent) / 2,
            .guest = pong.came + (pong.sent - pong.came) / 2,
            .error_ns = (now - session->ping_sent + 1) / 2,
        };

        keep_fastest(session, &pair, now);
    }
    session->pings++;
    good = !session->has_best || session->best.error_ns <= PAIR_GOOD;
    session->ping_next =
        good || session->pings >= PINGS_MOST ? session->best_since + PAIR_EVERY : now + PING_SOON;
    if (session->pings_left == 0)
        return 0;
    session->pings_left--;
    if (session->pings_left == 0 && !good && session->pings < PINGS_MOST_AT_REST)
        session->pings_left = 1;
    if (session->pings_left > 0)
        ping(session, now);
    return 0;
}

static void ping_some(struct guest_session *session, enum guest_state state, unsigned n,
                      uint64_t now)
{
    wait_for(session, state, now, PINGS_TIME);
    session->ping_out = false;
    session->pings_left = n;
    ping(session, now);
}

/* Steps. */

static int resume(struct guest_session *session, uint64_t now)
{
    struct link_resume resume = {0};
    struct link_out out = begin(session);

    memcpy(resume.session, session->session, sizeof resume.session);
    for (uint32_t i = 0; i < session->n_cpus; i++)
        resume.n_cpus += session->cpus[i].known;
    link_put_resume(&out, &resume);
    for (uint32_t i = 0; i < session->n_cpus; i++)
        if (session->cpus[i].known)
            link_put_resume_cpu(&out, i, session->cpus[i].next_page);
    session->resumes = true;
    wait_for(session, GUEST_STARTING, now, ANSWER_MAX);
    return send_it(session, &out, LINK_RESUME);
}

static int set_up(struct guest_session *session, uint64_t now, struct fault *fault)
{
    const struct guest_wishes *wishes = session->wishes;
    struct link_out out = begin(session);
    struct link_setup setup = {
        .buffer_kib = wishes->buffer_kib,
        .queue_kib = wishes->queue_kib,
        .keep_seconds = wishes->keep_seconds,
        .clock = link_text(wishes->clock),
        .level = wishes->level,
        .wants = (uint8_t)(wishes->wants | LINK_WANT_UNCHECKED),
        .n_events = wishes->n_events,
    };
    int r;

    link_put_setup(&out, &setup);
    for (uint32_t i = 0; i < wishes->n_events; i++)
        link_put_setup_event(&out, &(struct link_setup_event){link_text(wishes->events[i].event),
                                                              link_text(wishes->events[i].filter)});
    session->has_session = false;
    session->resumes = false;
    session->meta_total = 0;
    session->n_files = 0;
    session->page_size = 0;
    wait_for(session, GUEST_SETUP, now, SETUP_MAX);
    session->ping_out = false;
    session->ping_next = now + SECOND;
    r = send_it(session, &out, LINK_SETUP);
    return r < 0 ? fault_plain(fault, r, NULL, "too many events and filters to ask for") : 0;
}

/* The agent answers when it has left tracefs as it was; one that does not is not waited for long. */
static int over(struct guest_session *session, uint64_t now)
{
    flush_pair(session);
    session->has_session = false;
    wait_for(session, GUEST_BYE, now, BYE_MAX);
    return say(session, LINK_BYE);
}

/* The agent is who it should be. */
static int go_on(struct guest_session *session, uint64_t now, struct fault *fault)
{
    if (session->has_session &&
        memcmp(session->session, session->agent_session, sizeof session->session) == 0)
        return resume(session, now);
    if (session->stop_wanted)
        return over(session, now);
    return set_up(session, now, fault);
}

static void copy_text(char *buf, size_t size, const struct link_text *text)
{
    size_t n = MIN(size - 1, (size_t)text->len);

    if (n > 0)
        memcpy(buf, text->p, n);
    buf[n] = '\0';
}

static void tell(struct guest_session *session, const char *name, const struct link_text *text)
{
    char value[256];

    copy_text(value, sizeof value, text);
    session->ops->fact(session->owner, name, value);
}

static int after_hello(struct guest_session *session, uint64_t now, struct fault *fault)
{
    uint8_t proof[SHA256_SIZE];
    struct link_out out;

    if (!session->wishes->key)
        return go_on(session, now, fault);
    link_host_proof(session->wishes->key, session->wishes->key_size, session->agent_nonce,
                    session->nonce, proof);
    out = begin(session);
    link_put(&out, proof, sizeof proof);
    wait_for(session, GUEST_AUTH, now, ANSWER_MAX);
    return send_it(session, &out, LINK_AUTH);
}

static int on_hello(struct guest_session *session, const struct link_frame *frame, uint64_t now,
                    struct fault *fault)
{
    struct link_agent_hello hello;
    char boot_id[sizeof session->boot_id];
    int r = link_get_agent_hello(frame, &hello);

    if (r < 0)
        return r;
    if (session->state != GUEST_HELLO ||
        memcmp(hello.answers, session->nonce, sizeof hello.answers) != 0)
        return 0; /* to a HELLO that was said again since, or by another host */
    if (hello.version != LINK_VERSION)
        return fault_plain(fault, -EPROTONOSUPPORT, NULL,
                           "the agent chose version %u of the protocol, which was not offered",
                           hello.version);
    copy_text(boot_id, sizeof boot_id, &hello.boot_id);
    if (session->parted && strcmp(boot_id, session->boot_id) != 0) {
        flush_pair(session);
        r = session->ops->part(session->owner, fault);
        if (r < 0)
            return r;
        session->has_session = false;
        session->parted = false;
        for (uint32_t i = 0; i < session->n_cpus; i++)
            session->cpus[i].pages = 0;
    }
    memcpy(session->boot_id, boot_id, sizeof boot_id);
    memcpy(session->agent_nonce, hello.nonce, sizeof session->agent_nonce);
    memcpy(session->agent_session, hello.session, sizeof session->agent_session);
    session->big_endian = hello.big_endian;
    session->long_size = hello.long_size;
    tell(session, "agent", &hello.agent);
    tell(session, "release", &hello.release);
    tell(session, "machine", &hello.machine);
    tell(session, "boot_id", &hello.boot_id);
    if (hello.needs_auth && !session->wishes->key)
        return fault_plain(fault, -EACCES, NULL,
                           "the agent wants a key; give the file that holds it by --key");
    return after_hello(session, now, fault);
}

static int on_auth(struct guest_session *session, const struct link_frame *frame, uint64_t now,
                   struct fault *fault)
{
    uint8_t expected[SHA256_SIZE], proof[SHA256_SIZE];
    int r = link_get_auth(frame, proof);

    if (r < 0)
        return r;
    if (session->state != GUEST_AUTH)
        return 0;
    link_agent_proof(session->wishes->key, session->wishes->key_size, session->agent_nonce,
                     session->nonce, expected);
    if (!sha256_equal(expected, proof))
        return fault_plain(fault, -EACCES, NULL,
                           "who answers does not know the key: it is not the agent that is meant");
    return go_on(session, now, fault);
}

static int file_begin(struct guest_session *session, const struct link_meta_piece *meta,
                      struct fault *fault)
{
    copy_text(session->file_path, sizeof session->file_path, &meta->path);
    session->in_file = true;
    session->file_kind = meta->kind;
    session->file_size = 0;
    session->fact_len = 0;
    /* Those that come again while it traces take the place of what was there, which the store sees to. */
    if (session->state == GUEST_SETUP && ++session->n_files > FILES_MAX)
        return fault_plain(fault, -E2BIG, NULL, "it sends more than %u files", FILES_MAX);
    if (meta->kind == LINK_META_FILE)
        return session->ops->file_begin(session->owner, session->file_path, fault);
    if (meta->kind == LINK_META_KALLSYMS)
        return session->ops->file_begin(session->owner, "kallsyms", fault);
    return 0;
}

static int on_meta(struct guest_session *session, const struct link_frame *frame,
                   struct fault *fault)
{
    struct link_meta_piece meta;
    int r = link_get_meta(frame, &meta);

    if (r < 0)
        return r;
    if (session->state != GUEST_SETUP && session->state != GUEST_RUNNING &&
        session->state != GUEST_STOPPING)
        return -EBADMSG;
    if (meta.path.len >= sizeof session->file_path)
        return -EBADMSG;
    if (session->doubtful) {
        session->doubtful = !meta.last;
        return 0;
    }
    if (!session->in_file) {
        r = file_begin(session, &meta, fault);
        if (r < 0)
            return r;
    } else if (meta.kind != session->file_kind || !link_text_is(&meta.path, session->file_path)) {
        return fault_plain(fault, -EBADMSG, NULL, "it begins a file before another has ended");
    }
    session->file_size += meta.size;
    session->meta_total += session->state == GUEST_SETUP ? meta.size : 0;
    if (session->file_size > LINK_META_FILE_MAX || session->meta_total > LINK_META_MAX)
        return fault_plain(fault, -E2BIG, NULL, "it sends files of more than %u MiB (%u in all)",
                           LINK_META_FILE_MAX >> 20, LINK_META_MAX >> 20);
    if (meta.kind == LINK_META_FACT) {
        size_t n = MIN(meta.size, sizeof session->fact - 1 - session->fact_len);

        memcpy(session->fact + session->fact_len, meta.p, n);
        session->fact_len += n;
    } else if (meta.size > 0) {
        r = session->ops->file_put(session->owner, meta.p, meta.size, fault);
    }
    if (r < 0 || !meta.last)
        return r;
    session->in_file = false;
    if (meta.kind != LINK_META_FACT)
        return session->ops->file_end(session->owner, fault);
    session->fact[session->fact_len] = '\0';
    session->ops->fact(session->owner, session->file_path, session->fact);
    return 0;
}

/* An agent that has begun anew counts its pages and the kernel its losses from 0. */
static void forget_counts(struct guest_session *session)
{
    for (uint32_t i = 0; i < session->n_cpus; i++) {
        struct guest_cpu *cpu = &session->cpus[i];

        cpu->lost_before += cpu->status.overrun + cpu->status.dropped + cpu->status.commit_overrun;
        cpu->status = (struct link_status_cpu){0};
        cpu->next_page = 0;
        cpu->known = false;
        cpu->torn = cpu->pages > 0;
    }
}

static int on_ready(struct guest_session *session, const struct link_frame *frame, uint64_t now,
                    struct fault *fault)
{
    struct link_ready ready;
    char number[32];
    int r = link_get_ready(frame, &ready);

    if (r < 0)
        return r;
    if (session->state != GUEST_SETUP || session->in_file)
        return -EBADMSG;
    session->page_size = ready.page_size;
    session->n_events = ready.n_events;
    tell(session, "clock", &ready.clock);
    snprintf(number, sizeof number, "%llu", (unsigned long long)ready.hz);
    session->ops->fact(session->owner, "hz", number);
    if (ready.n_events == 0)
        return fault_plain(fault, -ENOENT, NULL, "its kernel has none of the events asked for");
    forget_counts(session);
    session->relatable = true;
    ping_some(session, GUEST_BEFORE, PINGS_BEFORE, now);
    return 0;
}

static int start(struct guest_session *session, uint64_t now)
{
    session->pings_left = 0;
    flush_pair(session); /* one before at least, and one behind: two tell a rate */
    wait_for(session, GUEST_STARTING, now, ANSWER_MAX);
    session->start_said = now;
    return say(session, LINK_START);
}

static int on_started(struct guest_session *session, const struct link_frame *frame, uint64_t now)
{
    uint64_t time;
    int r = link_get_time(frame, &time);

    if (r < 0)
        return r;
    if (session->state != GUEST_STARTING)
        return -EBADMSG;
    session->has_session = true;
    session->said_bye = false;
    session->parted = true;
    memcpy(session->session, session->agent_session, sizeof session->session);
    wait_for(session, GUEST_RUNNING, now, UINT64_MAX / 2);
    if (session->started_at == 0)
        session->started_at = now;
    session->ping_out = false;
    session->ping_next = now;
    return 0;
}

static int on_data(struct guest_session *session, const struct link_frame *frame,
                   struct fault *fault)
{
    struct link_data data;
    struct guest_cpu *cpu;
    uint64_t old;
    bool missed;
    int r = link_get_data(frame, &data);

    if (r < 0)
        return r;
    /* Behind RESUME pages may be on their way before its answer. */
    if ((session->state != GUEST_RUNNING && session->state != GUEST_STOPPING &&
         session->state != GUEST_STARTING) ||
        session->page_size == 0)
        return -EBADMSG;
    if (data.size / data.n_pages != session->page_size)
        return fault_plain(fault, -EBADMSG, NULL, "it sends pages of %zu bytes, not of %u",
                           data.size / data.n_pages, session->page_size);
    cpu = &session->cpus[data.cpu];
    session->n_cpus = MAX(session->n_cpus, data.cpu + 1);
    cpu->known = true;
    old = data.first < cpu->next_page ? MIN(cpu->next_page - data.first, data.n_pages) : 0;
    if (old == data.n_pages)
        return 0; /* they came before the connection was lost */
    missed = data.first > cpu->next_page || cpu->torn;
    if (data.first > cpu->next_page)
        cpu->gaps += data.first - cpu->next_page;
    cpu->torn = false;
    cpu->next_page = data.first + data.n_pages;
    data.pages += old * session->page_size;
    data.size -= old * session->page_size;
    if (session->full)
        return 0;
    if (session->wishes->max_size && data.size > session->wishes->max_size - session->bytes) {
        session->full = true;
        session->stop_wanted = true;
        return 0;
    }
    session->bytes += data.size;
    cpu->pages += data.size / session->page_size;
    return session->ops->pages(session->owner, data.cpu, data.pages, data.size, session->page_size,
                               missed, fault);
}

static int on_status(struct guest_session *session, const struct link_frame *frame)
{
    struct link_status status;
    int r = link_get_status(frame, &status);

    for (uint32_t i = 0; r == 0 && i < status.n_cpus; i++) {
        struct link_status_cpu cpu = link_status_at(&status, i);

        session->n_cpus = MAX(session->n_cpus, cpu.cpu + 1);
        session->cpus[cpu.cpu].known = true;
        session->cpus[cpu.cpu].status = cpu;
    }
    return r;
}

/* All that the agent had came, or never will. */
static void end_pages(struct guest_session *session)
{
    flush_pair(session);
    session->has_session = false;
    /* Pages that the agent sent and that never came, at the very end. */
    for (uint32_t i = 0; i < session->n_cpus; i++) {
        struct guest_cpu *cpu = &session->cpus[i];

        if (cpu->status.pages_sent > cpu->next_page) {
            cpu->gaps += cpu->status.pages_sent - cpu->next_page;
            cpu->next_page = cpu->status.pages_sent;
        }
    }
}

static int on_stopped(struct guest_session *session, const struct link_frame *frame, uint64_t now)
{
    uint64_t time;
    int r = link_get_time(frame, &time);

    if (r < 0)
        return r;
    if (session->state != GUEST_STOPPING || session->in_file)
        return -EBADMSG;
    session->stopped_at = now;
    end_pages(session);
    ping_some(session, GUEST_AFTER, PINGS_AFTER, now);
    return 0;
}

static int on_bye(struct guest_session *session)
{
    /* The agent ends before it was asked to, as when its guest shuts down: it sends what is left, then this.
     * Another one may come. */
    if (session->state == GUEST_RUNNING && session->has_session) {
        end_pages(session);
        session->said_bye = true;
    }
    if (session->state != GUEST_BYE)
        return -ECONNRESET;
    session->state = GUEST_OVER;
    return 0;
}

static int on_failed(struct guest_session *session, const struct link_frame *frame, uint64_t now,
                     struct fault *fault)
{
    struct link_failed failed;
    int r = link_get_failed(frame, &failed);
    char what[256], hint[128];

    if (r < 0)
        return r;
    if (session->state == GUEST_STARTING && session->resumes) {
        /* It gave the session up meanwhile. */
        session->has_session = false;
        return go_on(session, now, fault);
    }
    copy_text(what, sizeof what, &failed.what);
    copy_text(hint, sizeof hint, &failed.hint);
    /* Its number is not ours: some of ours say what is to be done next. */
    return fault_plain(fault, -EREMOTEIO, NULL, "the agent: %s%s%s", what, *hint ? "; " : "", hint);
}

static int on_frame(struct guest_session *session, const struct link_frame *frame, uint64_t now,
                    struct fault *fault)
{
    /* What it was about to say when it was told that all is over. */
    if (session->state == GUEST_BYE && frame->type != LINK_BYE)
        return 0;
    switch (frame->type) {
    case LINK_HELLO: return on_hello(session, frame, now, fault);
    case LINK_AUTH: return on_auth(session, frame, now, fault);
    case LINK_META: return on_meta(session, frame, fault);
    case LINK_READY: return on_ready(session, frame, now, fault);
    case LINK_STARTED: return on_started(session, frame, now);
    case LINK_STOPPED: return on_stopped(session, frame, now);
    case LINK_DATA: return on_data(session, frame, fault);
    case LINK_STATUS: return on_status(session, frame);
    case LINK_PONG: return on_pong(session, frame, now);
    case LINK_FAILED: return on_failed(session, frame, now, fault);
    case LINK_BYE: return on_bye(session);
    default: return -EBADMSG;
    }
}

/* Makes FRAME what it was before it was compressed. */
static int unpack(struct guest_session *session, struct link_frame *frame)
{
    size_t n;

    if (!(frame->flags & LINK_ZSTD))
        return 0;
    n = ZSTD_decompressDCtx(session->zstd, session->unpacked, frame->unpacked, frame->body,
                            frame->size);
    if (ZSTD_isError(n) || n != frame->unpacked)
        return -EBADMSG;
    frame->body = session->unpacked;
    frame->size = frame->unpacked;
    return 0;
}

/* What the frames before HELLO's answer are is not known: the rest of another session's. */
static bool is_from_before(const struct guest_session *session, const struct link_frame *frame)
{
    return session->state == GUEST_HELLO && frame->type != LINK_HELLO && frame->type != LINK_FAILED;
}

/* Something was damaged on the way. While pages flow, what is missing shows by their numbers, and the
 * session goes on; what was asked for and its answer may be lost at any other time. */
static int on_damage(struct guest_session *session, struct fault *fault)
{
    session->skipped_seen = session->reader.skipped;
    if (session->state == GUEST_HELLO)
        return 0; /* the rest of what was said to another host */
    if (++session->damages > DAMAGES_MAX)
        return fault_plain(fault, -EBADMSG, NULL, "what it sends was damaged on the way %u times",
                           DAMAGES_MAX);
    if ((session->state == GUEST_RUNNING || session->state == GUEST_STOPPING) &&
        !session->in_file) {
        session->doubtful = true;
        return 0;
    }
    return -ESTALE;
}

int guest_session_received(struct guest_session *session, size_t size, uint64_t now,
                           struct fault *fault)
{
    struct link_frame frame;
    int r = 0;

    link_reader_filled(&session->reader, size);
    if (session->state == GUEST_APART || session->state == GUEST_OVER)
        return 0;
    while (r == 0 && session->state != GUEST_OVER) {
        int next = link_reader_next(&session->reader, &frame);

        if (session->reader.skipped > session->skipped_seen)
            r = on_damage(session, fault);
        if (r < 0 || next == 0)
            break;
        session->heard = now;
        if (is_from_before(session, &frame))
            continue;
        r = frame.flags & LINK_UNCHECKED && frame.type != LINK_DATA ? -EBADMSG
                                                                    : unpack(session, &frame);
        if (r == 0)
            r = on_frame(session, &frame, now, fault);
        if (r == -EBADMSG) {
            const char *name = link_type_name(frame.type);

            return fault_plain(fault, r, NULL,
                               "it does not keep to the protocol: %s (type %u) of %u bytes",
                               name ? name : "a message", frame.type, frame.size);
        }
    }
    return r;
}

static int too_late(struct guest_session *session, struct fault *fault)
{
    switch (session->state) {
    case GUEST_SETUP:
        return fault_plain(fault, -ETIMEDOUT, NULL,
                           "the agent did not set up the tracing in %u seconds",
                           (unsigned)(SETUP_MAX / SECOND));
    case GUEST_STOPPING:
        return fault_plain(fault, -ETIMEDOUT, NULL,
                           "the agent did not come to an end in %u seconds",
                           (unsigned)((session->deadline - session->stop_said) / SECOND));
    case GUEST_BYE: session->state = GUEST_OVER; return 0;
    default: return -ECONNRESET;
    }
}

static int stop(struct guest_session *session, uint64_t now)
{
    /* What it may not send any more need not be waited for. */
    wait_for(session, GUEST_STOPPING, now, session->full ? ANSWER_MAX : STOP_MAX);
    session->stop_said = now;
    return say(session, LINK_STOP);
}

static int step(struct guest_session *session, uint64_t now, struct fault *fault)
{
    switch (session->state) {
    case GUEST_OVER: return 0;
    case GUEST_APART:
        if (session->stop_wanted && !session->has_session)
            session->state = GUEST_OVER;
        return 0;
    case GUEST_HELLO:
        /* Nobody is there, so nobody cleans up. */
        if (session->stop_wanted && !session->has_session) {
            session->state = GUEST_OVER;
            return 0;
        }
        if (now >= session->hello_next)
            say_hello(session, now);
        return 0;
    case GUEST_AUTH:
    case GUEST_SETUP:
        if (session->stop_wanted && !session->has_session)
            return over(session, now);
        break;
    case GUEST_BEFORE:
        if (session->pings_left == 0 || !session->relatable || now >= session->deadline)
            return start(session, now);
        return 0;
    case GUEST_AFTER:
        if (session->pings_left == 0 || !session->relatable || now >= session->deadline)
            return over(session, now);
        return 0;
    case GUEST_RUNNING:
        if (session->stop_wanted)
            return stop(session, now);
        break;
    default: break;
    }
    if (now >= session->deadline)
        return too_late(session, fault);
    if (now - session->heard >= SILENCE_MAX)
        return -ECONNRESET;
    /* To switch events on takes the kernel's time, on a busy machine more than is silence: without a sign of life the
     * connection would be made anew, and the agent begin anew, for ever. */
    if ((session->state == GUEST_RUNNING || session->state == GUEST_SETUP) &&
        now >= session->ping_next)
        ping(session, now);
    return 0;
}

int guest_session_tick(struct guest_session *session, uint64_t now, uint64_t *ret_next,
                       struct fault *fault)
{
    uint64_t next;
    int r = step(session, now, fault);

    if (r < 0)
        return r;
    next = MIN(session->deadline, session->heard + SILENCE_MAX);
    if (session->state == GUEST_HELLO)
        next = session->hello_next;
    else if (session->state == GUEST_BEFORE || session->state == GUEST_AFTER)
        next = session->deadline;
    else if (session->state == GUEST_RUNNING || session->state == GUEST_SETUP)
        next = MIN(next, session->ping_next);
    else if (session->state == GUEST_APART || session->state == GUEST_OVER)
        next = UINT64_MAX;
    *ret_next = next;
    return 0;
}

void guest_session_stop(struct guest_session *session)
{
    session->stop_wanted = true;
}

void guest_session_give_up(struct guest_session *session)
{
    if (session->state >= GUEST_SETUP && session->state < GUEST_BYE)
        (void)say(session, LINK_BYE);
}

void guest_page_mark_missed(uint8_t *page, bool big_endian, uint8_t long_size)
{
    /* Bit 31 of the low half of `commit`, which is behind the u64 time; and not bit 30, by which the kernel
     * says that it counted them: it did not count these. */
    uint8_t *top = page + (!big_endian ? 11 : long_size == 8 ? 12 : 8);

    *top = (uint8_t)((*top | 0x80) & ~0x40);
}

uint64_t guest_session_lost(const struct guest_session *session)
{
    uint64_t lost = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++) {
        const struct guest_cpu *cpu = &session->cpus[i];

        lost += cpu->lost_before + cpu->status.overrun + cpu->status.dropped +
                cpu->status.commit_overrun;
    }
    return lost;
}

uint64_t guest_session_gaps(const struct guest_session *session)
{
    uint64_t gaps = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++)
        gaps += session->cpus[i].gaps;
    return gaps;
}

uint64_t guest_session_events(const struct guest_session *session)
{
    uint64_t events = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++)
        events += session->cpus[i].status.read_events;
    return events;
}
