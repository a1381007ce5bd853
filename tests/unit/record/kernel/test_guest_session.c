/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/text.h"
#include "record/kernel/guest_session.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define PAGE 128u

/* The session of a host, an agent's side that the tests play, and a clock that they set. */
struct played {
    struct guest_session session;
    struct kernel_sink sink;
    uint64_t offsets[16]; /* by CPU: of the pages that come next */
    struct trace_config config;
    struct guest_event event;
    struct proto_reader from_host;
    uint8_t out[400000]; /* the agent's frame that is being made */
    uint64_t sequence;
    uint64_t now;
    struct error error;
    struct proto_frame frame; /* of the host, last */
    uint8_t host_nonce[PROTO_NONCE_SIZE];
    struct text log;     /* what the session handed on */
    uint16_t version;    /* of the protocol, that the agent chooses */
    uint64_t guest_skew; /* the guest's clock is so much ahead, ns */
    struct guest_pair pair;
    unsigned n_pairs;
    bool is_full; /* the disk */
};

static struct played *played_of(struct kernel_sink *sink)
{
    return container_of(sink, struct played, sink);
}

static int file_begin(struct kernel_sink *sink, const char *path, size_t len, struct error *error)
{
    text_printf(&played_of(sink)->log, "[%.*s]", (int)len, path);
    return 0;
}

static int file_put(struct kernel_sink *sink, const void *bytes, size_t size, struct error *error)
{
    text_put(&played_of(sink)->log, bytes, size);
    return 0;
}

static int file_end(struct kernel_sink *sink, struct error *error)
{
    text_put_literal(&played_of(sink)->log, ";");
    return 0;
}

/* Whether the page says that others before it are missing, and not how many. */
static bool says_missed(const struct played *p, const uint8_t *page)
{
    unsigned at = !p->session.big_endian ? 11 : p->session.long_size == 8 ? 12 : 8;

    return (page[at] & 0xc0) == 0x80;
}

/* A page without events that says how many before it are missing: "+3@TIME,", or "+?@TIME," if that is not known. */
static bool put_loss_page(struct played *p, const uint8_t *page)
{
    uint64_t commit = load_le64(page + 8);

    if (commit == UINT64_C(0x80000000))
        text_printf(&p->log, "+?@%u,", page[0]);
    else if (commit == UINT64_C(0xc0000000))
        text_printf(&p->log, "+%u@%u,", page[16], page[0]);
    return commit == UINT64_C(0x80000000) || commit == UINT64_C(0xc0000000);
}

static int pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *bytes,
                 size_t size, struct error *error)
{
    struct played *p = played_of(sink);
    const uint8_t *page = bytes;

    assert_true(cpu < ARRAY_SIZE(p->offsets) && size % PAGE == 0);
    assert_int_equal(offset, p->offsets[cpu]);
    if (p->is_full)
        return -ENOSPC;
    p->offsets[cpu] += size;
    if (put_loss_page(p, page)) {
        page += PAGE;
        size -= PAGE;
    }
    if (size > 0)
        text_printf(&p->log, "%s%u:", says_missed(p, page) ? "!" : "", cpu);
    for (size_t i = 0; i < size; i += PAGE)
        text_printf(&p->log, "%u,", page[i]);
    return 0;
}

static int fact(struct kernel_sink *sink, const char *name, const char *value, struct error *error)
{
    if (strcmp(name, "problem") == 0 || strcmp(name, "loss") == 0)
        text_printf(&played_of(sink)->log, "%s %s;", name, value);
    return 0;
}

static int pair(struct kernel_sink *sink, const struct guest_pair *made, struct error *error)
{
    struct played *p = played_of(sink);

    p->pair = *made;
    p->n_pairs++;
    return 0;
}

static int boot(struct kernel_sink *sink, struct error *error)
{
    struct played *p = played_of(sink);

    memset(p->offsets, 0, sizeof p->offsets);
    text_put_literal(&p->log, "BOOT;");
    return 0;
}

static int rewind_trace(struct kernel_sink *sink, struct error *error)
{
    text_put_literal(&played_of(sink)->log, "REWIND;");
    return 0;
}

static const struct kernel_sink_ops ops = {
    .file_begin = file_begin,
    .file_put = file_put,
    .file_end = file_end,
    .pages = pages,
    .fact = fact,
    .pair = pair,
    .boot = boot,
    .rewind = rewind_trace,
};

static struct played *play(void)
{
    struct played *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->event = (struct guest_event){"sched:*", "prev_pid == 1"};
    p->config = (struct trace_config){.events = &p->event, .n_events = 1, .clock = ""};
    p->log = TEXT_IN_MEMORY;
    p->sink.ops = &ops;
    p->version = PROTO_VERSION;
    p->now = SECOND;
    p->guest_skew = 5 * SECOND;
    assert_int_equal(proto_reader_init(&p->from_host, PROTO_HOST_BODY_MAX), 0);
    assert_int_equal(guest_session_init(&p->session, &p->config, &p->sink), 0);
    return p;
}

static void play_end(struct played *p)
{
    guest_session_done(&p->session);
    proto_reader_done(&p->from_host);
    text_done(&p->log);
    free(p);
}

/* What was handed on since the last time. */
static void expect_log(struct played *p, const char *expected)
{
    text_put_char(&p->log, '\0');
    assert_string_equal(p->log.start, expected);
    p->log.next = p->log.start;
}

static void join(struct played *p)
{
    static const uint8_t nonce[PROTO_NONCE_SIZE] = "nonce";

    proto_reader_reset(&p->from_host);
    p->sequence = 0;
    guest_session_connected(&p->session, nonce, p->now);
}

static int tick(struct played *p)
{
    uint64_t next;

    return guest_session_step(&p->session, p->now, &next, &p->error);
}

/* The host's next frame; its type, 0: there is none. */
static int heard(struct played *p)
{
    size_t size, room;
    const uint8_t *pending;

    (void)tick(p);
    pending = guest_session_pending(&p->session, &size);
    memcpy(proto_reader_room(&p->from_host, &room), pending, size);
    proto_reader_filled(&p->from_host, size);
    guest_session_sent(&p->session, size);
    if (proto_reader_next(&p->from_host, &p->frame) == 0)
        return 0;
    assert_int_equal(p->from_host.skipped, 0);
    return p->frame.type;
}

static int receive(struct played *p, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    int r = 0;

    while (size > 0 && r == 0) {
        size_t room;
        uint8_t *to = guest_session_room(&p->session, &room);

        room = MIN(room, size);
        memcpy(to, from, room);
        from += room;
        size -= room;
        r = guest_session_received(&p->session, room, p->now, &p->error);
    }
    return r;
}

static struct proto_out begin(struct played *p)
{
    return proto_begin(p->out, sizeof p->out);
}

static int say(struct played *p, struct proto_out *out, enum proto_type type)
{
    assert_int_equal(proto_end(out, type, p->sequence++), 0);
    return receive(p, p->out, out->len);
}

static int say_nothing(struct played *p, enum proto_type type)
{
    struct proto_out out = begin(p);

    return say(p, &out, type);
}

static int say_time(struct played *p, enum proto_type type)
{
    struct proto_out out = begin(p);

    proto_put_u64(&out, p->now + p->guest_skew);
    return say(p, &out, type);
}

static int say_hello(struct played *p, const char *session, const char *boot)
{
    struct proto_agent_hello hello = {
        .version = p->version,
        .needs_auth = p->config.key != NULL,
        .agent = proto_text("test"),
        .release = proto_text("6.1"),
        .machine = proto_text("x86_64"),
        .boot_id = proto_text(boot),
        .page_size = 4096,
        .long_size = 8,
        .n_possible = 2,
        .clocks = proto_text("mono"),
        .clock = proto_text("mono"),
    };
    struct proto_out out = begin(p);

    memcpy(hello.answers, p->host_nonce, sizeof hello.answers);
    memcpy(hello.session, session, strlen(session));
    proto_put_agent_hello(&out, &hello, NULL, 0);
    return say(p, &out, PROTO_HELLO);
}

static int say_file(struct played *p, const char *path, const char *bytes, bool last)
{
    struct proto_out out = begin(p);

    proto_put_meta(&out, &(struct proto_meta_piece){
                             .kind = PROTO_META_FILE, .path = proto_text(path), .last = last});
    proto_put(&out, bytes, strlen(bytes));
    return say(p, &out, PROTO_META);
}

static int say_ready(struct played *p)
{
    struct proto_out out = begin(p);

    proto_put_ready(
        &out,
        &(struct proto_ready){
            .n_events = 1, .clock = proto_text("mono"), .hz = SECOND, .page_size = PAGE},
        NULL, 0);
    return say(p, &out, PROTO_READY);
}

/* N pages, each with its number in the first byte, and one event. */
static void put_pages(struct proto_out *out, uint32_t cpu, uint64_t first, uint32_t n)
{
    proto_put_data(out, &(struct proto_data){.cpu = cpu, .first = first, .n_pages = n});
    for (uint32_t i = 0; i < n; i++) {
        uint8_t page[PAGE] = {(uint8_t)(first + i)};

        page[8] = 8;  /* bytes of records: */
        page[16] = 1; /* an event of 4 bytes, at the page's time */

        proto_put(out, page, sizeof page);
    }
}

static int say_data(struct played *p, uint32_t cpu, uint64_t first, uint32_t n)
{
    struct proto_out out = begin(p);

    put_pages(&out, cpu, first, n);
    return say(p, &out, PROTO_DATA);
}

static int say_status(struct played *p, uint32_t cpu, uint64_t sent, uint64_t overrun)
{
    struct proto_out out = begin(p);

    proto_put_status(&out, &(struct proto_status){.n_cpus = 1});
    proto_put_status_cpu(&out,
                         &(struct proto_status_cpu){
                             .cpu = cpu, .pages_sent = sent, .overrun = overrun, .read_events = 7});
    return say(p, &out, PROTO_STATUS);
}

/* Answers the ping that was heard, after so many ns each way. */
static int say_pong(struct played *p, uint64_t there, uint64_t back)
{
    struct proto_pong pong = {0};
    struct proto_out out = begin(p);

    assert_int_equal(proto_get_ping(&p->frame, &pong.ping), 0);
    p->now += there;
    pong.came = pong.sent = p->now + p->guest_skew;
    p->now += back;
    proto_put_pong(&out, &pong);
    return say(p, &out, PROTO_PONG);
}

static void expect_hello(struct played *p)
{
    struct proto_host_hello hello;

    assert_int_equal(heard(p), PROTO_HELLO);
    assert_int_equal(proto_get_host_hello(&p->frame, &hello), 0);
    memcpy(p->host_nonce, hello.nonce, sizeof p->host_nonce);
}

static void set_up(struct played *p, const char *session, const char *boot)
{
    assert_int_equal(say_hello(p, session, boot), 0);
    assert_int_equal(heard(p), PROTO_SETUP);
    assert_int_equal(say_file(p, "a", "b", true), 0);
    assert_int_equal(say_ready(p), 0);
    expect_log(p, "[a]b;");
}

static void start(struct played *p)
{
    unsigned pings = 0;

    for (;;) {
        int type = heard(p);

        if (type == PROTO_START)
            break;
        assert_int_equal(type, PROTO_PING);
        assert_int_equal(say_pong(p, 1000, 1000), 0);
        assert_true(++pings < 100);
    }
    assert_true(pings > 3);
    assert_int_equal(say_time(p, PROTO_STARTED), 0);
    assert_int_equal(p->session.state, GUEST_RUNNING);
}

static struct played *running(void)
{
    struct played *p = play();

    join(p);
    expect_hello(p);
    set_up(p, "one", "boot");
    start(p);
    return p;
}

/* Hears the host until TYPE comes; answers its pings. */
static void hear_until(struct played *p, int type)
{
    for (unsigned i = 0; i < 100; i++) {
        int heard_type = heard(p);

        if (heard_type == type)
            return;
        if (heard_type == PROTO_PING)
            assert_int_equal(say_pong(p, 1000, 1000), 0);
        else
            assert_int_equal(heard_type, 0);
    }
    fail_msg("%s was not said", proto_type_name((uint16_t)type));
}

static void a_session_from_hello_to_bye(void **state)
{
    struct played *p = play();
    struct proto_setup setup;
    struct proto_setup_event event;

    p->config.buffer_kib = 100;
    p->config.level = 3;
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(heard(p), PROTO_SETUP);
    assert_int_equal(proto_get_setup(&p->frame, &setup), 0);
    assert_int_equal(setup.buffer_kib, 100);
    assert_int_equal(setup.level, 3);
    assert_int_equal(setup.n_events, 1);
    assert_true(proto_setup_next(&setup, &event));
    assert_true(proto_text_is(&event.event, "sched:*"));
    assert_true(proto_text_is(&event.filter, "prev_pid == 1"));
    assert_int_equal(say_file(p, "x/format", "first ", false), 0);
    assert_int_equal(say_file(p, "x/format", "second", true), 0);
    assert_int_equal(say_ready(p), 0);
    expect_log(p, "[x/format]first second;");
    start(p);
    assert_int_equal(say_data(p, 0, 0, 2), 0);
    assert_int_equal(say_data(p, 1, 0, 1), 0);
    assert_int_equal(say_data(p, 0, 2, 1), 0);
    expect_log(p, "0:0,1,1:0,0:2,");
    guest_session_stop(&p->session);
    hear_until(p, PROTO_STOP);
    assert_int_equal(say_data(p, 1, 1, 1), 0);
    assert_int_equal(say_file(p, "cmdlines", "c", true), 0);
    assert_int_equal(say_status(p, 1, 2, 4), 0);
    assert_int_equal(say_time(p, PROTO_STOPPED), 0);
    expect_log(p, "1:1,[cmdlines]c;");
    hear_until(p, PROTO_BYE);
    assert_int_equal(p->session.state, GUEST_BYE);
    assert_int_equal(say_nothing(p, PROTO_BYE), 0);
    assert_int_equal(p->session.state, GUEST_OVER);
    guest_session_disconnected(&p->session);
    assert_int_equal(p->session.state, GUEST_OVER);
    assert_int_equal(guest_session_lost(&p->session), 4);
    assert_int_equal(guest_session_gaps(&p->session), 0);
    assert_int_equal(guest_session_events(&p->session), 5);
    assert_int_equal(p->session.last, 2);
    assert_true(p->n_pairs >= 2);
    play_end(p);
}

/* A guest that ends at once sends no status of its last pages. The pages themselves show what is lost before them. */
static void pages_tell_more_than_a_status_before_them(void **state)
{
    struct played *p = running();
    uint8_t page[PAGE] = {0};
    struct proto_out out;

    store_le64(page + 8, 8 | UINT64_C(3)
                                 << 30); /* 8 bytes of records; events were missed, and counted: */
    page[16] = 1;
    page[24] = 9;
    assert_int_equal(say_status(p, 0, 0, 4), 0);
    assert_int_equal(guest_session_lost(&p->session), 4);
    out = begin(p);
    proto_put_data(&out, &(struct proto_data){.n_pages = 1});
    proto_put(&out, page, sizeof page);
    assert_int_equal(say(p, &out, PROTO_DATA), 0);
    assert_int_equal(guest_session_lost(&p->session), 9);
    assert_int_equal(say_status(p, 0, 1, 12), 0);
    assert_int_equal(guest_session_lost(&p->session), 12);
    play_end(p);
}

/* Every seventh exchange is fast: they are made until one of them is, and no more for that second; twice in the
 * first half of a second. */
static void clocks_are_related_by_the_fastest_exchange(void **state)
{
    struct played *p = running();
    unsigned pings = 0;

    p->n_pairs = 0;
    for (unsigned i = 0; i < 500; i++) {
        p->now += 10 * MS;
        if (heard(p) == PROTO_PING) {
            bool fast = ++pings % 7 == 0;

            assert_int_equal(say_pong(p, fast ? 20000 : 300000, fast ? 30000 : 900000), 0);
        }
        if (p->n_pairs == 0 || p->pair.error_ns > 25001)
            continue;
        /* What the guest's clock showed at that host time is known here. */
        assert_in_range(p->pair.guest - p->guest_skew, p->pair.host_ns - p->pair.error_ns,
                        p->pair.host_ns + p->pair.error_ns);
    }
    assert_in_range(p->n_pairs, 4, 6);
    assert_int_equal(p->pair.error_ns, 25000);
    assert_in_range(pings, 29 + 2 * 7, 42 + 2 * 7);
    play_end(p);
}

/* The rate that the guest's kernel states may be wrong by any factor: a guest that ends soon has two pairs. */
static void a_guest_that_ends_soon_has_a_rate(void **state)
{
    struct played *p = running();
    unsigned before = p->n_pairs;

    (void)state;
    p->now += 100 * MS;
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, 20000, 30000), 0);
    guest_session_disconnected(&p->session);
    assert_int_equal(before, 1);
    assert_int_equal(p->n_pairs, 2);
    play_end(p);
}

/* Where none is fast, the number of them is bounded. */
static void slow_exchanges_are_not_made_without_end(void **state)
{
    struct played *p = running();
    unsigned pings = 0;

    p->n_pairs = 0;
    for (unsigned i = 0; i < 5000; i++) {
        p->now += MS;
        if (heard(p) != PROTO_PING)
            continue;
        pings++;
        assert_int_equal(say_pong(p, 300000, 900000), 0);
    }
    assert_in_range(pings, 30 + 2 * 8,
                    50 + 2 * 8); /* 8 more in each half of the first half second */
    assert_in_range(p->n_pairs, 4, 6);
    play_end(p);
}

/* The agent splices large pieces only as long as pings show that they are read. */
static void what_was_spliced_is_followed_by_a_ping(void **state)
{
    struct played *p = running();

    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, 1000, 1000), 0); /* a good one: no other for a second */
    for (unsigned n = 0; n < 2; n++) {
        assert_int_equal(say_data(p, 0, n * 2, 1), 0);
        assert_int_equal(heard(p), 0);
        for (uint64_t i = 0, bytes = 16 + PAGE; i <= (UINT64_C(3) << 20) / bytes; i++) {
            struct proto_out out = begin(p);

            assert_int_equal(heard(p), 0);
            put_pages(&out, 0, n * 2 + 1, 1); /* again and again: only the first is written */
            p->session.cpus[0].is_repeating = true;
            proto_frame_seal(p->out, PROTO_DATA, PROTO_UNCHECKED, (uint32_t)bytes, (uint32_t)bytes,
                             p->sequence++);
            assert_int_equal(receive(p, p->out, out.len), 0);
        }
        assert_int_equal(heard(p), PROTO_PING);
        assert_int_equal(say_pong(p, 1000, 1000), 0);
    }
    play_end(p);
}

static void hello_is_said_again_and_only_the_last_counts(void **state)
{
    struct played *p = play();
    uint8_t first[PROTO_NONCE_SIZE];

    join(p);
    expect_hello(p);
    memcpy(first, p->host_nonce, sizeof first);
    assert_int_equal(heard(p), 0);
    p->now += 3 * SECOND;
    expect_hello(p);
    assert_memory_not_equal(first, p->host_nonce, sizeof first);
    /* An answer to the first HELLO, one to another host, and a message for another host. */
    memcpy(p->host_nonce, first, sizeof first);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(say_time(p, PROTO_STOPPED), 0);
    assert_int_equal(receive(p, "garbage", 7), 0);
    assert_int_equal(heard(p), 0);
    memcpy(p->host_nonce, p->session.nonce, sizeof p->host_nonce);
    set_up(p, "one", "boot");
    play_end(p);
}

static void what_is_lost_with_a_connection_shows(void **state)
{
    struct played *p = running();
    struct proto_resume resume;
    uint32_t cpu;
    uint64_t next;

    assert_int_equal(say_data(p, 1, 0, 3), 0);
    guest_session_disconnected(&p->session);
    p->now += SECOND;
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(heard(p), PROTO_RESUME);
    assert_int_equal(proto_get_resume(&p->frame, &resume), 0);
    assert_memory_equal(resume.session, "one", 4);
    assert_int_equal(resume.n_cpus, 1);
    proto_resume_at(&resume, 0, &cpu, &next);
    assert_int_equal(cpu, 1);
    assert_int_equal(next, 3);
    assert_int_equal(say_time(p, PROTO_STARTED), 0);
    /* A page that was received before, a gap, and the pages after it. */
    assert_int_equal(say_data(p, 1, 2, 2), 0);
    assert_int_equal(say_data(p, 1, 6, 1), 0);
    assert_int_equal(say_data(p, 1, 7, 1), 0);
    expect_log(p, "1:0,1,2,1:3,!1:6,1:7,");
    assert_int_equal(guest_session_gaps(&p->session), 2);
    /* At the end: what was sent and never came. */
    guest_session_stop(&p->session);
    hear_until(p, PROTO_STOP);
    assert_int_equal(say_status(p, 1, 10, 0), 0);
    assert_int_equal(say_time(p, PROTO_STOPPED), 0);
    assert_int_equal(guest_session_gaps(&p->session), 4);
    play_end(p);
}

static void an_agent_that_forgot_is_set_up_anew(void **state)
{
    struct played *p = running();
    struct proto_out out;

    assert_int_equal(say_data(p, 0, 0, 2), 0);
    assert_int_equal(say_status(p, 0, 2, 5), 0);
    guest_session_disconnected(&p->session);
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(heard(p), PROTO_RESUME);
    out = begin(p);
    proto_put_failed(&out, &(struct proto_failed){2, proto_text("gone"), proto_text("")});
    assert_int_equal(say(p, &out, PROTO_FAILED), 0);
    assert_int_equal(heard(p), PROTO_SETUP);
    assert_int_equal(say_ready(p), 0);
    start(p);
    /* It counts from 0. How much was lost in between is not known. */
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    assert_int_equal(say_data(p, 0, 1, 1), 0);
    expect_log(p,
               "0:0,1,loss the agent ended before it had sent the rest: what it had recorded last "
               "is lost;!0:0,0:1,");
    assert_int_equal(say_status(p, 0, 2, 1), 0);
    assert_int_equal(guest_session_lost(&p->session), 6);
    play_end(p);
}

static void another_kernel_makes_another_boot(void **state)
{
    for (unsigned says_bye = 0; says_bye < 2; says_bye++) {
        struct played *p = running();

        assert_int_equal(say_data(p, 0, 0, 1), 0);
        expect_log(p, "0:0,");
        if (says_bye)
            assert_int_equal(say_nothing(p, PROTO_BYE), -ECONNRESET);
        guest_session_disconnected(&p->session);
        join(p);
        expect_hello(p);
        assert_int_equal(say_hello(p, "two", "another boot"), 0);
        expect_log(p, says_bye ? "BOOT;"
                               : "loss the guest rebooted before its agent had sent the rest: "
                                 "what it had recorded last is lost;BOOT;");
        assert_int_equal(heard(p), PROTO_SETUP);
        assert_int_equal(say_ready(p), 0);
        start(p);
        assert_int_equal(say_data(p, 0, 0, 1), 0);
        expect_log(p, "0:0,");
        play_end(p);
    }
}

/* The guest was set back to an earlier state, as the numbers of its pages show. No page continues the trace before. */
static void pages_that_come_again_begin_another_trace(void **state)
{
    struct played *p = running();

    assert_int_equal(say_data(p, 0, 0, 5), 0);
    assert_int_equal(say_data(p, 1, 0, 2), 0);
    assert_int_equal(say_status(p, 0, 5, 30), 0);
    expect_log(p, "0:0,1,2,3,4,1:0,1,");
    assert_int_equal(say_data(p, 0, 2, 2), 0);
    expect_log(p, "REWIND;0:2,3,");
    assert_int_equal(heard(p), PROTO_RESUME);
    assert_int_equal(say_data(p, 1, 1, 1), 0);
    assert_int_equal(say_time(p, PROTO_STARTED), 0);
    assert_int_equal(p->session.state, GUEST_RUNNING);
    /* Of these 20 losses an unknown number is of before, and counted already. */
    assert_int_equal(say_status(p, 0, 4, 20), 0);
    assert_int_equal(guest_session_lost(&p->session), 30);
    assert_int_equal(say_status(p, 0, 4, 24), 0);
    assert_int_equal(guest_session_lost(&p->session), 34);
    assert_int_equal(say_data(p, 0, 4, 1), 0);
    assert_int_equal(say_data(p, 1, 3, 1), 0);
    expect_log(p, "1:1,0:4,!1:3,");
    assert_int_equal(guest_session_gaps(&p->session), 1);
    play_end(p);
}

/* … or by its clock. Its agent has another session, or none, now. */
static void a_clock_that_is_set_back_begins_another_trace(void **state)
{
    struct played *p = running();
    struct proto_out out;

    assert_int_equal(say_data(p, 0, 0, 5), 0);
    assert_int_equal(say_data(p, 1, 0, 1), 0);
    expect_log(p, "0:0,1,2,3,4,1:0,");
    p->now += SECOND;
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, MS, MS), 0);
    p->guest_skew -= 3 * SECOND;
    p->now += SECOND;
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, MS, MS), 0);
    expect_log(p, "REWIND;");
    assert_int_equal(heard(p), PROTO_RESUME);
    out = begin(p);
    proto_put_failed(&out,
                     &(struct proto_failed){ESTALE, proto_text("another one's"), proto_text("")});
    assert_int_equal(say(p, &out, PROTO_FAILED), -ESTALE);
    join(p);
    expect_hello(p);
    set_up(p, "two", "boot");
    start(p);
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    expect_log(p, "!0:0,");
    play_end(p);
}

/* CPUs whose clocks differ a little are no earlier state. */
static void a_clock_that_wavers_goes_on(void **state)
{
    struct played *p = running();

    assert_int_equal(say_data(p, 0, 0, 1), 0);
    p->now += SECOND;
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, 0, 0), 0);
    p->guest_skew -= MS;
    p->now += SECOND;
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, 0, 0), 0);
    expect_log(p, "0:0,");
    assert_int_equal(p->session.state, GUEST_RUNNING);
    play_end(p);
}

/* The first page answers the START before it, not that of a later boot. */
static void waits_are_those_of_the_first_page(void **state)
{
    struct played *p = running();

    p->now += 7 * MS;
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    assert_int_equal(p->session.waited_ns, 7 * MS);
    p->now += SECOND;
    guest_session_disconnected(&p->session);
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "two", "another boot"), 0);
    assert_int_equal(heard(p), PROTO_SETUP);
    assert_int_equal(say_ready(p), 0);
    start(p);
    p->now += 3 * MS;
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    assert_int_equal(p->session.waited_ns, 7 * MS);
    guest_session_stop(&p->session);
    hear_until(p, PROTO_STOP);
    p->now += 2 * MS;
    assert_int_equal(say_time(p, PROTO_STOPPED), 0);
    assert_int_equal(p->session.stopped_ns, 2 * MS);
    play_end(p);
}

static void damage_costs_what_is_damaged(void **state)
{
    struct played *p = running();
    struct proto_out out = begin(p);

    assert_int_equal(say_data(p, 0, 0, 1), 0);
    put_pages(&out, 0, 1, 1);
    assert_int_equal(proto_end(&out, PROTO_DATA, p->sequence++), 0);
    p->out[out.len - 1] ^= 1;
    assert_int_equal(receive(p, p->out, out.len), 0);
    assert_int_equal(say_data(p, 0, 2, 1), 0);
    expect_log(p, "0:0,!0:2,");
    /* Of a file its beginning may be what was damaged. */
    assert_int_equal(say_file(p, "a", "end of it", true), 0);
    assert_int_equal(say_file(p, "b", "whole", true), 0);
    expect_log(p, "[b]whole;");
    /* Within a file, the session restarts. */
    assert_int_equal(say_file(p, "c", "beginning", false), 0);
    assert_int_equal(receive(p, "garbage", 7), -ESTALE);
    play_end(p);
}

static void damage_before_it_runs_begins_anew(void **state)
{
    struct played *p = play();

    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    for (unsigned i = 0; i < 100; i++) {
        int r = receive(p, "garbage", 7);

        if (r == -EBADMSG)
            break;
        assert_int_equal(r, -ESTALE);
        join(p);
        expect_hello(p);
        assert_int_equal(say_hello(p, "one", "boot"), 0);
        assert_true(i < 50);
    }
    play_end(p);
}

static void no_wait_is_for_ever(void **state)
{
    static const struct {
        enum guest_state state;
        int error;
        uint64_t longest; /* s */
    } waits[] = {
        {GUEST_SETUP, -ECONNRESET, 11}, /* silence */
        {GUEST_STARTING, -ECONNRESET, 11},
        {GUEST_RUNNING, -ECONNRESET, 11},
        {GUEST_STOPPING, -ECONNRESET, 11},
    };

    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        struct played *p = play();
        uint64_t since;
        int r = 0;

        join(p);
        expect_hello(p);
        assert_int_equal(say_hello(p, "one", "boot"), 0);
        if (waits[i].state > GUEST_SETUP) {
            assert_int_equal(say_ready(p), 0);
            p->now += SECOND; /* no pong */
            (void)tick(p);
        }
        if (waits[i].state > GUEST_STARTING)
            assert_int_equal(say_time(p, PROTO_STARTED), 0);
        if (waits[i].state > GUEST_RUNNING) {
            guest_session_stop(&p->session);
            (void)tick(p);
        }
        assert_int_equal(p->session.state, waits[i].state);
        for (since = p->now; r == 0; p->now += 10 * MS) {
            r = tick(p);
            assert_true(p->now - since < waits[i].longest * SECOND);
        }
        assert_int_equal(r, waits[i].error);
        play_end(p);
    }
}

/* The connection does not show that the agent has closed its port, or was killed. What it had sent may still come. */
static void a_closed_port_ends_the_connection(void **state)
{
    struct played *p = running();
    uint64_t next;
    int r = 0;

    guest_session_agent_closed(&p->session, p->now);
    assert_int_equal(guest_session_step(&p->session, p->now, &next, &p->error), 0);
    assert_true(next > p->now && next <= p->now + SECOND);
    p->now += 10 * MS;
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    for (unsigned i = 0; i < 200 && r == 0; i++) {
        p->now += 10 * MS;
        r = tick(p);
    }
    assert_int_equal(r, -ECONNRESET);
    expect_log(p, "0:0,");
    /* Another agent may have opened it, which is not that of the next connection. */
    join(p);
    guest_session_agent_closed(&p->session, p->now);
    expect_hello(p);
    assert_int_equal(say_hello(p, "two", "boot"), 0);
    p->now += 2 * SECOND;
    assert_int_equal(tick(p), 0);
    play_end(p);
}

/* A paused machine keeps its connection, and its agent gets a ping when the machine resumes. */
static void a_paused_machine_is_waited_for(void **state)
{
    struct played *p = running();
    uint64_t next;

    assert_int_equal(say_data(p, 0, 0, 1), 0);
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, 1000, 1000), 0);
    guest_session_pause(&p->session, true, p->now);
    for (unsigned i = 0; i < 100; i++) {
        p->now += SECOND;
        assert_int_equal(heard(p), 0);
        assert_int_equal(guest_session_step(&p->session, p->now, &next, &p->error), 0);
        assert_true(next == UINT64_MAX);
    }
    guest_session_pause(&p->session, false, p->now);
    assert_int_equal(heard(p), PROTO_PING);
    p->n_pairs = 0;
    assert_int_equal(say_pong(p, MS, MS), 0);
    assert_int_equal(p->n_pairs, 1);
    assert_int_equal(p->session.state, GUEST_RUNNING);
    assert_int_equal(say_data(p, 0, 1, 1), 0);
    expect_log(p, "0:0,0:1,");
    /* The session waits for a paused machine only for a limited time once it is stopped. */
    guest_session_pause(&p->session, true, p->now);
    guest_session_stop(&p->session);
    assert_int_equal(heard(p), PROTO_STOP);
    p->now += 11 * SECOND;
    assert_int_equal(tick(p), -ECONNRESET);
    play_end(p);
}

/* A ping that is not answered for a second. */
static void a_silent_agent_is_noticed(void **state)
{
    struct played *p = running();

    hear_until(p, PROTO_PING);
    p->now += SECOND - 1;
    assert_false(guest_session_is_silent(&p->session, p->now));
    p->now += 1;
    assert_true(guest_session_is_silent(&p->session, p->now));
    guest_session_pause(&p->session, true, p->now);
    assert_false(guest_session_is_silent(&p->session, p->now));
    guest_session_pause(&p->session, false, p->now);
    assert_int_equal(heard(p), PROTO_PING);
    assert_int_equal(say_pong(p, MS, MS), 0);
    /* Nothing was asked. */
    assert_false(guest_session_is_silent(&p->session, p->now + 60 * SECOND));
    /* A second ping begins no second silence. */
    p->now += 4 * SECOND;
    hear_until(p, PROTO_PING);
    assert_false(guest_session_is_silent(&p->session, p->now));
    p->now += 2 * SECOND;
    assert_int_equal(heard(p), PROTO_PING);
    assert_true(guest_session_is_silent(&p->session, p->now));
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    assert_false(guest_session_is_silent(&p->session, p->now));
    play_end(p);
}

/* What the agent cannot have meant: nobody looked for it. */
static void time_in_which_nobody_listened_is_no_silence(void **state)
{
    struct played *p = running();

    p->now += 60 * SECOND;
    guest_session_add_delay(&p->session, 59 * SECOND, p->now);
    assert_int_equal(tick(p), 0);
    p->now += 8 * SECOND;
    assert_int_equal(tick(p), 0);
    p->now += 2 * SECOND;
    assert_int_equal(tick(p), -ECONNRESET);
    play_end(p);

    p = running();
    guest_session_stop(&p->session);
    assert_int_equal(tick(p), 0);
    p->now += 100 * SECOND;
    guest_session_add_delay(&p->session, 100 * SECOND, p->now);
    assert_int_equal(tick(p), 0);
    assert_int_equal(p->session.state, GUEST_STOPPING);
    play_end(p);
}

static void who_talks_on_is_not_listened_to_for_ever(void **state)
{
    struct played *p = play();
    uint64_t since;
    int r = 0;

    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    for (since = p->now; r == 0; p->now += 100 * MS) {
        r = say_status(p, 0, 0, 0);
        if (r == 0)
            r = tick(p);
        assert_true(p->now - since < 200 * SECOND);
    }
    assert_int_equal(r, -ETIMEDOUT);
    play_end(p);

    p = running();
    guest_session_stop(&p->session);
    hear_until(p, PROTO_STOP);
    r = 0;
    for (since = p->now; r == 0; p->now += 100 * MS) {
        r = say_data(p, 0, (p->now - since) / (100 * MS), 1);
        if (r == 0)
            r = tick(p);
        assert_true(p->now - since < 100 * SECOND);
    }
    assert_int_equal(r, -ETIMEDOUT);
    play_end(p);
}

static void limits_hold(void **state)
{
    struct played *p = play();
    char *many = malloc(PROTO_BODY_MAX);
    int r = 0;

    assert_non_null(many);
    memset(many, 'x', 300000);
    many[300000] = '\0';
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    for (unsigned i = 0; r == 0; i++) {
        r = say_file(p, "endless", many, false);
        p->log.next = p->log.start;
        assert_true(i < 100);
    }
    assert_int_equal(r, -E2BIG);
    free(many);
    play_end(p);

    p = running();
    p->config.max_size = 3 * PAGE;
    assert_int_equal(say_data(p, 0, 0, 2), 0);
    assert_int_equal(say_data(p, 0, 2, 2), 0);
    assert_int_equal(say_data(p, 0, 4, 1), 0);
    expect_log(p, "0:0,1,");
    assert_true(p->session.full);
    hear_until(p, PROTO_STOP);
    play_end(p);
}

static void packed_frames_are_unpacked(void **state)
{
    struct played *p = running();
    struct proto_out out = begin(p);
    uint8_t packed[PROTO_HEADER_SIZE + 4096];
    size_t n;

    put_pages(&out, 0, 0, 3);
    n = ZSTD_compress(packed + PROTO_HEADER_SIZE, 4096, p->out + PROTO_HEADER_SIZE,
                      out.len - PROTO_HEADER_SIZE, 3);
    assert_false(ZSTD_isError(n));
    proto_frame_seal(packed, PROTO_DATA, PROTO_ZSTD, (uint32_t)n,
                     (uint32_t)(out.len - PROTO_HEADER_SIZE), 0);
    assert_int_equal(receive(p, packed, PROTO_HEADER_SIZE + n), 0);
    expect_log(p, "0:0,1,2,");
    /* It holds more, or less, than it says. */
    proto_frame_seal(packed, PROTO_DATA, PROTO_ZSTD, (uint32_t)n, 100, 0);
    assert_int_equal(receive(p, packed, PROTO_HEADER_SIZE + n), -EBADMSG);
    proto_frame_seal(packed, PROTO_DATA, PROTO_ZSTD, (uint32_t)n, PROTO_BODY_MAX, 0);
    assert_int_equal(receive(p, packed, PROTO_HEADER_SIZE + n), -EBADMSG);
    play_end(p);
}

static void keys_are_proved_by_both(void **state)
{
    struct played *p = play();
    uint8_t proof[SHA256_SIZE], expected[SHA256_SIZE];
    const uint8_t agent_nonce[PROTO_NONCE_SIZE] = {0};
    struct proto_out out;

    p->config.key = "a secret";
    p->config.key_size = 8;
    for (unsigned right = 0; right < 2; right++) {
        p->error = (struct error){0};
        join(p);
        expect_hello(p);
        assert_int_equal(say_hello(p, "one", "boot"), 0);
        assert_int_equal(heard(p), PROTO_AUTH);
        assert_int_equal(proto_get_auth(&p->frame, proof), 0);
        proto_host_proof("a secret", 8, agent_nonce, p->host_nonce, expected);
        assert_memory_equal(proof, expected, sizeof proof);
        /* The session continues only after the agent has proved that it knows the key, too. */
        assert_int_equal(heard(p), 0);
        proto_agent_proof(right ? "a secret" : "a guess", right ? 8 : 7, agent_nonce, p->host_nonce,
                          proof);
        out = begin(p);
        proto_put(&out, proof, sizeof proof);
        assert_int_equal(say(p, &out, PROTO_AUTH), right ? 0 : -EACCES);
        assert_int_equal(heard(p), right ? PROTO_SETUP : 0);
    }
    play_end(p);
}

static void no_number_of_the_agent_says_what_is_done_next(void **state)
{
    /* The session's own for "begin anew" and "connect anew": so it would go on for ever. */
    static const int numbers[] = {0, ESTALE, ECONNRESET, EBADMSG, 4095};

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct played *p = running();
        struct proto_out out = begin(p);

        proto_put_failed(&out,
                         &(struct proto_failed){numbers[i], proto_text("no"), proto_text("")});
        assert_int_equal(say(p, &out, PROTO_FAILED), -EREMOTEIO);
        assert_string_equal(p->error.what, "the agent: no");
        play_end(p);
    }
    (void)state;
}

static void what_comes_at_the_wrong_time_is_refused(void **state)
{
    for (unsigned type = PROTO_AUTH; type <= PROTO_RESUME + 1; type++) {
        struct played *p = play();
        int r;

        join(p);
        expect_hello(p);
        assert_int_equal(say_hello(p, "one", "boot"), 0);
        assert_int_equal(p->session.state, GUEST_SETUP);
        if (type == PROTO_DATA)
            r = say_data(p, 0, 0, 1);
        else if (type == PROTO_STARTED || type == PROTO_STOPPED)
            r = say_time(p, (enum proto_type)type);
        else
            r = say_nothing(p, (enum proto_type)type);
        /* The session accepts an agent that comes back. */
        if (type == PROTO_BYE && r == -ECONNRESET)
            r = -EBADMSG;
        assert_int_equal(r, -EBADMSG);
        play_end(p);
    }
}

static void who_is_stopped_in_its_midst_may_finish_its_sentence(void **state)
{
    struct played *p = play();

    (void)state;
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(heard(p), PROTO_SETUP);
    assert_int_equal(say_file(p, "a", "b", true), 0);
    guest_session_stop(&p->session);
    assert_int_equal(heard(p), PROTO_BYE);
    assert_int_equal(say_file(p, "c", "d", true), 0);
    assert_int_equal(say_ready(p), 0);
    assert_int_equal(say_nothing(p, PROTO_BYE), 0);
    assert_int_equal(p->session.state, GUEST_OVER);
    play_end(p);
}

static void an_agent_that_is_busy_is_not_one_that_is_gone(void **state)
{
    struct played *p = play();
    unsigned pings = 0;

    (void)state;
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(heard(p), PROTO_SETUP);
    /* It switches on events for half a minute, and says nothing but that it is there. */
    for (unsigned i = 0; i < 60; i++) {
        p->now += SECOND / 2;
        if (heard(p) == PROTO_PING) {
            assert_int_equal(say_pong(p, 1000, 1000), 0);
            pings++;
        }
        assert_int_equal(p->session.state, GUEST_SETUP);
    }
    assert_true(pings > 10);
    assert_int_equal(p->n_pairs, 0);
    assert_int_equal(say_ready(p), 0);
    start(p);
    play_end(p);
}

static void an_agent_is_told_that_its_session_has_failed(void **state)
{
    struct played *p = running();

    (void)state;
    guest_session_give_up(&p->session);
    hear_until(p, PROTO_BYE);
    play_end(p);
    /* One with which there is no session need not be. */
    p = play();
    join(p);
    expect_hello(p);
    guest_session_give_up(&p->session);
    assert_int_equal(heard(p), 0);
    play_end(p);
}

static void pages_that_a_full_disk_drops_are_counted_where_they_lack(void **state)
{
    struct played *p = running();
    struct error error = {0};

    (void)state;
    p->config.drops_when_full = true;
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    p->is_full = true;
    assert_int_equal(say_data(p, 0, 1, 3), 0);
    assert_int_equal(say_data(p, 0, 4, 1), 0);
    assert_int_equal(say_data(p, 1, 0, 2), 0);
    expect_log(p, "0:0,");
    assert_int_equal(guest_session_unwritten(&p->session), 6);
    assert_int_equal(guest_session_unstated(&p->session), 6);
    assert_int_equal(guest_session_failure(&p->session, &error), 0);
    guest_session_state_dropped(&p->session);
    assert_int_equal(guest_session_unstated(&p->session), 6);
    p->is_full = false;
    assert_int_equal(say_data(p, 0, 5, 2), 0);
    expect_log(p, "+4@5,0:5,6,");
    /* Nothing more comes of the other one before the next snapshot. */
    guest_session_state_dropped(&p->session);
    expect_log(p, "+2@1,");
    assert_int_equal(guest_session_unstated(&p->session), 0);
    assert_int_equal(say_data(p, 1, 2, 1), 0);
    expect_log(p, "1:2,");
    assert_int_equal(guest_session_events(&p->session), 4);
    assert_int_equal(guest_session_unwritten(&p->session), 6);

    /* How many events are in pages that did not come is not known. */
    p->is_full = true;
    assert_int_equal(say_data(p, 0, 9, 1), 0);
    p->is_full = false;
    assert_int_equal(say_data(p, 0, 10, 1), 0);
    expect_log(p, "+?@10,0:10,");

    /* At the end of the trace of this boot. */
    p->is_full = true;
    assert_int_equal(say_data(p, 1, 3, 1), 0);
    assert_int_equal(guest_session_end_dropped(&p->session, &error), 0);
    expect_log(p, "loss the disk was full: the last events could not be written;");
    play_end(p);
}

static void a_full_disk_fails_a_session_that_keeps_all(void **state)
{
    struct played *p = running();
    struct error error = {0};

    (void)state;
    p->is_full = true;
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    assert_int_equal(guest_session_failure(&p->session, &error), -ENOSPC);
    play_end(p);
}

static void missed_pages_are_marked_as_the_kernel_marks_them(void **state)
{
    uint8_t page[16] = {0};

    guest_page_mark_missed(page, false, 8);
    assert_int_equal(load_le64(page + 8), UINT64_C(0x80000000));
    memset(page, 0, sizeof page);
    guest_page_mark_missed(page, true, 8);
    assert_int_equal(page[12], 0x80);
    memset(page, 0, sizeof page);
    guest_page_mark_missed(page, true, 4);
    assert_int_equal(page[8], 0x80);
    /* What the kernel counted is not all then. */
    memset(page, 0xff, sizeof page);
    guest_page_mark_missed(page, false, 8);
    assert_true(load_le64(page + 8) == UINT64_C(0xffffffffbfffffff));
}

static int say_flushed(struct played *p, uint64_t token)
{
    struct proto_out out = begin(p);

    proto_put_flushed(&out, &(struct proto_flushed){token, p->now + p->guest_skew});
    return say(p, &out, PROTO_FLUSHED);
}

static uint64_t hear_flush(struct played *p)
{
    uint64_t token = 0;

    hear_until(p, PROTO_FLUSH);
    assert_int_equal(proto_get_flush(&p->frame, &token), 0);
    return token;
}

static void a_flush_is_done_when_its_answer_comes(void **state)
{
    struct played *p = running();
    unsigned pairs;
    uint64_t first;

    assert_true(guest_session_is_flushed(&p->session));
    guest_session_flush(&p->session);
    first = hear_flush(p);
    assert_int_equal(say_data(p, 0, 0, 1), 0);
    assert_int_equal(tick(p), 0);
    assert_false(guest_session_is_flushed(&p->session));
    /* Another one meanwhile is asked for, and the answer to the first is not one to it. */
    guest_session_flush(&p->session);
    assert_int_equal(hear_flush(p), first + 1);
    assert_int_equal(say_flushed(p, first), 0);
    assert_false(guest_session_is_flushed(&p->session));
    assert_int_equal(say_flushed(p, UINT64_MAX), 0);
    assert_false(guest_session_is_flushed(&p->session));
    p->now += 2 * SECOND;
    hear_until(p, PROTO_PING);
    assert_int_equal(say_pong(p, 1000, 1000), 0);
    pairs = p->n_pairs;
    assert_int_equal(say_flushed(p, first + 1), 0);
    assert_true(guest_session_is_flushed(&p->session));
    assert_int_equal(p->n_pairs, pairs + 1);
    /* An answer too many. */
    assert_int_equal(say_flushed(p, first + 1), 0);
    assert_int_equal(p->session.state, GUEST_RUNNING);
    play_end(p);
}

/* A pair of the clocks belongs to what a flush brings: a ping from long before, which was not answered, gives none. */
static void a_flush_has_a_ping_of_its_own(void **state)
{
    struct played *p = running();
    struct proto_ping before, ping;
    uint64_t first;

    p->now += 2 * SECOND;
    hear_until(p, PROTO_PING);
    assert_int_equal(proto_get_ping(&p->frame, &before), 0);
    p->now += SECOND;
    guest_session_flush(&p->session);
    assert_int_equal(tick(p), 0);
    assert_int_equal(heard(p), PROTO_PING);
    assert_int_equal(proto_get_ping(&p->frame, &ping), 0);
    assert_true(ping.token != before.token && ping.host_time > before.host_time);
    first = hear_flush(p);
    /* An agent that takes long is not asked again meanwhile. */
    guest_session_flush(&p->session);
    assert_int_equal(tick(p), 0);
    assert_int_equal(heard(p), PROTO_FLUSH);
    assert_int_equal(say_flushed(p, first + 1), 0);
    assert_true(guest_session_is_flushed(&p->session));
    play_end(p);
}

static void who_can_bring_nothing_is_flushed(void **state)
{
    struct played *p = play();
    uint64_t first;

    guest_session_flush(&p->session);
    assert_int_equal(tick(p), 0);
    assert_true(guest_session_is_flushed(&p->session));
    join(p);
    expect_hello(p);
    set_up(p, "one", "boot");
    guest_session_flush(&p->session);
    start(p);
    assert_true(guest_session_is_flushed(&p->session));

    /* The connection is lost: nobody is waited for; what is asked while it is resumed is. */
    guest_session_flush(&p->session);
    first = hear_flush(p);
    guest_session_disconnected(&p->session);
    assert_int_equal(tick(p), 0);
    assert_true(guest_session_is_flushed(&p->session));
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), 0);
    assert_int_equal(heard(p), PROTO_RESUME);
    guest_session_flush(&p->session);
    assert_int_equal(tick(p), 0);
    assert_false(guest_session_is_flushed(&p->session));
    assert_int_equal(say_time(p, PROTO_STARTED), 0);
    assert_int_equal(hear_flush(p), first + 1);

    guest_session_pause(&p->session, true, p->now);
    assert_int_equal(tick(p), 0);
    assert_true(guest_session_is_flushed(&p->session));
    guest_session_pause(&p->session, false, p->now);
    /* Its late answer. */
    assert_int_equal(say_flushed(p, first + 1), 0);
    guest_session_flush(&p->session);
    assert_int_equal(hear_flush(p), first + 2);
    /* STOP brings all. */
    guest_session_stop(&p->session);
    hear_until(p, PROTO_STOP);
    assert_false(guest_session_is_flushed(&p->session));
    assert_int_equal(say_time(p, PROTO_STOPPED), 0);
    assert_int_equal(tick(p), 0);
    assert_true(guest_session_is_flushed(&p->session));
    play_end(p);
}

static void a_guest_may_be_asked_to_hold_what_it_records(void **state)
{
    static const struct {
        bool holds;
        uint8_t wants, asked;
    } cases[] = {
        {false, 0, PROTO_WANT_UNCHECKED},
        {true, 0, PROTO_WANT_UNCHECKED | PROTO_WANT_HOLD | PROTO_WANT_DELAY},
        /* Somebody looks. */
        {true, PROTO_WANT_LIVE, PROTO_WANT_UNCHECKED | PROTO_WANT_LIVE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct played *p = play();
        struct proto_setup setup;

        p->config.holds = cases[i].holds;
        p->config.wants = cases[i].wants;
        join(p);
        expect_hello(p);
        assert_int_equal(say_hello(p, "one", "boot"), 0);
        assert_int_equal(heard(p), PROTO_SETUP);
        assert_int_equal(proto_get_setup(&p->frame, &setup), 0);
        assert_int_equal(setup.wants, cases[i].asked);
        play_end(p);
    }
}

static void an_old_agent_is_not_asked_to_flush(void **state)
{
    struct played *p = play();

    p->version = 1;
    join(p);
    expect_hello(p);
    set_up(p, "one", "boot");
    start(p);
    guest_session_flush(&p->session);
    assert_int_equal(tick(p), 0);
    assert_true(guest_session_is_flushed(&p->session));
    expect_log(
        p, "problem its agent is too old to hand over on demand what it holds: the last events may "
           "be missing from snapshots; install a newer strata-agent;");
    for (int type; (type = heard(p)) != 0;) {
        assert_int_equal(type, PROTO_PING);
        assert_int_equal(say_pong(p, 1000, 1000), 0);
    }
    play_end(p);

    p = play();
    p->version = PROTO_VERSION + 1;
    join(p);
    expect_hello(p);
    assert_int_equal(say_hello(p, "one", "boot"), -EPROTONOSUPPORT);
    play_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_from_hello_to_bye),
        cmocka_unit_test(pages_tell_more_than_a_status_before_them),
        cmocka_unit_test(clocks_are_related_by_the_fastest_exchange),
        cmocka_unit_test(a_guest_that_ends_soon_has_a_rate),
        cmocka_unit_test(slow_exchanges_are_not_made_without_end),
        cmocka_unit_test(what_was_spliced_is_followed_by_a_ping),
        cmocka_unit_test(hello_is_said_again_and_only_the_last_counts),
        cmocka_unit_test(what_is_lost_with_a_connection_shows),
        cmocka_unit_test(an_agent_that_forgot_is_set_up_anew),
        cmocka_unit_test(another_kernel_makes_another_boot),
        cmocka_unit_test(a_paused_machine_is_waited_for),
        cmocka_unit_test(a_closed_port_ends_the_connection),
        cmocka_unit_test(a_silent_agent_is_noticed),
        cmocka_unit_test(pages_that_come_again_begin_another_trace),
        cmocka_unit_test(a_clock_that_is_set_back_begins_another_trace),
        cmocka_unit_test(a_clock_that_wavers_goes_on),
        cmocka_unit_test(waits_are_those_of_the_first_page),
        cmocka_unit_test(damage_costs_what_is_damaged),
        cmocka_unit_test(damage_before_it_runs_begins_anew),
        cmocka_unit_test(no_wait_is_for_ever),
        cmocka_unit_test(time_in_which_nobody_listened_is_no_silence),
        cmocka_unit_test(who_talks_on_is_not_listened_to_for_ever),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(packed_frames_are_unpacked),
        cmocka_unit_test(keys_are_proved_by_both),
        cmocka_unit_test(no_number_of_the_agent_says_what_is_done_next),
        cmocka_unit_test(what_comes_at_the_wrong_time_is_refused),
        cmocka_unit_test(who_is_stopped_in_its_midst_may_finish_its_sentence),
        cmocka_unit_test(an_agent_that_is_busy_is_not_one_that_is_gone),
        cmocka_unit_test(an_agent_is_told_that_its_session_has_failed),
        cmocka_unit_test(pages_that_a_full_disk_drops_are_counted_where_they_lack),
        cmocka_unit_test(a_full_disk_fails_a_session_that_keeps_all),
        cmocka_unit_test(missed_pages_are_marked_as_the_kernel_marks_them),
        cmocka_unit_test(a_flush_is_done_when_its_answer_comes),
        cmocka_unit_test(a_flush_has_a_ping_of_its_own),
        cmocka_unit_test(who_can_bring_nothing_is_flushed),
        cmocka_unit_test(an_old_agent_is_not_asked_to_flush),
        cmocka_unit_test(a_guest_may_be_asked_to_hold_what_it_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
