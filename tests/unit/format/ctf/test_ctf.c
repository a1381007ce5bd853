/* SPDX-License-Identifier: MIT */
/* The reader of CTF, on metadata and streams made here. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"
#include "event/program.h"
#include "event/value.h"
#include "format/ctf/ctf.h"

/* ---- Traces that are made here ---- */

struct bytes {
    uint8_t at[1 << 16];
    size_t n;
    bool big_endian;
};

static struct bytes stream;

static void put(const void *p, size_t n)
{
    assert_true(stream.n + n <= sizeof stream.at);
    memcpy(stream.at + stream.n, p, n);
    stream.n += n;
}

static void put_int(uint64_t v, unsigned size)
{
    uint8_t out[8];

    for (unsigned i = 0; i < size; i++)
        out[stream.big_endian ? size - 1 - i : i] = (uint8_t)(v >> 8 * i);
    put(out, size);
}

static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
#define UUID "\"01020304-0506-0708-090a-0b0c0d0e0f10\""

/* The whole of a packet of libstrata's: its records are in RECORDS. */
struct packet {
    uint64_t begin, end, number, discarded;
    uint32_t tid;
    const char *name;
};

static size_t packet_start;

static void open_packet(const struct packet *p)
{
    char name[16] = "";

    packet_start = stream.n;
    put_int(0xc1fc1fc1, 4);
    put(uuid, 16);
    put_int(0, 4);
    put_int(p->begin, 8);
    put_int(p->end, 8);
    put_int(0, 8);
    put_int(0, 8);
    put_int(p->number, 8);
    put_int(p->discarded, 8);
    put_int(100, 4);
    put_int(p->tid, 4);
    memcpy(name, p->name ? p->name : "", p->name ? strlen(p->name) : 0);
    put(name, 16);
}

static void close_packet(size_t padding)
{
    size_t end = stream.n;

    stream.n = packet_start + 40;
    put_int(8 * (end - packet_start), 8);
    put_int(8 * (end - packet_start + padding), 8);
    stream.n = end;
    memset(stream.at + end, 0xee, padding);
    stream.n += padding;
}

static void put_record(unsigned id, uint64_t time)
{
    while ((stream.n - packet_start) % 8)
        put("\xee", 1);
    if (stream.big_endian)
        put_int((uint64_t)id << 48 | (time & 0xffffffffffff), 8);
    else
        put_int(time << 16 | id, 8);
}

#define NATIVE(order)                                                                           \
    "/* CTF 1.8 */\n"                                                                           \
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"                  \
    "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text_t;\n"  \
    "typealias integer { size = 16; align = 64; signed = false; } := class_t;\n"                \
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"                \
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"                \
    "trace { major = 1; minor = 8; byte_order = " order "; uuid = " UUID ";\n"                  \
    "  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };\n" \
    "env { tracer_name = \"strata\"; procname = \"p\\\"q\"; vpid = 100;\n"                      \
    "  clock_ticks = 1000; clock_monotonic = 5000000000; };\n"                                  \
    "clock { name = \"tsc\"; freq = 2000000000; offset_s = 1; offset = 0; };\n"                 \
    "typealias integer { size = 48; align = 8; map = clock.tsc.value; } := short_time_t;\n"     \
    "typealias integer { size = 64; align = 8; map = clock.tsc.value; } := time_t;\n"           \
    "stream { id = 0;\n"                                                                        \
    "  packet.context := struct { time_t timestamp_begin; time_t timestamp_end;\n"              \
    "    uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;\n"               \
    "    uint64_t events_discarded; uint32_t pid; uint32_t tid; text_t thread_name[16]; };\n"   \
    "  event.header := struct { class_t id; short_time_t timestamp; }; };\n"                    \
    "event { id = 1; name = \"numbers\"; stream_id = 0;\n"                                      \
    "  /* format \"a %d b 0x%x c %p d %d\" */\n"                                                \
    "  fields := struct {\n"                                                                    \
    "    integer { size = 16; align = 8; signed = true; } _a; /* type \"short\" */\n"           \
    "    integer { size = 32; align = 8; base = 16; } _b; /* type \"uint32_t\" */\n"            \
    "    integer { size = 64; align = 8; base = 16; } _c; /* type \"void *\" */\n"              \
    "    integer { size = 8; align = 8; } _d; /* type \"bool\" */\n"                            \
    "  }; };\n"                                                                                 \
    "event { id = 2; name = \"texts\"; stream_id = 0;\n"                                        \
    "  fields := struct { string { encoding = UTF8; } _event; integer { size = 32; align = 8; " \
    "signed = true; } _n;\n"                                                                    \
    "    string _z; }; };\n"                                                                    \
    "event { id = 3; name = \"none\"; stream_id = 0; };\n"

/* ---- Reading them ---- */

static struct catalogue catalogue;
static struct error error;
static struct ctf_trace *trace;

/* What was read, an item a line. */
static char shown[1 << 16];

static int open_metadata(const char *metadata)
{
    catalogue_done(&catalogue);
    error_clear(&error);
    return ctf_trace_new("t", "t/metadata", metadata, strlen(metadata), &catalogue, &trace, &error);
}

static void show(const struct item *item, struct text *text)
{
    text_printf(text, "%lld", (long long)item->time);
    if (item->cpu != CPU_UNKNOWN)
        text_printf(text, " cpu%d", item->cpu);
    if (item->pid != PID_UNKNOWN) {
        const char *name = item_task_name(item);

        text_printf(text, " %s/%d", name ? name : "", item->pid);
    }
    if (item->vcpu != VCPU_UNKNOWN && item->origin->put_vcpu) {
        text_put_char(text, ' ');
        item->origin->put_vcpu(item->origin, item->vcpu, text);
    } else if (item->vcpu != VCPU_UNKNOWN) {
        text_printf(text, " vcpu%d", item->vcpu);
    }
    if (item->kind == ITEM_EVENT) {
        text_printf(text, " %s ", item->class->name);
        item_put_text(item, text);
    } else {
        text_printf(text, " LOST %lld since %lld", (long long)item->lost, (long long)item->since);
        if (item->cause == LOSS_UNREADABLE)
            text_printf(text, " skipped %u", item->skipped);
        if (item->is_open)
            text_put_str(text, " open");
    }
    if (item->before_loss)
        text_put_str(text, " !");
    text_put_char(text, '\n');
}

/* Reads the stream through a pipe's worth of BUFFER bytes. What it ended with. */
static int read_stream(bool keep_going, size_t buffer)
{
    struct reader_options options = {.keep_going = keep_going};
    struct text text = TEXT_IN_MEMORY;
    const struct item *items;
    struct source *source;
    struct input in;
    FILE *f = tmpfile();
    int64_t last = TIME_UNKNOWN;
    int n;

    assert_non_null(f);
    assert_int_equal(fwrite(stream.at, 1, stream.n, f), stream.n);
    assert_int_equal(fflush(f), 0);
    rewind(f);
    assert_int_equal(input_open_fd(&in, dup(fileno(f)), "s", buffer, &error), 0);
    fclose(f);
    assert_int_equal(ctf_stream_open(trace, &in, &options, &source, &error), 0);
    while ((n = source_next(source, &items)) > 0)
        for (int i = 0; i < n; i++) {
            if (source->ordered)
                assert_true(items[i].time >= last);
            last = items[i].time;
            show(&items[i], &text);
        }
    error = source->error;
    assert_int_equal(source_next(source, &items), n);
    text_put_char(&text, '\0');
    snprintf(shown, sizeof shown, "%s", text.start);
    text_done(&text);
    source_free(source);
    return n;
}

static void expect(int end, const char *text)
{
    int n = read_stream(false, 4096);

    assert_string_equal(shown, text);
    assert_int_equal(n, end);
}

static void put_numbers(uint64_t time, int a)
{
    put_record(1, time);
    put_int((uint64_t)a, 2);
    put_int(0xbeef, 4);
    put_int(0x1234, 8);
    put_int(1, 1);
}

static void put_texts(uint64_t time, const char *s, int n)
{
    put_record(2, time);
    put(s, strlen(s) + 1);
    put_int((uint64_t)(int64_t)n, 4);
    put("z", 2);
}

/* ---- libstrata's ---- */

static void native(bool big_endian)
{
    const char *text = "5000000500 worker/101 numbers a -2 b 0xbeef c 0x1234 d 1\n"
                       "5000000501 worker/101 texts event=\"hello\" n=-7 z=\"z\"\n"
                       "5000000501 worker/101 none  !\n"
                       "5000001500 /101 LOST 3 since -9223372036854775808\n"
                       "5000004500 other/101 none  !\n"
                       "5000005500 /101 LOST 2 since 5000001500\n";

    stream = (struct bytes){.big_endian = big_endian};
    assert_int_equal(open_metadata(big_endian ? NATIVE("be") : NATIVE("le")), 0);
    open_packet(&(struct packet){2000, 4000, 0, 3, 101, "worker"});
    put_numbers(2000, -2);
    put_texts(2002, "hello", -7);
    put_record(3, 2003);
    close_packet(13);
    open_packet(&(struct packet){5000, 12000, 1, 5, 101, "other"});
    put_record(3, 10000);
    close_packet(0);
    expect(0, text);
    for (size_t buffer = 96; buffer < 300; buffer++) {
        assert_int_equal(read_stream(false, buffer), 0);
        assert_string_equal(shown, text);
    }
}

static void test_native(void **state)
{
    native(false);
    native(true);
}

/* 48 bits of the clock wrap; a packet may be open for longer than that. */
static void test_wrap(void **state)
{
    uint64_t begin = (UINT64_C(5) << 48) - 1000;

    stream = (struct bytes){0};
    assert_int_equal(open_metadata(NATIVE("le")), 0);
    open_packet(&(struct packet){begin, begin + (UINT64_C(3) << 47), 0, 0, 5, NULL});
    put_record(3, begin);
    put_record(3, begin + 2000);
    put_record(3, begin + (UINT64_C(1) << 47));
    put_record(3, begin + (UINT64_C(2) << 47));
    put_record(3, begin + (UINT64_C(3) << 47));
    close_packet(0);
    expect(0, "703692441775640 /5 none \n"
              "703692441776640 /5 none \n"
              "774061185953304 /5 none \n"
              "844429930130968 /5 none \n"
              "914798674308632 /5 none \n");
}

/* Packets that are missing are a loss of nobody knows how many. */
static void test_gap(void **state)
{
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(NATIVE("le")), 0);
    open_packet(&(struct packet){2000, 3000, 0, 0, 5, NULL});
    put_record(3, 2000);
    close_packet(8);
    open_packet(&(struct packet){4000, 5000, 3, 4, 5, NULL});
    put_record(3, 4000);
    close_packet(0);
    expect(0, "5000000500 /5 none  !\n"
              "5000001500 /5 LOST -1 since 5000001000\n"
              "5000001500 /5 none  !\n"
              "5000002000 /5 LOST 4 since 5000001000\n");
}

static void made_of_three(void)
{
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(NATIVE("le")), 0);
    for (unsigned i = 0; i < 3; i++) {
        open_packet(&(struct packet){2000 + 2000 * i, 3000 + 2000 * i, i, 0, 5, NULL});
        put_record(3, 2000 + 2000 * i);
        put_texts(2001 + 2000 * i, "x", (int)i);
        put_record(3, 2100 + 2000 * i);
        close_packet(8);
    }
}

/* A file that was cut: all that is whole, and then an error where it was cut. */
static void test_cut(void **state)
{
    size_t whole;

    made_of_three();
    whole = stream.n;
    for (size_t n = 0; n <= whole; n++) {
        int end;
        size_t lines = 0;

        stream.n = n;
        end = read_stream(false, 4096);
        for (const char *p = shown; *p; p++)
            lines += *p == '\n';
        assert_int_equal(end, n % (whole / 3) ? -EBADMSG : 0);
        /* header 96; records at 96, 104 (16 long), 120. */
        assert_int_equal(lines, n / (whole / 3) * 3 + (n % (whole / 3) >= 104) +
                                    (n % (whole / 3) >= 120) + (n % (whole / 3) >= 128));
        if (end < 0)
            assert_non_null(strstr(error.what, "the file ends in the middle of a packet"));
        assert_int_equal(read_stream(true, 4096), 0);
        assert_int_equal(strstr(shown, "LOST -1") != NULL, end < 0);
    }
}

/* Damage: an error at its place; passed over when one is told to, up to the next packet. */
static void test_damage(void **state)
{
    size_t packet;

    made_of_three();
    packet = stream.n / 3;
    stream.at[packet + 104] = 9; /* the id of the second event */
    assert_int_equal(read_stream(false, 4096), -EBADMSG);
    assert_string_equal(shown, "5000000500 /5 none \n5000000500 /5 texts event=\"x\" n=0 z=\"z\"\n"
                               "5000000550 /5 none \n5000001500 /5 none \n");
    assert_int_equal(error.offset, packet + 104);
    assert_string_equal(error.what, "unknown event id 9: the metadata does not declare it");
    assert_int_equal(read_stream(true, 4096), 0);
    assert_string_equal(shown, "5000000500 /5 none \n5000000500 /5 texts event=\"x\" n=0 z=\"z\"\n"
                               "5000000550 /5 none \n5000001500 /5 none  !\n"
                               "5000002000 /5 LOST -1 since 5000001500 skipped 24\n"
                               "5000002500 /5 none \n5000002500 /5 texts event=\"x\" n=2 z=\"z\"\n"
                               "5000002550 /5 none \n");

    /* A header that is none: the next packet is found by its magic. */
    for (size_t buffer = 128; buffer < 400; buffer += 7) {
        made_of_three();
        stream.at[packet] = 0;
        assert_int_equal(read_stream(false, buffer), -EBADMSG);
        assert_int_equal(error.offset, packet);
        assert_int_equal(read_stream(true, buffer), 0);
        assert_string_equal(
            shown, "5000000500 /5 none \n5000000500 /5 texts event=\"x\" n=0 z=\"z\"\n"
                   "5000000550 /5 none  !\n5000002500 /5 LOST -1 since 5000001000 skipped 136 !\n"
                   "5000002500 /5 LOST -1 since 5000001000\n"
                   "5000002500 /5 none \n5000002500 /5 texts event=\"x\" n=2 z=\"z\"\n"
                   "5000002550 /5 none \n");
    }

    /* Each of these is refused. */
    static const struct {
        size_t offset;
        uint64_t value;
        const char *what;
    } wrongs[] = {
        {4, 0, "packet of another trace: its UUID differs"},
        {20, 7, "unknown stream id 7: the metadata does not declare it"},
        {32, 1, "the packet ends before it begins"},
        {40, 8, "invalid packet: size 1088 bits, content 8 bits"},
        {48, 8, "invalid packet: size 8 bits, content 1024 bits"},
        {48, 1025, "invalid packet: size 1025 bits, content 1024 bits"},
        {56, 0, "packet number 0 follows packet number 0"},
    };

    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        made_of_three();
        assert_int_equal(stream.n, 3 * 136);
        if (wrongs[i].offset < 24)
            store_le32(stream.at + packet + wrongs[i].offset, (uint32_t)wrongs[i].value);
        else
            store_le64(stream.at + packet + wrongs[i].offset, wrongs[i].value);
        assert_int_equal(read_stream(false, 4096), -EBADMSG);
        assert_string_equal(error.what, wrongs[i].what);
        assert_int_equal(error.offset, packet);
    }
}

/* ---- Others' ---- */

#define FOREIGN(order)                                                                         \
    "/* CTF 1.8 */\n"                                                                          \
    "typealias integer { size = 8; align = 8; } := uint8_t;\n"                                 \
    "typealias integer { size = 32; align = 8; } := uint32_t;\n"                               \
    "typealias integer { size = 64; align = 8; } := unsigned long;\n"                          \
    "typealias integer { size = 5; align = 1; } := uint5_t;\n"                                 \
    "trace { major = 1; minor = 8; byte_order = " order ";\n"                                  \
    "  packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"                  \
    "clock { name = \"cycles\"; freq = 1000; offset_s = 10; offset = 500; };\n"                \
    "typealias integer { size = 27; align = 1; map = clock.cycles.value; } := uint27_clock;\n" \
    "typealias integer { size = 64; align = 8; map = clock.cycles.value; } := uint64_clock;\n" \
    "struct packet_context { uint64_clock timestamp_begin; uint64_clock timestamp_end;\n"      \
    "  unsigned long content_size; unsigned long packet_size; uint32_t events_discarded;\n"    \
    "  uint32_t cpu_id; };\n"                                                                  \
    "struct event_header_compact {\n"                                                          \
    "  enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"                             \
    "  variant <id> {\n"                                                                       \
    "    struct { uint27_clock timestamp; } compact;\n"                                        \
    "    struct { uint32_t id; uint64_clock timestamp; } extended;\n"                          \
    "  } v;\n"                                                                                 \
    "} align(8);\n"                                                                            \
    "stream { id = 3; event.header := struct event_header_compact;\n"                          \
    "  packet.context := struct packet_context; };\n"

static void open_foreign(uint32_t discarded)
{
    packet_start = stream.n;
    put_int(0xc1fc1fc1, 4);
    put_int(3, 4);
    put_int(1000, 8);
    put_int(900000, 8);
    put_int(0, 8);
    put_int(0, 8);
    put_int(discarded, 4);
    put_int(2, 4);
}

static void close_foreign(size_t bits)
{
    size_t end = stream.n;

    stream.n = packet_start + 24;
    put_int(8 * (end - packet_start) - bits, 8);
    put_int(8 * (end - packet_start), 8);
    stream.n = end;
}

/* A compact header is 5 and 27 bits: from the low end of a little-endian word, from the high end of a
 * big-endian one. */
static void put_compact(unsigned id, uint32_t time)
{
    put_int(stream.big_endian ? id << 27 | time : time << 5 | id, 4);
}

static void put_extended(unsigned id, uint64_t time)
{
    put_int(stream.big_endian ? 31 << 3 : 31, 1);
    put_int(id, 4);
    put_int(time, 8);
}

static void compact(bool big_endian)
{
#define EVENTS                                                                           \
    "event { id = 4; stream_id = 3; name = \"a\"; fields := struct { uint8_t x; }; };\n" \
    "event { id = 40; stream_id = 3; name = \"b\"; fields := struct { uint8_t x; }; };\n"
    stream = (struct bytes){.big_endian = big_endian};
    assert_int_equal(open_metadata(big_endian ? FOREIGN("be") EVENTS : FOREIGN("le") EVENTS), 0);
    open_foreign(UINT32_MAX); /* counts of 32 bits wrap */
    put_compact(4, 1000);
    put_int(1, 1);
    put_compact(4, 999); /* 2^27 later */
    put_int(2, 1);
    put_extended(40, UINT64_C(1) << 40 | 5);
    put_int(3, 1);
    put_extended(4, UINT64_C(1) << 40 | 6);
    put_int(4, 1);
    put_compact(4, 7);
    put_int(5, 1);
    close_foreign(0);
    open_foreign(4);
    close_foreign(0);
    expect(0, "11500000000 cpu2 a x=1\n"
              "134229227000000 cpu2 a x=2\n"
              "1099511638281000000 cpu2 b x=3\n"
              "1099511638282000000 cpu2 a x=4\n"
              "1099511638283000000 cpu2 a x=5 !\n"
              "1099511638283000000 cpu2 LOST 4294967295 since -9223372036854775808 !\n"
              "1099511638283000000 cpu2 LOST 5 since 1099511638283000000\n");
#undef EVENTS
}

static void test_compact(void **state)
{
    compact(false);
    compact(true);
}

/* Types of all kinds in one event, with contexts. */
static void test_types(void **state)
{
    static const char metadata[] = FOREIGN(
        "le") "event { id = 0; stream_id = 3; name = \"all\";\n"
              "  context := struct { uint32_t _vtid; uint32_t _vpid; uint32_t ip; };\n"
              "  fields := struct {\n"
              "    enum state : uint8_t { IDLE, \"RUN NING\", MANY = 4 ... 6, } state;\n"
              "    enum state other;\n"
              "    struct { uint8_t x; struct { uint8_t y; } deep; } in;\n"
              "    integer { size = 3; signed = true; } three;\n"
              "    integer { size = 13; } thirteen;\n"
              "    floating_point { exp_dig = 8; mant_dig = 24; align = 32; } f;\n"
              "    floating_point { exp_dig = 11; mant_dig = 53; byte_order = be; align = 8; } d;\n"
              "    integer { size = 8; encoding = ASCII; } text[4];\n"
              "    uint8_t __seq_length;\n"
              "    integer { size = 16; align = 16; signed = true; } _seq[ __seq_length ];\n"
              "    uint8_t n;\n"
              "    uint8_t bytes[n];\n"
              "    integer { size = 8; base = 16; } hex[4];\n"
              "    typedef integer { size = 32; align = 8; signed = true; byte_order = be; } "
              "be32;\n"
              "    be32 last;\n"
              "  };\n"
              "};\n";
    float f = 1.5F;
    double d = -2.25;

    stream = (struct bytes){0};
    assert_int_equal(open_metadata(metadata), 0);
    open_foreign(0);
    for (unsigned i = 0; i < 2; i++) {
        size_t before = stream.n;

        put_compact(0, 2000 + i);
        put_int(77, 4); /* vtid */
        put_int(70, 4);
        put_int(0xabc, 4);
        put_int(1, 1); /* state */
        put_int(5, 1);
        put_int(8, 1); /* in */
        put_int(9, 1);
        put_int(6 | 5000 << 3, 2); /* -2, 5000 */
        while ((stream.n - packet_start) % 4)
            put_int(0, 1);
        put_int(load_u32(&f), 4);
        put_int(__builtin_bswap64(load_u64(&d)), 8);
        put("ab\0c", 4);
        put_int(2 * i, 1);
        while ((stream.n - packet_start) % 2)
            put_int(0, 1);
        for (unsigned j = 0; j < 2 * i; j++)
            put_int((uint64_t)(j ? 300 : -300), 2);
        put_int(1, 1);
        put_int(0xcc, 1);
        put_int(0xdd, 4);
        put_int(__builtin_bswap32(0xfffffffe), 4);
        assert_true(stream.n > before);
    }
    close_foreign(0);
    expect(0, "12500000000 cpu2 /77 all context.vpid=70 context.ip=2748 state=RUN NING other=MANY "
              "in.x=8 in.deep.y=9 three=-2 thirteen=5000 f=1.5 d=-2.25 text=\"ab\" seq=[] n=1 "
              "bytes=[204] hex=[0xdd 0x0 0x0 0x0] last=-2\n"
              "12501000000 cpu2 /77 all context.vpid=70 context.ip=2748 state=RUN NING other=MANY "
              "in.x=8 in.deep.y=9 three=-2 thirteen=5000 f=1.5 d=-2.25 text=\"ab\" "
              "seq=[-300 300] n=1 bytes=[204] hex=[0xdd 0x0 0x0 0x0] last=-2\n");
    for (size_t buffer = 64; buffer < 200; buffer++)
        assert_int_equal(read_stream(false, buffer), 0);
}

/* Content that ends inside of a byte, and events whose next one begins there. */
static void test_bits(void **state)
{
    static const char metadata[] =
        "/* CTF 1.8 */\n"
        "trace { byte_order = be; };\n"
        "clock { name = \"monotonic\"; offset = 77; };\n"
        "stream {\n"
        "  packet.context := struct { integer { size = 16; } content_size;\n"
        "    integer { size = 16; } packet_size; };\n"
        "  event.header := struct {\n"
        "    integer { size = 3; align = 1; map = clock.monotonic.value; } timestamp; };\n"
        "};\n"
        "event { name = \"e\"; fields := struct { integer { size = 4; align = 1; } v; }; };\n";

    stream = (struct bytes){.big_endian = true};
    assert_int_equal(open_metadata(metadata), 0);
    put_int(32 + 21, 2);
    put_int(64, 2);
    /* 010 1001, 011 1011, 101 1111, and 11 bits that are not content */
    put_int(0x52eefe00 | 0x7ff, 4);
    expect(0, "2 e v=9\n3 e v=11\n5 e v=15\n");
}

/* What need not begin at a byte does so where all numbers have whole bytes: payloads are lent, not made. */
static void test_bytes(void **state)
{
#define BYTES(id_size)                                                                   \
    "/* CTF 1.8 */\n"                                                                    \
    "trace { byte_order = le; };\n"                                                      \
    "stream { event.header := struct { integer { size = " id_size "; align = 1; } id;\n" \
    "  integer { size = 8; align = 1; } timestamp; }; };\n"                              \
    "event { id = 2; name = \"e\"; fields := struct {\n"                                 \
    "  integer { size = 16; align = 1; } v; string s;\n"                                 \
    "  integer { size = 32; align = 2; signed = true; } w; }; };\n"

    stream = (struct bytes){0};
    assert_int_equal(open_metadata(BYTES("8")), 0);
    assert_int_equal(catalogue.classes[0]->fields[0].size, 2);
    put("\2\10\1\1xy\0\377\377\377\377\2\11\2\0\0\5\0\0\0", 20);
    expect(0, "8 e v=257 s=\"xy\" w=-1\n9 e v=2 s=\"\" w=5\n");
    /* Not where one has not. */
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(BYTES("7")), 0);
    assert_int_equal(catalogue.classes[0]->fields[0].size, 8);
    put("\2\4\1\1x\0\2\0\0\0", 10);
    expect(0, "8 e v=257 s=\"x\" w=2\n");
}

/* No packets at all: the file is one. */
static void test_bare(void **state)
{
    static const char metadata[] = "/* CTF 1.8 */\n"
                                   "typealias integer { size = 8; } := u8;\n"
                                   "trace { byte_order = le; };\n"
                                   "stream { event.header := struct { u8 id; u8 timestamp; }; };\n"
                                   "event { id = 2; name = \"e\"; fields := struct { u8 v; }; };\n";

    stream = (struct bytes){0};
    assert_int_equal(open_metadata(metadata), 0);
    put("\2\10\101\2\7\102", 6);
    expect(0, "8 e v=65\n263 e v=66\n");
    put("\2", 1);
    expect(-EBADMSG, "8 e v=65\n263 e v=66\n");
}

/* A time that has no room in ns is an error, and no other time. */
static void test_late(void **state)
{
#define SLOW(offset)                                                                  \
    "/* CTF 1.8 */\n"                                                                 \
    "typealias integer { size = 8; } := u8;\n"                                        \
    "clock { name = \"slow\"; freq = 1; offset_s = " offset "; };\n"                  \
    "typealias integer { size = 64; align = 8; map = clock.slow.value; } := stamp;\n" \
    "trace { byte_order = le; };\n"                                                   \
    "stream { event.header := struct { u8 id; stamp timestamp; }; };\n"               \
    "event { id = 2; name = \"e\"; fields := struct { u8 v; }; };\n"

    (void)state;
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(SLOW("0")), 0);
    for (uint64_t time = UINT64_C(9223372035); time <= UINT64_C(9223372037); time++) {
        put_int(2, 1);
        put_int(time, 8);
        put_int(7, 1);
    }
    expect(-EBADMSG, "9223372035000000000 e v=7\n9223372036000000000 e v=7\n");
    assert_string_equal(error.what, "invalid time stamp 9223372037: more than 292 years");
    assert_int_equal(error.offset, 20);
    assert_int_equal(open_metadata(SLOW("9223372037")), -EBADMSG);
    assert_string_equal(error.what, "invalid offset of the clock: more than 292 years from 1970");
#undef SLOW
}

#define NO_TIME "-9223372036854775808 "

/* Events of a stream without time stamps have no time, with an event header or without. */
static void test_no_time(void **state)
{
    (void)state;
    stream = (struct bytes){0};
    assert_int_equal(
        open_metadata("/* CTF 1.8 */\n"
                      "typealias integer { size = 8; } := u8;\n"
                      "trace { byte_order = le; };\n"
                      "stream { event.header := struct { u8 id; }; };\n"
                      "event { id = 0; name = \"e\"; fields := struct { u8 v; }; };\n"
                      "event { id = 1; name = \"f\"; fields := struct { u8 v; }; };\n"),
        0);
    put("\0\12\1\24\0\13", 6);
    expect(0, NO_TIME "e v=10\n" NO_TIME "f v=20\n" NO_TIME "e v=11\n");
    stream = (struct bytes){0};
    assert_int_equal(open_metadata("/* CTF 1.8 */\n"
                                   "typealias integer { size = 8; } := u8;\n"
                                   "trace { byte_order = le; };\n"
                                   "event { name = \"e\"; fields := struct { u8 v; }; };\n"),
                     0);
    put("\7\10", 2);
    expect(0, NO_TIME "e v=7\n" NO_TIME "e v=8\n");
}

/* ---- Variants, and arrays of what is not a number ---- */

#define FIELDS(...)                                                  \
    "/* CTF 1.8 */\n"                                                \
    "typealias integer { size = 8; } := u8;\n"                       \
    "trace { byte_order = le; };\n"                                  \
    "stream { event.header := struct { u8 id; u8 timestamp; }; };\n" \
    "event { id = 2; name = \"e\"; fields := struct { " __VA_ARGS__ " }; };\n"

/* An event has a class for each combination of what its variants are; all are one event. */
static void test_variants(void **state)
{
    static const char metadata[] = FIELDS(
        "enum : u8 { a, b, c } t; variant <t> { u8 a; string b; struct { u8 x; enum : u8 { p, q "
        "} u; variant <u> { u8 p; struct { } q; } w; } c; } v; u8 z;");

    (void)state;
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(metadata), 0);
    assert_int_equal(catalogue.n_classes, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(catalogue.classes[i]->stat_row, catalogue.classes[0]->stat_row);
    put("\2\1\0\5\6", 5);
    put("\2\2\1hm\0\6", 7);
    put("\2\3\2\7\0\10\6", 7);
    put("\2\4\2\7\1\6", 6);
    expect(0, "1 e t=a v=5 z=6\n2 e t=b v=\"hm\" z=6\n3 e t=c v.x=7 v.u=p v.w=8 z=6\n"
              "4 e t=c v.x=7 v.u=q z=6\n");
    put("\2\5\3\1", 4);
    assert_int_equal(read_stream(false, 4096), -EBADMSG);
    assert_string_equal(error.what, "event with an invalid variant, array, byte order or vCPU");
}

/* More combinations than classes: then they are JSON. So is a variant that is in an array. */
static void test_many_variants(void **state)
{
    static const char metadata[] =
        FIELDS("enum : u8 { a, b, c } t; variant <t> { u8 a; string b; struct { } c; } v, ");
    char many[4096];
    int n =
        snprintf(many, sizeof many, "%.*s", (int)(strstr(metadata, " v, ") - metadata), metadata);

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        n += snprintf(many + n, sizeof many - (size_t)n,
                      " v%u; variant <t> { u8 a; string b; struct { } c; }", i);
    snprintf(many + n, sizeof many - (size_t)n, " v4; }; };");
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(many), 0);
    assert_int_equal(catalogue.n_classes, 1);
    put("\2\1\0\1\2\3\4\5\2\2\2", 11);
    expect(0, "1 e t=a v0=1 v1=2 v2=3 v3=4 v4=5\n2 e t=c v0={} v1={} v2={} v3={} v4={}\n");
    stream.n = 0;
    assert_int_equal(
        open_metadata(FIELDS("u8 n; struct { enum : u8 { a, b } t; variant <t> { u8 a; "
                             "string b; } v; } l[n]; u8 m[2][2];")),
        0);
    assert_true(catalogue.classes[0]->fields[1].json);
    assert_int_equal(catalogue.classes[0]->fields[1].type, FIELD_STRING);
    put("\2\1\2\0\5\1\"\0\1\2\3\4", 12);
    expect(0, "1 e n=2 l=[{\"t\":0,\"v\":5},{\"t\":1,\"v\":\"\\\"\"}] m=[[1,2],[3,4]]\n");
    for (size_t len = 3; len < 12; len++) {
        stream.n = len;
        expect(-EBADMSG, "");
    }
}

/* Elements that take no bits: their number is bounded by nothing in the stream. */
static void test_empty_elements(void **state)
{
    (void)state;
    stream = (struct bytes){0};
    assert_int_equal(open_metadata(FIELDS("struct { } a[1000][1000];")), 0);
    for (unsigned i = 0; i < 3000; i++)
        put("\2\1", 2);
    assert_int_equal(read_stream(false, 4096), -EBADMSG);
    assert_string_equal(error.what, "event with an invalid variant, array, byte order or vCPU");
}

/* ---- What strata exported ---- */

#define EXPORTED(tracer, of_stream, of_event)                                            \
    "/* CTF 1.8 */\n"                                                                    \
    "typealias integer { size = 8; } := u8;\n"                                           \
    "env { tracer_name = \"" tracer "\"; source_0_layer = \"guest\"; source_1_layer = "  \
    "\"hypervisor\"; };\n"                                                               \
    "trace { byte_order = le; packet.header := struct { u8 stream_id; }; };\n"           \
    "stream { id = 1; packet.context := struct { u8 content_size; };\n"                  \
    "  event.header := struct { u8 id; u8 timestamp; };\n"                               \
    "  event.context := struct { " of_stream " }; };\n"                                  \
    "stream { id = 2; packet.context := struct { u8 content_size; };\n"                  \
    "  event.header := struct { u8 id; u8 timestamp; };\n"                               \
    "  event.context := struct { " of_stream " }; };\n"                                  \
    "event { id = 0; stream_id = 1; name = \"e\"; fields := struct { u8 v; }; };\n"      \
    "event { id = 1; stream_id = 1; name = \"e\"; context := struct { " of_event " };\n" \
    "  fields := struct { u8 v; }; };\n"                                                 \
    "event { id = 0; stream_id = 2; name = \"e\"; fields := struct { u8 v; }; };\n"

/* An event whose name is NAME, a string of the metadata and what is after it, has GROUP and EVENT. */
static void check_group(const char *name, const char *group, const char *event)
{
    char metadata[2048];
    char expected[64];

    snprintf(metadata, sizeof metadata, "%sevent { id = 7; stream_id = 1; name = %s };\n",
             EXPORTED("strata-export", "", "u8 _vcpu;"), name);
    snprintf(expected, sizeof expected, "8 %s \n", event);
    stream.n = 0;
    assert_int_equal(open_metadata(metadata), 0);
    put("\1\40\7\10", 4);
    expect(0, expected);
    for (unsigned i = 0; i < catalogue.n_classes; i++) {
        const struct event_class *class = catalogue.classes[i];

        if (strcmp(class->name, "e") == 0)
            assert_null(class->group);
        else if (group)
            assert_string_equal(class->group, group);
        else
            assert_null(class->group);
    }
}

static void groups_are_in_front_of_names(void **state)
{
    (void)state;
    stream = (struct bytes){0};
    check_group("\"sched:wake\"; /* group \"sched\" */", "sched", "wake");
    check_group("\"a:b:c\"; /* group \"a:b\" */", "a:b", "c");
    check_group("\"a:b:c\"; /* group \"a\" */ /* format \"\" */", "a", "b:c");
    check_group("\"a:b\";", NULL, "a:b"); /* as LTTng writes it */
    check_group("\"a:b\"; /* group \"b\" */", NULL, "a:b");
    check_group("\"ab\"; /* group \"a\" */", NULL, "ab");
    check_group("\"a\"; /* group \"a\" */", NULL, "a");
}

/* Each source has its layer; an event may have a vCPU, by number or by name. */
static void test_exported(void **state)
{
    struct event_class *const *classes;

    stream = (struct bytes){0};
    assert_int_equal(open_metadata(EXPORTED("strata-export", "", "u8 _vcpu;")), 0);
    put("\1\110\0\10\101\1\11\7\102", 9);
    expect(0, "8 e v=65\n9 vcpu7 e v=66\n");
    stream.n = 0;
    put("\2\50\0\10\101", 5);
    expect(0, "8 e v=65 !\n"); /* a CPU of Xen is recorded up to its last event */
    classes = catalogue.classes;
    assert_int_equal(catalogue.n_classes, 3);
    assert_int_equal(catalogue.n_origins, 2);
    assert_int_equal(catalogue.origins[0]->layer, LAYER_GUEST);
    assert_int_equal(catalogue.origins[1]->layer, LAYER_HYPERVISOR);
    /* The two of source 0 are one event. */
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++)
            assert_int_equal(classes[i]->stat_row == classes[j]->stat_row,
                             classes[i]->origin == classes[j]->origin);

    stream.n = 0;
    assert_int_equal(open_metadata(EXPORTED("strata-export", "", "string _vcpu;")), 0);
    put("\1\0\0\10\101\1\11d12v3\0\102\1\12idlev0\0\103", 24);
    stream.at[1] = (uint8_t)(8 * stream.n);
    expect(0, "8 e v=65\n9 d12v3 e v=66\n10 idlev0 e v=67\n");
    stream.n = 0;
    put("\1\0\1\11d1\0\102", 8);
    stream.at[1] = (uint8_t)(8 * stream.n);
    expect(-EBADMSG, "");
    assert_string_equal(error.what, "event with an invalid variant, array, byte order or vCPU");

    /* As earlier versions wrote it, without a name where there is no vCPU. */
    stream.n = 0;
    assert_int_equal(open_metadata(EXPORTED("strata-export", "string _vcpu;", "")), 0);
    put("\1\0\0\10\0\101\0\11d1v0\0\102", 14);
    stream.at[1] = (uint8_t)(8 * stream.n);
    expect(0, "8 e v=65\n9 d1v0 e v=66\n");

    /* What another tracer calls so is a field. */
    stream.n = 0;
    assert_int_equal(open_metadata(EXPORTED("other", "", "u8 _vcpu;")), 0);
    put("\1\50\1\10\7\102", 6);
    stream.at[1] = (uint8_t)(8 * stream.n);
    expect(0, "8 e context.vcpu=7 v=66\n");
    assert_int_equal(catalogue.n_origins, 1);
}

/* ---- What is wrong with metadata ---- */

static void test_metadata_errors(void **state)
{
#define HEAD "/* CTF 1.8 */\ntypealias integer { size = 8; } := u8;\n"
#define TAIL "stream { event.header := struct { u8 id; u8 timestamp; }; };\nevent { name = \"e\";\n"
    static const struct {
        const char *metadata;
        uint32_t line;
        const char *what;
    } wrongs[] = {
        {HEAD "event {", 3, "expected a name"},
        {HEAD "/* x", 3, "comment without an end"},
        {HEAD "env { a = \"x\n\"; };", 3, "string without a closing quote"},
        {HEAD "what { };", 3, "expected trace, env, clock, stream, event or a type"},
        {HEAD "trace { byte_order = xx; };", 3, "invalid byte order 'xx' (examples: le, be)"},
        {HEAD "trace { uuid = \"12\"; };", 3, "invalid UUID '12'"},
        {HEAD "clock { freq = 0; };", 3, "invalid clock frequency 0"},
        {HEAD "clock { freq = 1; };", 3, "clock without a name"},
        {HEAD "typealias integer { size = 65; } := x;", 3,
         "invalid size of 65 bits (1 to 64 are supported)"},
        {HEAD "typealias integer { align = 8; } := x;", 3, "integer without a size"},
        {HEAD "typealias integer { size = 8; align = 3; } := x;", 3, "invalid alignment of 3 bits"},
        {HEAD "typealias integer { size = 8; map = clock.x.value; } := x;", 3,
         "undeclared clock 'clock.x.value'"},
        {HEAD "typealias floating_point { exp_dig = 5; mant_dig = 11; } := half;", 3,
         "unsupported floating_point of 5 and 11 bits (float and double are supported)"},
        {HEAD "typealias\nvoid := x;", 4, "undeclared type 'void'"},
        {HEAD "struct s { u8 a;\nu16 b; };", 4, "undeclared type 'u16'"},
        {HEAD "struct s { struct t b; };", 3, "undeclared struct 't'"},
        {HEAD "event { id = 1; };", 3, "event without a name"},
        {HEAD "struct s { u8 a[2][2][2][2][2][2][2][2][2][2][2][2][2][2][2][2][2]; };", 3,
         "array of too many dimensions"},
        {HEAD TAIL "fields := struct { u8 a[n]; }; };", 5,
         "the length of sequence 'a', 'n', is not declared before it"},
        {HEAD TAIL "fields := struct { string n; u8 a[n]; }; };", 5,
         "the length of sequence 'a', 'n', is not an unsigned integer"},
        {HEAD TAIL "fields := struct { struct { u8 b[n]; } a[2]; }; };", 5,
         "the length of sequence 'b', 'n', is not declared before it"},
        {HEAD TAIL "fields := struct { u8 id; variant <id> { u8 a; } v; }; };", 5,
         "the tag of variant 'v', 'id', is not an enum"},
        {HEAD
         "typealias variant <t> { u8 a; u8 b; } := v;\n" TAIL
         "fields := struct { struct { enum : u8 { a } t; v v; } x; struct { enum : u8 { b } t; "
         "v v; } y; }; };",
         3, "variant 'v' is used in several places, where 't' is different enums"},
        {HEAD TAIL "id = 65536; };", 4, "event id 65536 is too large (maximum 65535)"},
        {HEAD TAIL "};\nevent { name = \"f\"; };", 6, "duplicate event id 0"},
        {HEAD "stream { id = 1; };\nstream { id = 1; };", 4, "duplicate stream id 1"},
        {HEAD "stream { event.header := u8; };", 3, "event.header is not a struct"},
    };

    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        assert_int_equal(open_metadata(wrongs[i].metadata), -EBADMSG);
        assert_string_equal(error.what, wrongs[i].what);
        assert_int_equal(error.line, wrongs[i].line);
        assert_string_equal(error.path, "t/metadata");
    }
    /* Names that are inside of braces are not known outside. */
    assert_int_equal(open_metadata(HEAD "struct s { typedef u8 t; t a; };\nstruct x { t b; };"),
                     -EBADMSG);
    assert_int_equal(error.line, 4);
}

/* Structs that double from one to the next are not walked for ever. */
static void test_metadata_weight(void **state)
{
    char metadata[4096];
    int n = snprintf(metadata, sizeof metadata, HEAD "struct s0 { u8 a; };\n");

    for (unsigned i = 1; i < 40; i++)
        n += snprintf(metadata + n, sizeof metadata - (size_t)n,
                      "struct s%u { struct s%u a; struct s%u b; };\n", i, i - 1, i - 1);
    assert_int_equal(open_metadata(metadata), -EBADMSG);
    assert_string_equal(error.what, "struct too large");
}

/* Metadata in packets becomes text. */
static void test_metadata_packets(void **state)
{
    static const char text[] = "/* CTF 1.8 */ env { }; trace { };";
    char packed[512];
    size_t len;

    for (unsigned big_endian = 0; big_endian < 2; big_endian++) {
        stream = (struct bytes){.big_endian = big_endian};
        for (unsigned i = 0; i < 2; i++) {
            const char *part = text + i * 16;
            size_t n = i ? strlen(part) : 16;

            put_int(0x75d11d57, 4);
            put(uuid, 16);
            put_int(0, 4);
            put_int(8 * (37 + n), 4);
            put_int(8 * (37 + n + 5), 4);
            put("\0\0\0\1\10", 5);
            put(part, n);
            put("#####", 5);
        }
        memcpy(packed, stream.at, stream.n);
        len = stream.n;
        error_clear(&error);
        assert_int_equal(ctf_metadata_unpack("m", packed, &len, &error), 0);
        assert_int_equal(len, strlen(text));
        assert_memory_equal(packed, text, len);
        for (size_t n = 4; n < stream.n; n++) {
            /* Only the padding of the last packet may be missing. */
            bool first = n >= 37 + 16 && n <= 37 + 16 + 5, all = n >= stream.n - 5;

            memcpy(packed, stream.at, stream.n);
            len = n;
            assert_int_equal(ctf_metadata_unpack("m", packed, &len, &error),
                             first || all ? 0 : -EBADMSG);
            if (first || all)
                assert_int_equal(len, all ? strlen(text) : 16);
        }
    }
    len = strlen(text);
    memcpy(packed, text, len);
    assert_int_equal(ctf_metadata_unpack("m", packed, &len, &error), 0);
    assert_memory_equal(packed, text, strlen(text));
    memcpy(packed, "what is this", len = 12);
    assert_int_equal(ctf_metadata_unpack("m", packed, &len, &error), -EBADMSG);
}

static int done(void **state)
{
    catalogue_done(&catalogue);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_many_variants),
        cmocka_unit_test(test_empty_elements),
        cmocka_unit_test(test_exported),
        cmocka_unit_test(groups_are_in_front_of_names),
        cmocka_unit_test(test_metadata_errors),
        cmocka_unit_test(test_metadata_weight),
        cmocka_unit_test(test_metadata_packets),
    };

    return cmocka_run_group_tests(tests, NULL, done);
}
