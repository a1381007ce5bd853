/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include "base/bytes.h"
#include "event/value.h"
#include "made_kernel.h"

/* Of events that are structures here. */
static const struct kernel_facts own_order = {.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};

static void numbers(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
        "\tfield:u16 b;\toffset:12;\tsize:2;\tsigned:0;\n"
        "\tfield:u8 c;\toffset:14;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned long d;\toffset:16;\tsize:8;\tsigned:0;\n\n"
        "print fmt: \"%d %u %x %08lx|%-6d|%6d|%+d|%#lx|%c|%hhd %lld 50%% %d\\n\", REC->a, REC->b, "
        "REC->c, REC->d, REC->b, REC->b, REC->c, REC->d, REC->c, REC->c, (u64)REC->d, REC->a < 0 ? "
        "(REC->b & 0xf) * 2 : -1\n";
    static const uint8_t event[] = {7, 0, 0,    0, 42,   0,    0, 0, 0xfd, 0xff, 0xff, 0xff,
                                    7, 1, 0x41, 0, 0xef, 0xbe, 0, 0, 0,    0,    0,    0};
    struct kernel k;

    kernel_open(&k, text, (struct kernel_facts){0});
    assert_text(&k, event, sizeof event,
                "-3 263 41 0000beef|263   |   263|+65|0xbeef|A|65 48879 50% -1");
    /* An event that ends too early. */
    assert_text(&k, event, 12, "-3 0 0 00000000|0     |     0|+0|0|\\x00|0 0 50% -1");
    kernel_close(&k);

    /* The same from a big-endian kernel. */
    kernel_open(&k,
                "name: made\nID: 7\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\n"
                "print fmt: \"%d %lx\", REC->a, (unsigned long)REC->a + 1\n",
                (struct kernel_facts){.big_endian = true, .long_size = 4});
    assert_text(&k, "\0\7\0\0\0\0\0\x2a\x01\x02\x03\x04", 12, "16909060 1020305");
    kernel_close(&k);
}

/* As of kvm_inj_exception: no code has a name. */
static void no_names(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:u32 code;\toffset:8;\tsize:4;\tsigned:0;\n\n"
        "print fmt: \"%s%s\", REC->code ? \"(\" : \"\", "
        "REC->code ? __print_symbolic(REC->code, { }) : \"\"\n";
    struct kernel k;

    kernel_open(&k, text, (struct kernel_facts){0});
    assert_text(&k, "\7\0\0\0\x2a\0\0\0\x10\0\0\0", 12, "(0x10");
    kernel_close(&k);
}

static void names(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:u32 f;\toffset:8;\tsize:4;\tsigned:0;\n"
        "\tfield:u32 s;\toffset:12;\tsize:4;\tsigned:0;\n"
        "\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n"
        "\tfield:const char * str;\toffset:24;\tsize:8;\tsigned:0;\n\n"
        "print fmt: \"%s %s %pS %ps %p %s\", (REC->f) ? __print_flags(REC->f, \"|\", { 1, \"A\" }, "
        "{ 6, \"BC\" }, { (1UL << 4), \"D\" }) : \"none\", __print_symbolic(REC->s, { 0, \"zero\" "
        "}, { TIMER_SOFTIRQ, \"timer\" }), (void *)REC->ip, (void *)REC->ip, (void *)REC->ip, "
        "REC->str\n";
    struct {
        uint16_t type;
        uint8_t flags, count;
        int32_t pid;
        uint32_t f, s;
        uint64_t ip, str;
    } e = {.type = 7, .f = 0x17, .s = 1, .ip = 0xffffffff81000123, .str = 0xffffffff82000000};
    struct kernel k;

    kernel_open(&k, text, own_order);
    assert_text(&k, &e, sizeof e,
                "A|BC|D timer schedule+0x23 schedule 0xffffffff81000123 constant");
    e.f = 0x22;
    e.s = 9;
    e.ip = 0;
    e.str = 0x1234;
    assert_text(&k, &e, sizeof e, "0x22 0x9 0x0 0x0 (nil) 1234");
    e.f = 0;
    e.s = 0;
    /* Of two names the one that other tools show; the last symbol ends nowhere. */
    e.ip = 0xffffffff81000000;
    assert_text(&k, &e, sizeof e, "none zero _stext+0x0 _stext 0xffffffff81000000 1234");
    e.ip = 0xffffffff81000401;
    assert_text(&k, &e, sizeof e,
                "none zero 0xffffffff81000401 0xffffffff81000401 0xffffffff81000401 1234");
    kernel_close(&k);
}

static void strings(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:1;\n"
        "\tfield:__rel_loc u8[] data;\toffset:20;\tsize:4;\tsigned:0;\n\n"
        "print fmt: \"[%s] [%-6s] [%.2s] %s %*phC\", REC->comm, __get_str(name), __get_str(name), "
        "__print_hex(__get_rel_dynamic_array(data), __get_rel_dynamic_array_len(data)), 2, "
        "__get_rel_dynamic_array(data)\n";
    struct {
        uint16_t type;
        uint8_t flags, count;
        int32_t pid;
        char comm[8];
        uint32_t name, data;
        char bytes[8];
    } e = {.type = 7,
           .comm = "ab\ncdefg",
           .name = 4 << 16 | 24,
           .data = 3 << 16 | 4,
           .bytes = "str\0\1\2\3"};
    struct kernel k;

    kernel_open(&k, text, own_order);
    assert_text(&k, &e, sizeof e, "[ab\\x0acdefg] [str   ] [st] 01 02 03 01:02");
    /* Places that lie outside. */
    e.name = 4 << 16 | 30;
    e.data = 0xffffu << 16 | 4;
    assert_text(&k, &e, sizeof e, "[ab\\x0acdefg] [] []  ");
    e.name = e.data = UINT32_MAX;
    assert_text(&k, &e, sizeof e, "[ab\\x0acdefg] [] []  ");
    kernel_close(&k);
}

static void addresses(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:u8 v4[4];\toffset:8;\tsize:4;\tsigned:0;\n"
        "\tfield:u8 v6[16];\toffset:12;\tsize:16;\tsigned:0;\n"
        "\tfield:u8 mac[6];\toffset:28;\tsize:6;\tsigned:0;\n"
        "\tfield:u8 sa[28];\toffset:36;\tsize:28;\tsigned:0;\n\n"
        "print fmt: \"%pI4 %pi4 %pI4h %pI6 %pI6c %pM %pMR %pm %pUb %pUl %pISpc %pM\", REC->v4, "
        "REC->v4, REC->v4, REC->v6, REC->v6, REC->mac, REC->mac, REC->mac, REC->v6, REC->v6, "
        "REC->sa, REC->v4\n";
    uint8_t e[64] = {7};
    struct kernel k;

    memcpy(e + 8, "\x0a\x00\x02\x0f", 4);
    memcpy(e + 12, "\xfe\x80\0\0\0\0\0\0\x02\x11\x22\xff\xfe\x33\x44\x55", 16);
    memcpy(e + 28, "\x52\x54\x00\x12\x34\x56", 6);
    memcpy(e + 36, "\x0a\0\x01\xbb\0\0\0\0", 8);
    e[36 + 8 + 15] = 1;
    kernel_open(&k, text, (struct kernel_facts){0});
    assert_text(&k, e, sizeof e,
                "10.0.2.15 010.000.002.015 15.2.0.10 "
                "fe80:0000:0000:0000:0211:22ff:fe33:4455 fe80::211:22ff:fe33:4455 "
                "52:54:00:12:34:56 56:34:12:00:54:52 525400123456 "
                "fe800000-0000-0000-0211-22fffe334455 000080fe-0000-0000-0211-22fffe334455 "
                "[::1]:443 INVALIDMAC");
    kernel_close(&k);
}

/* trace_printk() whose arguments lie packed behind the address of its format. */
static void packed(void **state)
{
    static const char text[] =
        "name: bprint\nID: 7\n" COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
        "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
        "print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";
    uint8_t e[64] = {7};
    struct kernel k;

    store_le64(e + 8, 0xffffffff81000110);
    store_le64(e + 16, 0xffffffff82000010);
    store_le32(e + 24, (uint32_t)-5);
    memcpy(e + 28, "seven", 6);
    store_le64(e + 36, 0xffffffff81000301); /* aligned to 4 */
    store_le32(e + 44, 0x1a);
    store_le64(e + 48, UINT64_MAX);
    kernel_open(&k, text, (struct kernel_facts){0});
    k.system = "ftrace";
    assert_text(&k, e, 56, "schedule: -5 of seven at in_module+0x1,    1a% 18446744073709551615");
    assert_text(&k, e, 30, "schedule: -5 of se at 0x0,    00% 0");
    store_le64(e + 16, 0x99);
    assert_text(&k, e, 56, "schedule: (NO FORMAT FOUND at 99)");
    kernel_close(&k);
}

/* Before Linux 5.9 the function tracers print addresses, and names of them are known. */
static void functions(void **state)
{
    static const char text[] =
        "name: function\nID: 7\n" COMMON
        "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
        "print fmt: \" %lx <-- %lx\", REC->ip, REC->parent_ip\n";
    struct text name = TEXT_IN_MEMORY;
    struct item item = {0};
    uint8_t e[24] = {7};
    struct kernel k;

    store_le64(e + 8, 0xffffffff81000123);
    store_le64(e + 16, 0x1234);
    kernel_open(&k, text, (struct kernel_facts){0});
    k.system = "ftrace";
    assert_text(&k, e, sizeof e, " schedule <-- 0x1234");
    item = (struct item){.origin = &k.origin, .payload = e, .size = sizeof e};
    item.class = kernel_events_class(k.events, 7);
    assert_true(item.class->put_name(&item, 0, &name));
    assert_int_equal(text_len(&name), strlen("schedule"));
    assert_memory_equal(name.start, "schedule", strlen("schedule"));
    assert_false(item.class->put_name(&item, 1, &name));
    text_done(&name);
    kernel_close(&k);

    /* Of another event it may be anything. */
    kernel_open(&k, text, (struct kernel_facts){0});
    assert_text(&k, e, sizeof e, " ffffffff81000123 <-- 1234");
    kernel_close(&k);
}

/* Arguments without a conversion are not shown. */
static void too_many_arguments(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
        "\tfield:u32 d[2];\toffset:12;\tsize:8;\tsigned:0;\n\n"
        "print fmt: \"%d|%x\", REC->a, REC->d[0], REC->d[1], REC->d[2]\n";
    struct kernel k;

    kernel_open(&k, text, (struct kernel_facts){0});
    assert_text(&k, "\7\0\0\0\0\0\0\0\5\0\0\0\x1f\0\0\0\1\0\0\0", 20, "5|1f");
    kernel_close(&k);
}

/* A stack has as many entries as it says, where it has them; its format always declares 8. */
static void stacks(void **state)
{
    static const char text[] =
        "name: kernel_stack\nID: 7\n" COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
        "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
        "print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> "
        "%ps\\n\" "
        "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], "
        "(void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "
        "(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]\n";
    static const struct {
        int32_t says;
        uint32_t size, has;
        const char *text;
    } cases[] = {
        {3, 40, 24, "=> schedule => 0x5 => 0x6"},
        {3, 96, 24, "=> schedule => 0x5 => 0x6"},
        {10, 96, 80, "=> schedule => 0x5 => 0x6 => 0x7 => 0x8 => 0x9 => 0xa => 0xb => 0xc => 0xd"},
        {3, 37, 16, "=> schedule => 0x5"},
        {0, 16, 0, ""},
        {-1, 40, 0, ""},
        {3, 10, UINT32_MAX, ""},
    };
    uint8_t e[96] = {7};
    struct kernel k;

    for (unsigned i = 0; i < 10; i++)
        store_le64(e + 16 + i * (size_t)8, i ? i + 4 : 0xffffffff81000110);
    kernel_open(&k, text, (struct kernel_facts){0});
    k.system = "ftrace";
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct item item = {.origin = &k.origin, .payload = e, .size = cases[i].size};
        struct value all[2], one;

        store_le32(e + 8, (uint32_t)cases[i].says);
        assert_text(&k, e, cases[i].size, cases[i].text);
        item.class = kernel_events_class(k.events, 7);
        assert_string_equal(item.class->fields[1].name, "caller");
        item_values(&item, all);
        one = item_value(&item, 1);
        assert_int_equal(one.present, cases[i].has != UINT32_MAX);
        assert_int_equal(all[1].present, one.present);
        if (!one.present)
            continue;
        assert_int_equal(one.len, cases[i].has);
        assert_int_equal(all[1].len, cases[i].has);
        assert_ptr_equal(one.s, e + 16);
    }
    kernel_close(&k);
}

/* A format without any fields, not even those that all events have. */
static void no_fields(void **state)
{
    struct kernel k;

    kernel_open(&k, "name: made\nID: 7\nformat:\n\n\nprint fmt: \"text %d\", 1\n",
                (struct kernel_facts){0});
    k.system = "ftrace";
    assert_text(&k, "\7", 1, "text 1");
    assert_int_equal(kernel_events_class(k.events, 7)->n_fields, 0);
    kernel_close(&k);
}

/* A format that calls what nobody knows still shows its fields. */
static void not_understood(void **state)
{
    struct kernel k;

    kernel_open(&k,
                "name: made\nID: 7\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:char s[4];\toffset:12;\tsize:4;\tsigned:1;\n\n"
                "print fmt: \"%s\", unheard_of(REC->a)\n",
                (struct kernel_facts){0});
    assert_text(&k,
                "\7\0\0\0\0\0\0\0\xff\xff\xff\xff"
                "abc",
                16, "[FAILED TO PARSE] a=-1 s=abc");
    assert_text(&k,
                "\7\0\0\0\0\0\0\0\xff\xff\xff\xff"
                "\1\2\3",
                16, "[FAILED TO PARSE] a=-1 s=ARRAY[01, 02, 03, 00]");
    kernel_close(&k);
}

/* What FIELD of EVENT is called; NULL: nothing. */
static void assert_name(struct kernel *k, const void *event, size_t size, unsigned field,
                        const char *expected)
{
    struct item item = {.origin = &k->origin, .payload = event, .size = (uint32_t)size};
    struct text text = TEXT_IN_MEMORY;
    struct value value;

    item.class = kernel_events_class(k->events, 7);
    assert_non_null(item.class);
    value = item_value(&item, field);
    assert_int_equal(item_put_name(&item, field, &value, &text), expected != NULL);
    assert_int_equal(class_may_name(item.class, field) || !expected, true);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected ? expected : "");
    text_done(&text);
}

/* As of kvm_exit: another field chooses the list of names. */
static void two_lists(void **state)
{
    static const char text[] =
        "name: made\nID: 7\n" COMMON "\tfield:u32 reason;\toffset:8;\tsize:4;\tsigned:0;\n"
        "\tfield:u32 isa;\toffset:12;\tsize:4;\tsigned:0;\n\n"
        "print fmt: \"%s\", (REC->isa == 1) ? __print_symbolic(REC->reason & 0xff, {1, \"HLT\"}) : "
        "__print_symbolic(REC->reason, {1, \"read_cr1\"}, {2, \"hlt\"})\n";
    static const struct {
        uint32_t id, pid, reason, isa;
    } intel = {7, 0, 0x101, 1}, amd = {7, 0, 2, 2}, other = {7, 0, 3, 2};
    struct kernel k;

    kernel_open(&k, text, own_order);
    assert_name(&k, &intel, sizeof intel, 0, "HLT");
    assert_name(&k, &amd, sizeof amd, 0, "hlt");
    assert_name(&k, &other, sizeof other, 0, NULL);
    assert_name(&k, &amd, sizeof amd, 1, NULL);
    kernel_close(&k);

    /* Where one list is of another field, neither has names. */
    kernel_open(&k,
                "name: made\nID: 7\n" COMMON "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
                "\tfield:u32 b;\toffset:12;\tsize:4;\tsigned:0;\n\n"
                "print fmt: \"%s\", REC->b ? __print_symbolic(REC->a, {2, \"two\"}) : \"none\"\n",
                own_order);
    assert_name(&k, &amd, sizeof amd, 0, NULL);
    assert_name(&k, &amd, sizeof amd, 1, NULL);
    kernel_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(names),
        cmocka_unit_test(no_names),
        cmocka_unit_test(strings),
        cmocka_unit_test(addresses),
        cmocka_unit_test(packed),
        cmocka_unit_test(stacks),
        cmocka_unit_test(functions),
        cmocka_unit_test(too_many_arguments),
        cmocka_unit_test(no_fields),
        cmocka_unit_test(not_understood),
        cmocka_unit_test(two_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
