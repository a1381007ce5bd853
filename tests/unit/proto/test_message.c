/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/sha256.h"
#include "proto/checksum.h"
#include "proto/message.h"

static const char *hex(const uint8_t *p, size_t n)
{
    static char text[129];

    for (size_t i = 0; i < n; i++)
        sprintf(text + 2 * i, "%02x", p[i]);
    return text;
}

/* The values are those of another implementation, by numbers of any size. */
static void checksums_are_as_documented(void **state)
{
    uint8_t bytes[1000] = {0};

    assert_int_equal(proto_check("", 0), 0x1f06a6e9);
    assert_int_equal(proto_check("1", 1), 0x9ed1c144);
    assert_int_equal(proto_check("123456789", 9), 0xf19ccced);
    assert_int_equal(proto_check(bytes, 32), 0x7f4f8768);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + (i >> 3));
    assert_int_equal(proto_check(bytes, 40), 0xada523d4);
    assert_int_equal(proto_check(bytes, 1000), 0x6a1ffab9);
    /* Wherever they lie. */
    for (unsigned i = 0; i < 8; i++) {
        memmove(bytes + i + 1, bytes + i, 40);
        assert_int_equal(proto_check(bytes + i + 1, 40), 0xada523d4);
    }
}

static void checksums_tell_each_bit_and_each_length(void **state)
{
    uint8_t bytes[100];

    memset(bytes, 0x55, sizeof bytes);
    for (size_t n = 1; n <= sizeof bytes; n++) {
        uint32_t sum = proto_check(bytes, n);

        assert_int_not_equal(sum, proto_check(bytes, n - 1));
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_int_not_equal(sum, proto_check(bytes, n));
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void digest(const char *text, unsigned times, uint8_t ret[SHA256_SIZE])
{
    struct sha256 sha;

    sha256_init(&sha);
    while (times-- > 0)
        sha256_put(&sha, text, strlen(text));
    sha256_end(&sha, ret);
}

static void digests_are_those_of_the_standard(void **state)
{
    uint8_t d[SHA256_SIZE];

    digest("", 1, d);
    assert_string_equal(hex(d, sizeof d),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest("abc", 1, d);
    assert_string_equal(hex(d, sizeof d),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, d);
    assert_string_equal(hex(d, sizeof d),
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    digest("aaaaaaaaaa", 100000, d);
    assert_string_equal(hex(d, sizeof d),
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void keyed_digests_are_those_of_the_rfc(void **state)
{
    uint8_t key[131], d[SHA256_SIZE];
    struct hmac_sha256 hmac;

    memset(key, 0x0b, 20);
    hmac_sha256_init(&hmac, key, 20);
    hmac_sha256_put(&hmac, "Hi ", 3);
    hmac_sha256_put(&hmac, "There", 5);
    hmac_sha256_end(&hmac, d);
    assert_string_equal(hex(d, sizeof d),
                        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac_sha256_init(&hmac, "Jefe", 4);
    hmac_sha256_put(&hmac, "what do ya want for nothing?", 28);
    hmac_sha256_end(&hmac, d);
    assert_string_equal(hex(d, sizeof d),
                        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    hmac_sha256_init(&hmac, key, sizeof key);
    hmac_sha256_put(&hmac, "Test Using Larger Than Block-Size Key - Hash Key First", 54);
    hmac_sha256_end(&hmac, d);
    assert_string_equal(hex(d, sizeof d),
                        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* Frames on their way, and the reader at their end. */
struct wire {
    uint8_t bytes[200000];
    size_t len;
    uint64_t sequence;
    struct proto_reader reader;
};

static struct wire *wire_new(size_t body_max)
{
    struct wire *wire = calloc(1, sizeof *wire);

    assert_non_null(wire);
    assert_int_equal(proto_reader_init(&wire->reader, body_max), 0);
    return wire;
}

static void wire_free(struct wire *wire)
{
    proto_reader_done(&wire->reader);
    free(wire);
}

static void wire_put(struct wire *wire, const void *p, size_t n)
{
    memcpy(wire->bytes + wire->len, p, n);
    wire->len += n;
}

static struct proto_out wire_begin(struct wire *wire)
{
    return proto_begin(wire->bytes + wire->len, sizeof wire->bytes - wire->len);
}

static void wire_end(struct wire *wire, struct proto_out *out, enum proto_type type)
{
    assert_int_equal(proto_end(out, type, wire->sequence++), 0);
    wire->len += out->len;
}

/* All there is goes to the reader at once. */
static void wire_send(struct wire *wire)
{
    size_t room;
    uint8_t *p = proto_reader_room(&wire->reader, &room);

    assert_true(room >= wire->len);
    memcpy(p, wire->bytes, wire->len);
    proto_reader_filled(&wire->reader, wire->len);
    wire->len = 0;
}

static void put_ping(struct wire *wire, uint64_t token)
{
    struct proto_out out = wire_begin(wire);

    proto_put_ping(&out, &(struct proto_ping){token, token * 3});
    wire_end(wire, &out, PROTO_PING);
}

static void expect_ping(struct wire *wire, uint64_t token)
{
    struct proto_frame frame;
    struct proto_ping ping;

    assert_int_equal(proto_reader_next(&wire->reader, &frame), 1);
    assert_int_equal(frame.type, PROTO_PING);
    assert_int_equal(proto_get_ping(&frame, &ping), 0);
    assert_int_equal(ping.token, token);
    assert_int_equal(ping.host_time, token * 3);
}

static void expect_no_more(struct wire *wire, uint64_t skipped)
{
    struct proto_frame frame;

    assert_int_equal(proto_reader_next(&wire->reader, &frame), 0);
    assert_int_equal(wire->reader.skipped, skipped);
}

static void frames_come_in_pieces_of_any_size(void **state)
{
    for (size_t piece = 1; piece < 300; piece = piece * 3 / 2 + 1) {
        struct wire *wire = wire_new(PROTO_HOST_BODY_MAX);
        struct proto_frame frame;
        uint64_t token = 0;
        size_t len;

        for (uint64_t i = 0; i < 100; i++)
            put_ping(wire, i);
        len = wire->len;
        for (size_t at = 0; at < len; at += piece) {
            size_t room, n = MIN(piece, len - at);
            uint8_t *p = proto_reader_room(&wire->reader, &room);

            assert_true(room >= n);
            memcpy(p, wire->bytes + at, n);
            proto_reader_filled(&wire->reader, n);
            while (proto_reader_next(&wire->reader, &frame) > 0) {
                struct proto_ping ping;

                assert_int_equal(frame.sequence, token);
                assert_int_equal(proto_get_ping(&frame, &ping), 0);
                assert_int_equal(ping.token, token++);
            }
        }
        assert_int_equal(token, 100);
        expect_no_more(wire, 0);
        wire_free(wire);
    }
}

static void what_is_no_frame_is_passed_over_and_counted(void **state)
{
    struct wire *wire = wire_new(PROTO_HOST_BODY_MAX);

    wire_put(wire, "SGL", 3);
    wire_put(wire, "garbage SGL1 and more of it, much longer than a header is", 57);
    put_ping(wire, 1);
    wire_put(wire, "SSGL", 4);
    put_ping(wire, 2);
    wire_send(wire);
    expect_ping(wire, 1);
    expect_ping(wire, 2);
    expect_no_more(wire, 3 + 57 + 4);
    wire_free(wire);
}

static void a_damaged_frame_costs_only_itself(void **state)
{
    const size_t size = PROTO_HEADER_SIZE + 16;

    /* Each bit of a frame. */
    for (size_t bit = 0; bit < size * 8; bit++) {
        struct wire *wire = wire_new(PROTO_HOST_BODY_MAX);

        put_ping(wire, 1);
        put_ping(wire, 2);
        put_ping(wire, 3);
        wire->bytes[size + bit / 8] ^= (uint8_t)(1u << bit % 8);
        wire_send(wire);
        expect_ping(wire, 1);
        expect_ping(wire, 3);
        expect_no_more(wire, size);
        wire_free(wire);
    }
}

static void a_frame_whose_end_does_not_come_can_be_given_up(void **state)
{
    struct wire *wire = wire_new(PROTO_HOST_BODY_MAX);

    put_ping(wire, 1);
    wire->len -= 10;
    put_ping(wire, 2);
    wire->len -= 1;
    wire_send(wire);
    /* The body of the first is that of the second's header; its checksum tells. */
    expect_no_more(wire, PROTO_HEADER_SIZE + 6);
    assert_true(proto_reader_is_within(&wire->reader));
    proto_reader_give_up(&wire->reader);
    expect_no_more(wire, PROTO_HEADER_SIZE + 6 + PROTO_HEADER_SIZE + 15);
    assert_false(proto_reader_is_within(&wire->reader));
    put_ping(wire, 3);
    wire_send(wire);
    expect_ping(wire, 3);
    proto_reader_reset(&wire->reader);
    expect_no_more(wire, 0);
    wire_free(wire);
}

static void long_bodies_are_not_believed(void **state)
{
    struct wire *wire = wire_new(15);

    put_ping(wire, 1);
    wire_send(wire);
    expect_no_more(wire, PROTO_HEADER_SIZE + 16);
    wire_free(wire);

    wire = wire_new(16);
    put_ping(wire, 1);
    wire_send(wire);
    expect_ping(wire, 1);
    wire_free(wire);
}

static void frames_of_the_longest_body_pass(void **state)
{
    uint8_t *bytes = calloc(1, PROTO_HEADER_SIZE + PROTO_WIRE_MAX + 1);
    struct proto_reader reader;
    struct proto_frame frame;
    size_t sent = 0, room;

    assert_non_null(bytes);
    proto_frame_seal(bytes, PROTO_DATA, PROTO_ZSTD, PROTO_WIRE_MAX, PROTO_BODY_MAX, 7);
    assert_int_equal(proto_reader_init(&reader, PROTO_WIRE_MAX), 0);
    for (unsigned n = 0; n < 3; n++) {
        size_t size = PROTO_HEADER_SIZE + PROTO_WIRE_MAX;

        for (size_t at = 0; at < size; at += room) {
            uint8_t *p = proto_reader_room(&reader, &room);

            assert_true(room > 0);
            room = MIN(room, size - at);
            memcpy(p, bytes + at, room);
            proto_reader_filled(&reader, room);
            while (proto_reader_next(&reader, &frame) > 0) {
                assert_int_equal(frame.size, PROTO_WIRE_MAX);
                assert_int_equal(frame.flags, PROTO_ZSTD);
                assert_int_equal(frame.sequence, 7);
                sent++;
            }
        }
    }
    assert_int_equal(sent, 3);
    /* One more than may be. */
    proto_frame_seal(bytes, PROTO_DATA, PROTO_ZSTD, PROTO_WIRE_MAX + 1, PROTO_BODY_MAX, 7);
    memcpy(proto_reader_room(&reader, &room), bytes, 100);
    proto_reader_filled(&reader, 100);
    assert_int_equal(proto_reader_next(&reader, &frame), 0);
    assert_int_equal(reader.skipped, 100);
    proto_reader_done(&reader);
    free(bytes);
}

/* Who has not seen a body says so, and its header is all that is held to. */
static void unchecked_frames_pass(void **state)
{
    uint8_t bytes[PROTO_HEADER_SIZE + 100] = {0};
    struct proto_reader reader;
    struct proto_frame frame;
    size_t room;

    proto_frame_seal(bytes, PROTO_DATA, PROTO_UNCHECKED, 100, 100, 7);
    memset(bytes + PROTO_HEADER_SIZE, 0x55, 100);
    assert_int_equal(proto_reader_init(&reader, PROTO_WIRE_MAX), 0);
    memcpy(proto_reader_room(&reader, &room), bytes, sizeof bytes);
    proto_reader_filled(&reader, sizeof bytes);
    assert_int_equal(proto_reader_next(&reader, &frame), 1);
    assert_int_equal(frame.flags, PROTO_UNCHECKED);
    assert_int_equal(frame.size, 100);
    /* Not packed as well, and not of another length. */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before = reader.skipped;

        proto_frame_seal(bytes, PROTO_DATA, i ? PROTO_UNCHECKED : PROTO_UNCHECKED | PROTO_ZSTD, 100,
                         i ? 101 : 100, 8);
        memcpy(proto_reader_room(&reader, &room), bytes, sizeof bytes);
        proto_reader_filled(&reader, sizeof bytes);
        assert_int_equal(proto_reader_next(&reader, &frame), 0);
        assert_int_equal(reader.skipped - before, sizeof bytes);
    }
    proto_reader_done(&reader);
}

/* One message goes out and comes in: FRAME is what came. */
static struct wire *exchange(struct wire *wire, struct proto_out *out, enum proto_type type,
                             struct proto_frame *ret_frame)
{
    wire_end(wire, out, type);
    wire_send(wire);
    assert_int_equal(proto_reader_next(&wire->reader, ret_frame), 1);
    assert_int_equal(ret_frame->type, type);
    return wire;
}

/* What is one byte too short or too long is refused. */
#define CHECK_LENGTH(get, type)                                     \
    do {                                                            \
        type again;                                                 \
        struct proto_frame wrong = frame;                           \
        uint8_t *longer = calloc(1, frame.size + 1);                \
                                                                    \
        assert_non_null(longer);                                    \
        memcpy(longer, frame.body, frame.size);                     \
        wrong.body = longer;                                        \
        for (wrong.size = 0; wrong.size < frame.size; wrong.size++) \
            assert_int_equal(get(&wrong, &again), -EBADMSG);        \
        wrong.size = frame.size + 1;                                \
        assert_int_equal(get(&wrong, &again), -EBADMSG);            \
        free(longer);                                               \
    } while (0)

static void hellos_are_read_as_they_were_put(void **state)
{
    struct wire *wire = wire_new(PROTO_BODY_MAX);
    struct proto_out out = wire_begin(wire);
    struct proto_host_hello host = {1, 3, "0123456789abcde"}, host_got;
    struct proto_agent_hello agent = {
        .version = 1,
        .answers = "fedcba987654321",
        .nonce = "edcba9876543210",
        .needs_auth = true,
        .agent = proto_text("0.1.0"),
        .session = "session",
        .release = proto_text("6.1.0-18-amd64"),
        .machine = proto_text("x86_64"),
        .boot_id = proto_text("1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
        .page_size = 4096,
        .long_size = 8,
        .n_possible = 8,
        .clocks = proto_text("local global x86-tsc"),
        .clock = proto_text("local"),
    };
    struct proto_agent_hello got;
    const uint32_t cpus[] = {0, 2, 4095};
    struct proto_frame frame;

    proto_put_host_hello(&out, &host);
    exchange(wire, &out, PROTO_HELLO, &frame);
    assert_int_equal(proto_get_host_hello(&frame, &host_got), 0);
    assert_memory_equal(&host, &host_got, sizeof host);
    CHECK_LENGTH(proto_get_host_hello, struct proto_host_hello);

    out = wire_begin(wire);
    proto_put_agent_hello(&out, &agent, cpus, 3);
    exchange(wire, &out, PROTO_HELLO, &frame);
    assert_int_equal(proto_get_agent_hello(&frame, &got), 0);
    assert_int_equal(got.version, 1);
    assert_memory_equal(got.answers, agent.answers, sizeof got.answers);
    assert_memory_equal(got.nonce, agent.nonce, sizeof got.nonce);
    assert_true(got.needs_auth);
    assert_true(proto_text_is(&got.agent, "0.1.0"));
    assert_memory_equal(got.session, agent.session, sizeof got.session);
    assert_true(proto_text_is(&got.release, "6.1.0-18-amd64"));
    assert_true(proto_text_is(&got.machine, "x86_64"));
    assert_true(proto_text_is(&got.boot_id, "1b4e28ba-2fa1-11d2-883f-0016d3cca427"));
    assert_int_equal(got.page_size, 4096);
    assert_int_equal(got.long_size, 8);
    assert_false(got.big_endian);
    assert_int_equal(got.n_possible, 8);
    assert_int_equal(got.online.n, 3);
    assert_int_equal(proto_u32_at(&got.online, 2), 4095);
    assert_true(proto_text_is(&got.clocks, "local global x86-tsc"));
    assert_true(proto_text_is(&got.clock, "local"));
    CHECK_LENGTH(proto_get_agent_hello, struct proto_agent_hello);
    wire_free(wire);
}

static void hellos_that_make_no_sense_are_refused(void **state)
{
    struct wire *wire = wire_new(PROTO_BODY_MAX);
    const struct proto_agent_hello good = {.long_size = 8, .n_possible = 1};
    struct proto_agent_hello hello = good, got;
    struct proto_host_hello host;
    struct proto_frame frame;
    struct proto_out out;
    uint32_t cpu = 0;

    for (unsigned what = 0; what < 6; what++) {
        hello = good;
        cpu = 0;
        if (what == 1)
            hello.long_size = 2;
        else if (what == 2)
            hello.n_possible = PROTO_CPUS_MAX + 1;
        else if (what == 3)
            cpu = PROTO_CPUS_MAX;
        else if (what == 4)
            hello.release = (struct proto_text){"a\0b", 3};
        hello.release.p = hello.release.p ? hello.release.p : "";
        out = wire_begin(wire);
        proto_put_agent_hello(&out, &hello, &cpu, 1);
        if (what == 5)
            out.start[PROTO_HEADER_SIZE + 2 + 2 * PROTO_NONCE_SIZE] = 2; /* neither 0 nor 1 */
        exchange(wire, &out, PROTO_HELLO, &frame);
        assert_int_equal(proto_get_agent_hello(&frame, &got), what ? -EBADMSG : 0);
    }
    out = wire_begin(wire);
    proto_put_host_hello(&out, &(struct proto_host_hello){2, 1, {0}});
    exchange(wire, &out, PROTO_HELLO, &frame);
    assert_int_equal(proto_get_host_hello(&frame, &host), -EBADMSG);
    wire_free(wire);
}

static void setups_are_read_as_they_were_put(void **state)
{
    struct wire *wire = wire_new(PROTO_BODY_MAX);
    struct proto_out out = wire_begin(wire);
    struct proto_setup setup = {.buffer_kib = 1408,
                                .queue_kib = 4096,
                                .keep_seconds = 60,
                                .clock = proto_text("x86-tsc"),
                                .level = 3,
                                .wants = PROTO_WANT_KALLSYMS | PROTO_WANT_CMDLINES,
                                .n_events = 2};
    struct proto_setup got;
    struct proto_setup_event event;
    struct proto_frame frame;

    proto_put_setup(&out, &setup);
    proto_put_setup_event(&out,
                          &(struct proto_setup_event){proto_text("sched:sched_*"), proto_text("")});
    proto_put_setup_event(&out,
                          &(struct proto_setup_event){proto_text("irq:*"), proto_text("irq == 7")});
    exchange(wire, &out, PROTO_SETUP, &frame);
    CHECK_LENGTH(proto_get_setup, struct proto_setup);
    assert_int_equal(proto_get_setup(&frame, &got), 0);
    assert_int_equal(got.buffer_kib, 1408);
    assert_int_equal(got.queue_kib, 4096);
    assert_int_equal(got.keep_seconds, 60);
    assert_true(proto_text_is(&got.clock, "x86-tsc"));
    assert_int_equal(got.level, 3);
    assert_int_equal(got.wants, PROTO_WANT_KALLSYMS | PROTO_WANT_CMDLINES);
    assert_true(proto_setup_next(&got, &event));
    assert_true(proto_text_is(&event.event, "sched:sched_*"));
    assert_true(proto_text_is(&event.filter, ""));
    assert_true(proto_setup_next(&got, &event));
    assert_true(proto_text_is(&event.event, "irq:*"));
    assert_true(proto_text_is(&event.filter, "irq == 7"));
    assert_false(proto_setup_next(&got, &event));

    setup.n_events = 0;
    setup.level = 20;
    out = wire_begin(wire);
    proto_put_setup(&out, &setup);
    exchange(wire, &out, PROTO_SETUP, &frame);
    assert_int_equal(proto_get_setup(&frame, &got), -EBADMSG);
    wire_free(wire);
}

static void pages_and_files_are_read_as_they_were_put(void **state)
{
    struct wire *wire = wire_new(PROTO_BODY_MAX);
    struct proto_out out = wire_begin(wire);
    struct proto_data data = {.cpu = 3, .n_pages = 2, .first = 99}, data_got;
    struct proto_meta_piece meta = {
        .kind = PROTO_META_FILE, .path = proto_text("events/a/b/format"), .last = true};
    struct proto_meta_piece meta_got;
    struct proto_ready ready = {
        .n_events = 5, .clock = proto_text("mono"), .hz = 1000000000, .page_size = 4096};
    struct proto_ready ready_got;
    const uint32_t cpus[] = {0, 1};
    struct proto_frame frame;
    uint8_t pages[8192];

    memset(pages, 7, sizeof pages);
    proto_put_data(&out, &data);
    proto_put(&out, pages, sizeof pages);
    exchange(wire, &out, PROTO_DATA, &frame);
    assert_int_equal(proto_get_data(&frame, &data_got), 0);
    assert_int_equal(data_got.cpu, 3);
    assert_int_equal(data_got.n_pages, 2);
    assert_int_equal(data_got.first, 99);
    assert_int_equal(data_got.size, sizeof pages);
    assert_memory_equal(data_got.pages, pages, sizeof pages);

    /* Two pages do not make an odd length; no pages make none; numbers do not go round. */
    data.n_pages = 2;
    out = wire_begin(wire);
    proto_put_data(&out, &data);
    proto_put(&out, pages, 4097);
    exchange(wire, &out, PROTO_DATA, &frame);
    assert_int_equal(proto_get_data(&frame, &data_got), -EBADMSG);
    data.n_pages = 0;
    out = wire_begin(wire);
    proto_put_data(&out, &data);
    exchange(wire, &out, PROTO_DATA, &frame);
    assert_int_equal(proto_get_data(&frame, &data_got), -EBADMSG);
    data.n_pages = 2;
    data.first = UINT64_MAX - 1;
    out = wire_begin(wire);
    proto_put_data(&out, &data);
    proto_put(&out, pages, 4096);
    exchange(wire, &out, PROTO_DATA, &frame);
    assert_int_equal(proto_get_data(&frame, &data_got), -EBADMSG);

    out = wire_begin(wire);
    proto_put_meta(&out, &meta);
    proto_put(&out, "name: b\n", 8);
    exchange(wire, &out, PROTO_META, &frame);
    assert_int_equal(proto_get_meta(&frame, &meta_got), 0);
    assert_int_equal(meta_got.kind, PROTO_META_FILE);
    assert_true(proto_text_is(&meta_got.path, "events/a/b/format"));
    assert_true(meta_got.last);
    assert_int_equal(meta_got.size, 8);
    assert_memory_equal(meta_got.p, "name: b\n", 8);
    meta.kind = PROTO_META_FACT + 1;
    out = wire_begin(wire);
    proto_put_meta(&out, &meta);
    exchange(wire, &out, PROTO_META, &frame);
    assert_int_equal(proto_get_meta(&frame, &meta_got), -EBADMSG);

    out = wire_begin(wire);
    proto_put_ready(&out, &ready, cpus, 2);
    exchange(wire, &out, PROTO_READY, &frame);
    CHECK_LENGTH(proto_get_ready, struct proto_ready);
    assert_int_equal(proto_get_ready(&frame, &ready_got), 0);
    assert_int_equal(ready_got.n_events, 5);
    assert_true(proto_text_is(&ready_got.clock, "mono"));
    assert_int_equal(ready_got.hz, 1000000000);
    assert_int_equal(ready_got.page_size, 4096);
    assert_int_equal(ready_got.cpus.n, 2);
    wire_free(wire);
}

static void the_other_messages_are_read_as_they_were_put(void **state)
{
    struct wire *wire = wire_new(PROTO_BODY_MAX);
    struct proto_out out = wire_begin(wire);
    struct proto_status status = {.time = 12345, .n_cpus = 2}, status_got;
    struct proto_status_cpu cpu = {1, true, 2, 3, 4, 5, 6, 7, 8, 9, 10}, cpu_got;
    struct proto_pong pong = {{1, 2}, 3, 4, 5, 6}, pong_got;
    struct proto_failed failed = {22, proto_text("events/x/enable"), proto_text("write y")};
    struct proto_failed failed_got;
    struct proto_resume resume = {.session = "session", .n_cpus = 1}, resume_got;
    struct proto_flushed flushed;
    uint8_t proof[SHA256_SIZE] = {1, 2, 3}, proof_got[SHA256_SIZE];
    struct proto_frame frame;
    uint64_t time;
    uint32_t n;

    proto_put_status(&out, &status);
    proto_put_status_cpu(&out, &(struct proto_status_cpu){0});
    proto_put_status_cpu(&out, &cpu);
    exchange(wire, &out, PROTO_STATUS, &frame);
    CHECK_LENGTH(proto_get_status, struct proto_status);
    assert_int_equal(proto_get_status(&frame, &status_got), 0);
    assert_int_equal(status_got.time, 12345);
    assert_int_equal(status_got.n_cpus, 2);
    cpu_got = proto_status_at(&status_got, 1);
    assert_int_equal(cpu_got.cpu, 1);
    assert_true(cpu_got.online);
    assert_memory_equal(&cpu_got.pages_read, &cpu.pages_read, 9 * sizeof(uint64_t));

    out = wire_begin(wire);
    proto_put_pong(&out, &pong);
    exchange(wire, &out, PROTO_PONG, &frame);
    CHECK_LENGTH(proto_get_pong, struct proto_pong);
    assert_int_equal(proto_get_pong(&frame, &pong_got), 0);
    assert_memory_equal(&pong, &pong_got, sizeof pong);

    out = wire_begin(wire);
    proto_put_failed(&out, &failed);
    exchange(wire, &out, PROTO_FAILED, &frame);
    CHECK_LENGTH(proto_get_failed, struct proto_failed);
    assert_int_equal(proto_get_failed(&frame, &failed_got), 0);
    assert_int_equal(failed_got.error, 22);
    assert_true(proto_text_is(&failed_got.what, "events/x/enable"));
    assert_true(proto_text_is(&failed_got.hint, "write y"));

    out = wire_begin(wire);
    proto_put_resume(&out, &resume);
    proto_put_resume_cpu(&out, 7, 1000);
    exchange(wire, &out, PROTO_RESUME, &frame);
    CHECK_LENGTH(proto_get_resume, struct proto_resume);
    assert_int_equal(proto_get_resume(&frame, &resume_got), 0);
    assert_int_equal(resume_got.n_cpus, 1);
    proto_resume_at(&resume_got, 0, &n, &time);
    assert_int_equal(n, 7);
    assert_int_equal(time, 1000);

    out = wire_begin(wire);
    proto_put_u64(&out, 77);
    exchange(wire, &out, PROTO_STOPPED, &frame);
    assert_int_equal(proto_get_time(&frame, &time), 0);
    assert_int_equal(time, 77);
    assert_int_equal(proto_get_nothing(&frame), -EBADMSG);

    out = wire_begin(wire);
    proto_put_u64(&out, 78);
    exchange(wire, &out, PROTO_FLUSH, &frame);
    CHECK_LENGTH(proto_get_flush, uint64_t);
    assert_int_equal(proto_get_flush(&frame, &time), 0);
    assert_int_equal(time, 78);

    out = wire_begin(wire);
    proto_put_flushed(&out, &(struct proto_flushed){79, 80});
    exchange(wire, &out, PROTO_FLUSHED, &frame);
    CHECK_LENGTH(proto_get_flushed, struct proto_flushed);
    assert_int_equal(proto_get_flushed(&frame, &flushed), 0);
    assert_int_equal(flushed.token, 79);
    assert_int_equal(flushed.time, 80);
    assert_string_equal(proto_type_name(PROTO_FLUSHED), "FLUSHED");

    out = wire_begin(wire);
    proto_put(&out, proof, sizeof proof);
    exchange(wire, &out, PROTO_AUTH, &frame);
    assert_int_equal(proto_get_auth(&frame, proof_got), 0);
    assert_memory_equal(proof, proof_got, sizeof proof);

    out = wire_begin(wire);
    exchange(wire, &out, PROTO_BYE, &frame);
    assert_int_equal(proto_get_nothing(&frame), 0);
    assert_int_equal(proto_get_auth(&frame, proof_got), -EBADMSG);
    wire_free(wire);
}

static void lists_may_not_claim_more_than_there_is(void **state)
{
    uint8_t body[64] = {0};
    struct proto_frame frame = {.type = PROTO_STATUS, .size = sizeof body, .body = body};
    struct proto_status status;

    /* 4,294,967,295 entries. */
    memset(body + 8, 0xff, 4);
    assert_int_equal(proto_get_status(&frame, &status), -EBADMSG);
    /* 4096 that are not there. */
    memcpy(body + 8, "\0\x10\0\0", 4);
    assert_int_equal(proto_get_status(&frame, &status), -EBADMSG);
}

static void what_does_not_fit_is_told(void **state)
{
    uint8_t small[PROTO_HEADER_SIZE + 10];
    struct proto_out out = proto_begin(small, sizeof small);

    proto_put_u64(&out, 1);
    assert_int_equal(proto_end(&out, PROTO_STARTED, 0), 0);
    proto_put_u32(&out, 1);
    assert_int_equal(proto_end(&out, PROTO_STARTED, 0), -E2BIG);
}

static void proofs_depend_on_all_that_goes_into_them(void **state)
{
    const uint8_t a[PROTO_NONCE_SIZE] = {1}, b[PROTO_NONCE_SIZE] = {2};
    uint8_t proofs[6][SHA256_SIZE];

    proto_host_proof("key", 3, a, b, proofs[0]);
    proto_host_proof("key", 3, b, a, proofs[1]);
    proto_host_proof("kez", 3, a, b, proofs[2]);
    proto_agent_proof("key", 3, a, b, proofs[3]);
    proto_agent_proof("key", 3, b, a, proofs[4]);
    proto_host_proof("key", 3, a, a, proofs[5]);
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; j < 6; j++)
            assert_int_equal(sha256_equal(proofs[i], proofs[j]), i == j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_as_documented),
        cmocka_unit_test(checksums_tell_each_bit_and_each_length),
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(keyed_digests_are_those_of_the_rfc),
        cmocka_unit_test(frames_come_in_pieces_of_any_size),
        cmocka_unit_test(what_is_no_frame_is_passed_over_and_counted),
        cmocka_unit_test(a_damaged_frame_costs_only_itself),
        cmocka_unit_test(a_frame_whose_end_does_not_come_can_be_given_up),
        cmocka_unit_test(long_bodies_are_not_believed),
        cmocka_unit_test(frames_of_the_longest_body_pass),
        cmocka_unit_test(unchecked_frames_pass),
        cmocka_unit_test(hellos_are_read_as_they_were_put),
        cmocka_unit_test(hellos_that_make_no_sense_are_refused),
        cmocka_unit_test(setups_are_read_as_they_were_put),
        cmocka_unit_test(pages_and_files_are_read_as_they_were_put),
        cmocka_unit_test(the_other_messages_are_read_as_they_were_put),
        cmocka_unit_test(lists_may_not_claim_more_than_there_is),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(proofs_depend_on_all_that_goes_into_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
