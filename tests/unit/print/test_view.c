/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "byte_order.h"
#include "event/catalogue.h"
#include "print/json.h"
#include "print/time_column.h"
#include "print/view.h"
#include "random.h"

static void assert_text(struct text *text, const char *expected)
{
    text_put_char(text, '\0');
    assert_string_equal(text->start, expected);
    text_done(text);
}

static void check_string(const char *s, size_t len, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;

    json_put_string(&text, s, len);
    assert_text(&text, expected);
}
#define STRING(s, expected) check_string(s, sizeof(s) - 1, "\"" expected "\"")

static void test_json_strings(void **state)
{
    STRING("", "");
    STRING("plain /~\x7f", "plain /~\\u007f");
    STRING("a\"b\\c", "a\\\"b\\\\c");
    STRING("\n\t\r\x01\x1f\0z", "\\n\\t\\r\\u0001\\u001f\\u0000z");
    STRING("\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf \xf0\x90\x80\x80 "
           "\xf4\x8f\xbf\xbf",
           "\\u0080 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf \xf0\x90\x80\x80 "
           "\\udbff\\udfff");
    STRING("\xe2\x80\xae\xe2\x80\xac\xc2\x9b", "\\u202e\\u202c\\u009b"); /* what a terminal obeys */
#define BAD "\xef\xbf\xbd"
    STRING("\x80", BAD);
    STRING("\xc0\xaf", BAD BAD);         /* too long a form */
    STRING("\xe0\x9f\xbf", BAD BAD BAD); /* the same */
    STRING("\xed\xa0\x80", BAD BAD BAD); /* a surrogate */
    STRING("\xf4\x90\x80\x80", BAD BAD BAD BAD);
    STRING("\xf5", BAD);
    STRING("\xe2\x82", BAD BAD); /* cut */
    STRING("\xe2\x82x\xc3\xa4", BAD BAD "x\xc3\xa4");
}

/* Eight bytes at a time, as one byte after the other. */
static void test_json_plain_length(void **state)
{
    static const char some[] = "ab\"\\\x1f\x20\x7f\x80\xff!#[]";
    char s[40];

    for (unsigned i = 0; i < 20000; i++) {
        size_t len = random_u64() % sizeof s;
        size_t plain = 0;

        for (size_t k = 0; k < len; k++)
            s[k] = random_u64() % 8 ? (char)(0x20 + random_u64() % 2)
                                    : some[random_u64() % (sizeof some - 1)];
        while (plain < len && (signed char)s[plain] >= 0x20 && s[plain] != 0x7f &&
               s[plain] != '"' && s[plain] != '\\')
            plain++;
        assert_int_equal(json_plain_length(s, len), plain);
    }
}

static void check_value(struct field field, struct value value, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;

    json_put_value(&text, &field, &value);
    assert_text(&text, expected);
}

static uint64_t bits(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof u);
    return u;
}

static void test_json_values(void **state)
{
#define V(...) ((struct value){__VA_ARGS__, .present = true})
#define F(...) ((struct field){__VA_ARGS__})
    check_value(F(.type = FIELD_UINT), V(.u = UINT64_MAX), "18446744073709551615");
    check_value(F(.type = FIELD_INT), V(.i = INT64_MIN), "-9223372036854775808");
    check_value(F(.type = FIELD_POINTER), V(.u = 16), "16");
    check_value(F(.type = FIELD_BOOL), V(.u = 1), "true");
    check_value(F(.type = FIELD_BOOL), V(.u = 0), "false");
    check_value(F(.type = FIELD_CHAR), V(.u = 65), "65");
    check_value(F(.type = FIELD_STRING), V(.s = "a\xff", .len = 2), "\"a" BAD "\"");
    check_value(F(.type = FIELD_BYTES), V(.s = "\x01\xab", .len = 2), "\"01ab\"");
    check_value(F(.type = FIELD_BYTES, .element = 2, .swap = SWAP_LITTLE),
                V(.s = "\x01\x00\xff\xff\x07", .len = 5), "[1,65535]");
    check_value(F(.type = FIELD_BYTES, .element = 4, .swap = !SWAP_LITTLE),
                V(.s = "\0\0\1\0", .len = 4), "[256]");
    check_value(F(.type = FIELD_BYTES, .element = 8), V(.s = "", .len = 0), "[]");
    check_value(F(.type = FIELD_BYTES, .element = 1, .element_signed = true),
                V(.s = "\xff\x01", .len = 2), "[-1,1]");
    check_value(F(.type = FIELD_FLOAT), V(.u = bits(0.1)), "0.1");
    check_value(F(.type = FIELD_FLOAT), V(.u = bits(1.0 / 0.0)), "\"Infinity\"");
    check_value(F(.type = FIELD_UINT), ((struct value){.s = ""}), "null");
}

/* The fast path of times against the plain one. */
/* Nothing is written behind the end of a full buffer, wherever in a string it comes. */
static void test_json_at_the_end_of_a_buffer(void **state)
{
    static const char word[] = "ab\1\2\n\x7f\xc3\xa9\"";
    const struct field bytes = {.type = FIELD_BYTES};
    const struct value value = {.s = word, .len = 6, .present = true};

    for (size_t left = 0; left < 64; left++) {
        char buffer[TEXT_ROOM_MAX + 16];
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        for (unsigned i = 0; i < 2; i++) {
            struct text text = {.start = buffer, .end = buffer + TEXT_ROOM_MAX, .fd = fd};

            text.next = text.end - left;
            memset(text.end, 0x55, 16);
            if (i == 0)
                json_put_string(&text, word, sizeof word - 1);
            else
                json_put_value(&text, &bytes, &value);
            for (unsigned k = 0; k < 16; k++)
                assert_int_equal(text.end[k], 0x55);
        }
        close(fd);
    }
}

static void test_time_column(void **state)
{
    static const uint64_t rates[] = {
        0,           1,          3,           1000,         32768,        999999999,     1000000000,
        2399999999u, 2400000000, 4999999999u, 18446744073u, 18446744074u, 1000000000000u};
    struct time_column column = {0};

    for (unsigned r = 0; r < ARRAY_SIZE(rates); r++) {
        struct clock clock = {"c", rates[r]};
        uint64_t second = rates[r] ? rates[r] : TIME_COLUMN_TICKS;
        int64_t base = (int64_t)(random_u64() >> 3);

        for (unsigned i = 0; i < 20000; i++) {
            struct text text = TEXT_IN_MEMORY;
            char buf[TIME_COLUMN_MAX + 1];
            int64_t time;

            switch (i % 5) {
            case 0: time = (int64_t)random_u64(); break;
            case 1: time = base + (int64_t)second - 1 + (int64_t)(i % 3); break;
            case 2: time = (int64_t)(random_u64() % (second * 2 + 1)); break;
            default: time = base + (int64_t)(random_u64() % (second + 1)); break;
            }
            if (rates[r] == 1 && time != INT64_MIN)
                time %= 1000000000; /* in ns it must fit */
            if (rates[r] && rates[r] < 1000000000 && time > INT64_MAX / 1000000000)
                time %= INT64_MAX / 1000000000;
            if (rates[r] && rates[r] < 1000000000 && time < INT64_MIN / 1000000000)
                continue;
            *time_column_put(&column, &clock, buf, time) = '\0';
            clock_put_time(&clock, time, &text);
            assert_text(&text, buf);
        }
    }
}

static const char *task_name(const struct origin *origin, int32_t pid)
{
    static char long_name[200];

    if (pid == 10)
        return memset(long_name, 'l', sizeof long_name - 1);
    return pid == 0 ? "<idle>" : (pid == 7 ? "a b\n\xc3\xa4" : (pid == 8 ? "" : NULL));
}

static void put_vcpu(const struct origin *origin, int32_t vcpu, struct text *text)
{
    text_printf(text, "d%dv%d", vcpu >> 16, vcpu & 0xffff);
}

static struct catalogue catalogue;
static const struct origin guest = {.layer = LAYER_GUEST,
                                    .format = "ftrace",
                                    .path = "g",
                                    .clock = {"local", NANOSECONDS},
                                    .task_name = task_name};
static const struct origin xen = {.layer = LAYER_HYPERVISOR,
                                  .format = "xentrace",
                                  .path = "x",
                                  .clock = {"x86-tsc", 0},
                                  .put_vcpu = put_vcpu};
static const struct origin qemu = {
    .layer = LAYER_VMM, .format = "simpletrace", .path = "q", .clock = {"monotonic", NANOSECONDS}};

static const struct field fields[] = {
    {.name = "n", .c_type = "uint64_t", .type = FIELD_UINT, .size = 8},
    {.name = "s\"", .c_type = "char *", .type = FIELD_STRING, .storage = STORE_TO_END, .offset = 8},
};

static const struct event_class *make_class(const struct origin *origin, const char *name,
                                            const char *group, unsigned n_fields,
                                            const char *format)
{
    struct event_class class = {.name = name,
                                .group = group,
                                .origin = origin,
                                .fields = fields,
                                .n_fields = n_fields,
                                .format = format};
    struct event_class *made;

    assert_int_equal(catalogue_add(&catalogue, &class, &made), 0);
    return made;
}

/* What VIEW_OPEN makes of the items. */
static void check_view(int (*view_open)(const struct view_options *, struct text *, struct sink **),
                       const struct view_options *options, const struct item *items, unsigned n,
                       const char *expected)
{
    struct text text = TEXT_IN_MEMORY;
    struct sink *sink;

    assert_int_equal(view_open(options, &text, &sink), 0);
    sink_begin(sink);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(sink_put(sink, &items[i], 1), 0);
    sink_free(sink);
    assert_text(&text, expected);
}

static const uint8_t payload[] = "\xff\xff\xff\xff\xff\xff\xff\xff"
                                 "x,\"\n";

static struct item items[9];
static unsigned n_items;

static int set_up(void **state)
{
    const struct event_class *two = make_class(&guest, "two", "grp", 2, "n=%llu s=%s");
    const struct event_class *none = make_class(&xen, "none", NULL, 0, NULL);
    const struct event_class *odd = make_class(&qemu, "odd\n", NULL, 1, NULL);

    items[0] = (struct item){.time = 1000000001,
                             .origin = &guest,
                             .class = two,
                             .payload = payload,
                             .size = 12,
                             .cpu = 1,
                             .pid = 7,
                             .vcpu = VCPU_UNKNOWN};
    items[1] = (struct item){.time = 999,
                             .origin = &xen,
                             .class = none,
                             .payload = payload,
                             .size = 0,
                             .cpu = 1234,
                             .pid = PID_UNKNOWN,
                             .vcpu = 0x10002};
    items[2] = (struct item){.time = -1,
                             .origin = &qemu,
                             .class = odd,
                             .payload = payload,
                             .size = 8,
                             .cpu = CPU_UNKNOWN,
                             .pid = 4711,
                             .vcpu = VCPU_UNKNOWN};
    items[3] = (struct item){.kind = ITEM_LOSS,
                             .time = 2000000000,
                             .since = 1500000000,
                             .lost = 1,
                             .origin = &guest,
                             .cpu = 0,
                             .pid = PID_UNKNOWN,
                             .vcpu = VCPU_UNKNOWN};
    items[4] = (struct item){.kind = ITEM_LOSS,
                             .cause = LOSS_UNREADABLE,
                             .time = TIME_UNKNOWN,
                             .since = TIME_UNKNOWN,
                             .lost = LOST_UNKNOWN,
                             .skipped = 40,
                             .origin = &qemu,
                             .cpu = CPU_UNKNOWN,
                             .pid = PID_UNKNOWN,
                             .vcpu = VCPU_UNKNOWN};
    items[5] = items[0];
    items[5].pid = 0;
    items[5].size = 3; /* no field is there */
    items[6] = items[0];
    items[6].pid = 8;
    items[6].size = 8;
    items[7] = items[0];
    items[7].pid = 9;
    items[7].size = 8;
    items[8] = items[1];
    items[8].vcpu = VCPU_UNKNOWN;
    n_items = 9;
    return 0;
}

static int tear_down(void **state)
{
    catalogue_done(&catalogue);
    return 0;
}

static unsigned number(void *arg, const struct origin *origin)
{
    return origin == &guest ? 0 : (origin == &xen ? 1 : 2);
}

static void test_line_text(void **state)
{
    const struct view_options plain = {0}, all = {.color = true, .origin_number = number};

    check_view(
        line_text_open, &plain, items, n_items,
        "1.000000001 [001]          a b\\x0a\xc3\xa4-7 two: n=18446744073709551615 s=x,\"\\x0a\n"
        "999 [1234]     d1v2 none:\n"
        "-0.000000001 [---]     4711 odd\\x0a: n=18446744073709551615\n"
        "2.000000000 [000]                    - LOST: 1 event, since 1.500000000\n"
        "- [---]        - LOST: events, how many is unknown, with 40 damaged bytes of input "
        "skipped\n"
        "1.000000001 [001]             <idle>-0 two: n=0 s=\n"
        "1.000000001 [001]                    8 two: n=18446744073709551615 s=\n"
        "1.000000001 [001]                    9 two: n=18446744073709551615 s=\n"
        "999 [1234]        - none:\n");
    check_view(line_text_open, &all, items + 1, 3,
               "\033[2m999\033[0m #1 [1234]     d1v2 none:\n"
               "\033[2m-0.000000001\033[0m #2 [---]     4711 odd\\x0a: n=18446744073709551615\n"
               "\033[2m2.000000000\033[0m #0 [000]                    - "
               "\033[31mLOST: 1 event, since 1.500000000\033[0m\n");
}

static const char *no_comm(const struct origin *origin, uint32_t comm)
{
    (void)origin;
    (void)comm;
    return NULL;
}

/* Where events have the names of their threads, the bytes that were skipped are no such name. */
static void test_line_text_skipped(void **state)
{
    const struct view_options plain = {0};
    struct origin with_comm = qemu;
    struct item loss = items[4];

    (void)state;
    with_comm.comm = no_comm;
    loss.origin = &with_comm;
    check_view(line_text_open, &plain, &loss, 1,
               "- [---]        - LOST: events, how many is unknown, with 40 damaged bytes of input "
               "skipped\n");
}

/* Of several layers on one timeline. */
static void test_line_text_layers(void **state)
{
    const unsigned layers = 1u << LAYER_VMM | 1u << LAYER_HYPERVISOR | 1u << LAYER_GUEST;
    const struct view_options errors = {.errors = true}, all = {.errors = true, .layers = layers},
                              narrow = {.errors = true,
                                        .layers = 1u << LAYER_VMM | 1u << LAYER_GUEST,
                                        .origin_number = number};
    static const struct {
        uint32_t ns;
        const char *text;
    } bounds[] = {
        {0, "    \xc2\xb1"
            "0"},
        {1, "  \xc2\xb1"
            "1ns"},
        {999, "\xc2\xb1"
              "999ns"},
        {1000, "  \xc2\xb1"
               "1us"},
        {61001, " \xc2\xb1"
                "62us"},
        {999000, "\xc2\xb1"
                 "999us"},
        {999001, "  \xc2\xb1"
                 "1ms"},
        {4294000000u, "   \xc2\xb1"
                      "5s"},
        {UINT32_MAX, "   >4s"},
    };
    struct item four[4];

    memcpy(four, items, sizeof four);
    four[0].vcpu = 1;
    four[0].error_ns = 61001;
    four[2].vcpu = 11;
    check_view(line_text_open, &all, four, 4,
               "1.000000001  \xc2\xb1"
               "62us guest      [001]  vcpu1          a b\\x0a\xc3\xa4-7 two: "
               "n=18446744073709551615 s=x,\"\\x0a\n"
               "999     \xc2\xb1"
               "0 hypervisor [1234]   d1v2                    - none:\n"
               "-0.000000001     \xc2\xb1"
               "0 vmm        [---] vcpu11                 4711 odd\\x0a: n=18446744073709551615\n"
               "2.000000000     \xc2\xb1"
               "0 guest      [000]      -                    - LOST: 1 event, since 1.500000000\n");
    check_view(line_text_open, &narrow, four + 3, 1,
               "2.000000000     \xc2\xb1"
               "0 guest #0 [000]      -                    - LOST: 1 event, since 1.500000000\n");
    for (unsigned i = 0; i < ARRAY_SIZE(bounds); i++) {
        char expected[128];

        four[3].error_ns = bounds[i].ns;
        snprintf(expected, sizeof expected,
                 "2.000000000 %s [000]                    - LOST: 1 event, since 1.500000000\n",
                 bounds[i].text);
        check_view(line_text_open, &errors, four + 3, 1, expected);
    }
}

static void test_line_json(void **state)
{
    const struct view_options plain = {0}, all = {.origin_number = number};

    check_view(
        line_json_open, &plain, items, 5,
        "{\"time\":1.000000001,\"time_ns\":1000000001,\"layer\":\"guest\",\"cpu\":1,\"pid\":7,"
        "\"comm\":\"a b\\n\xc3\xa4\",\"group\":\"grp\",\"event\":\"two\","
        "\"fields\":{\"n\":18446744073709551615,\"s\\\"\":\"x,\\\"\\n\"}}\n"
        "{\"ticks\":999,\"layer\":\"hypervisor\",\"cpu\":1234,\"vcpu\":\"d1v2\",\"event\":\"none\","
        "\"fields\":{}}\n"
        "{\"time\":-0.000000001,\"time_ns\":-1,\"layer\":\"vmm\",\"pid\":4711,\"event\":\"odd\\n\","
        "\"fields\":{\"n\":18446744073709551615}}\n"
        "{\"time\":2.000000000,\"time_ns\":2000000000,\"layer\":\"guest\",\"cpu\":0,\"lost\":1,"
        "\"since\":1.500000000,\"since_ns\":1500000000,\"cause\":\"dropped\"}\n"
        "{\"layer\":\"vmm\",\"lost\":null,\"cause\":\"unreadable\",\"skipped_bytes\":40}\n");
    check_view(
        line_json_open, &all, items + 1, 1,
        "{\"ticks\":999,\"layer\":\"hypervisor\",\"source\":1,\"cpu\":1234,\"vcpu\":\"d1v2\","
        "\"event\":\"none\",\"fields\":{}}\n");
    check_view(
        line_json_open, &plain, items + 5, 1,
        "{\"time\":1.000000001,\"time_ns\":1000000001,\"layer\":\"guest\",\"cpu\":1,\"pid\":0,"
        "\"comm\":\"<idle>\",\"group\":\"grp\",\"event\":\"two\","
        "\"fields\":{\"n\":null,\"s\\\"\":null}}\n");
}

static void test_line_csv(void **state)
{
    const struct view_options plain = {0}, all = {.origin_number = number};

    check_view(line_csv_open, &plain, items, 5,
               "time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n"
               "1.000000001,1,7,a b\\x0a\xc3\xa4,,guest,,grp,two,,"
               "\"n=18446744073709551615 s=x,\"\"\\x0a\","
               "\"{\"\"n\"\":18446744073709551615,\"\"s\\\"\"\"\":\"\"x,\\\"\"\\n\"\"}\",\r\n"
               "999,1234,,,d1v2,hypervisor,,,none,,,{},\r\n"
               "-0.000000001,,4711,,,vmm,,,odd\\x0a,,n=18446744073709551615,"
               "\"{\"\"n\"\":18446744073709551615}\",\r\n"
               "2.000000000,0,,,,guest,,,,1,,,\r\n"
               ",,,,,vmm,,,,unknown,,,\r\n");
    check_view(line_csv_open, &all, items + 1, 1,
               "time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n"
               "999,1234,,,d1v2,hypervisor,1,,none,,,{},\r\n");
}

/* S, as a cell of CSV. */
static void put_cell(struct text *text, const char *s, size_t len)
{
    bool quoted = false;

    for (size_t i = 0; i < len; i++)
        quoted = quoted || strchr(",\"\r\n", s[i]);
    text_put_str(text, quoted ? "\"" : "");
    for (size_t i = 0; i < len; i++) {
        text_put_str(text, s[i] == '"' ? "\"" : "");
        text_put_char(text, s[i]);
    }
    text_put_str(text, quoted ? "\"" : "");
}

/* What wants quotes, wherever it stands, in texts of any length. */
static void test_csv_cells(void **state)
{
    static const size_t lengths[] = {0, 1, 15, 16, 17, 31, 32, 33, 100, 2047, 2048, 2049, 5000};
    static const struct field string = {
        .name = "s", .c_type = "char *", .type = FIELD_STRING, .storage = STORE_TO_END};
    const struct event_class class = {
        .name = "a,b", .origin = &qemu, .fields = &string, .n_fields = 1, .format = "%s"};
    const struct view_options plain = {0};
    struct event_class *made;
    char s[5000];

    assert_int_equal(catalogue_add(&catalogue, &class, &made), 0);
    for (unsigned i = 0; i < 40 * ARRAY_SIZE(lengths); i++) {
        size_t len = lengths[i % ARRAY_SIZE(lengths)];
        struct item item = items[2];
        struct text json = TEXT_IN_MEMORY, expected = TEXT_IN_MEMORY;

        memset(s, 'x', len);
        for (unsigned k = 0; k < i % 4 && len > 0; k++)
            s[random_u64() % len] = k == 0 ? ',' : '"';
        item.class = made;
        item.payload = (const uint8_t *)s;
        item.size = (uint32_t)len;
        text_put_literal(
            &expected, "time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n"
                       "-0.000000001,,4711,,,vmm,,,\"a,b\",,");
        put_cell(&expected, s, len);
        text_put_char(&expected, ',');
        text_put_literal(&json, "{\"s\":");
        json_put_string(&json, s, len);
        text_put_char(&json, '}');
        put_cell(&expected, json.start, text_len(&json));
        text_put(&expected, ",\r\n", 4);
        check_view(line_csv_open, &plain, &item, 1, expected.start);
        text_done(&json);
        text_done(&expected);
    }
}

/* The columns of a thread are kept, and so are those of another that has the same place. */
static void test_csv_threads(void **state)
{
    static const struct {
        int32_t pid, cpu, vcpu;
        const char *columns;
    } rows[] = {{8, 1, -1, "1,8,,,"}, {8, 1, -1, "1,8,,,"}, {264, 1, -1, "1,264,,,"},
                {8, 1, -1, "1,8,,,"}, {8, 2, -1, "2,8,,,"}, {8, 2, 3, "2,8,,3,"},
                {10, 1, -1, NULL},    {10, 1, -1, NULL},    {-1, -1, -1, ",,,,"}};
    const struct view_options plain = {0};

    for (unsigned from = 0; from < ARRAY_SIZE(rows); from++) {
        struct item some[ARRAY_SIZE(rows)];
        struct text expected = TEXT_IN_MEMORY;

        text_put_literal(
            &expected,
            "time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n");
        for (unsigned i = from; i < ARRAY_SIZE(rows); i++) {
            some[i] = items[3];
            some[i].pid = rows[i].pid;
            some[i].cpu = rows[i].cpu;
            some[i].vcpu = rows[i].vcpu;
            text_put_literal(&expected, "2.000000000,");
            if (rows[i].columns)
                text_put_str(&expected, rows[i].columns);
            else
                text_printf(&expected, "1,10,%s,,", task_name(&guest, 10));
            text_put_literal(&expected, "guest,,,,1,,,\r\n");
        }
        text_put(&expected, "", 1);
        check_view(line_csv_open, &plain, some + from, ARRAY_SIZE(rows) - from, expected.start);
        text_done(&expected);
    }
}

/* Keys that are longer than there is room for at once. */
static void test_csv_long_names(void **state)
{
    char name[2 * TEXT_ROOM_MAX] = "";
    const struct field long_field = {
        .name = name, .c_type = "uint64_t", .type = FIELD_UINT, .size = 8};
    const struct event_class class = {
        .name = name, .origin = &qemu, .fields = &long_field, .n_fields = 1};
    const struct view_options plain = {0};
    struct item item = items[2];
    struct text expected = TEXT_IN_MEMORY;
    struct event_class *made;

    memset(name, 'n', sizeof name - 1);
    assert_int_equal(catalogue_add(&catalogue, &class, &made), 0);
    item.class = made;
    text_put_literal(&expected,
                     "time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n"
                     "-0.000000001,,4711,,,vmm,,,");
    text_put_str(&expected, name);
    text_put_literal(&expected, ",,");
    text_put_str(&expected, name);
    text_put_literal(&expected, "=18446744073709551615,\"{\"\"");
    text_put_str(&expected, name);
    text_put_literal(&expected, "\"\":18446744073709551615}\",\r\n");
    text_put(&expected, "", 1);
    check_view(line_csv_open, &plain, &item, 1, expected.start);
    text_done(&expected);
}

/* Names of more values than are kept, one of them too long to be, each twice: the second time from what is kept, or
 * from what took its place. */
static void test_csv_many_names(void **state)
{
    enum { N = 1000 };
    static char texts[N][160];
    static const char *names[N];
    const struct value_names all = {.names = names, .n = N};
    const struct field field = {
        .name = "v", .c_type = "uint64_t", .type = FIELD_UINT, .size = 8, .names = &all};
    const struct event_class class = {
        .name = "named", .origin = &qemu, .fields = &field, .n_fields = 1};
    const struct view_options plain = {0};
    static struct item some[2 * N];
    static uint64_t payloads[N];
    struct text expected;
    struct event_class *made;

    assert_int_equal(catalogue_add(&catalogue, &class, &made), 0);
    for (unsigned i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "n%0*u", i == 7 ? 150 : 3, i);
        names[i] = texts[i];
    }
    expected = TEXT_IN_MEMORY;
    text_put_literal(&expected,
                     "time,cpu,pid,comm,vcpu,layer,source,group,event,lost,text,fields,names\r\n");
    for (unsigned i = 0; i < 2 * N; i++) {
        unsigned value = i / 2 * 7 % N;

        payloads[value] = value;
        some[i] = items[2];
        some[i].class = made;
        some[i].payload = (const uint8_t *)&payloads[value];
        some[i].size = sizeof payloads[value];
        text_printf(&expected,
                    "-0.000000001,,4711,,,vmm,,,named,,v=%s,\"{\"\"v\"\":%u}\",\"{\"\"v\"\":\"\"%"
                    "s\"\"}\"\r\n",
                    names[value], value, names[value]);
    }
    text_put(&expected, "", 1);
    check_view(line_csv_open, &plain, some, 2 * N, expected.start);
    text_done(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_json_plain_length),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_json_at_the_end_of_a_buffer),
        cmocka_unit_test(test_time_column),
        cmocka_unit_test(test_line_text),
        cmocka_unit_test(test_line_text_skipped),
        cmocka_unit_test(test_line_text_layers),
        cmocka_unit_test(test_line_json),
        cmocka_unit_test(test_line_csv),
        cmocka_unit_test(test_csv_cells),
        cmocka_unit_test(test_csv_threads),
        cmocka_unit_test(test_csv_long_names),
        cmocka_unit_test(test_csv_many_names),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
