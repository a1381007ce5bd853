/* SPDX-License-Identifier: MIT */
/* Compiled formats against the C library's printf. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "byte_order.h"
#include "event/catalogue.h"
#include "event/program.h"

static const uint64_t numbers[] = {
    0,
    1,
    9,
    10,
    99,
    100,
    255,
    256,
    65535,
    999999,
    1000000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    9999999999,
    10000000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xdeadbeefcafef00d,
    UINT64_MAX,
};

/* The text of one u64 argument by FORMAT. */
static void format_one(const char *format, uint64_t v, char *buf, size_t size)
{
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    const struct field field = {
        .name = "v", .c_type = "uint64_t", .type = FIELD_UINT, .size = 8, .storage = STORE_SCALAR};
    const struct event_class class = {
        .name = "e", .fields = &field, .n_fields = 1, .format = format};
    struct event_class *added;
    struct item item = {.payload = (const uint8_t *)&v, .size = 8};

    assert_int_equal(catalogue_add(&catalogue, &class, &added), 0);
    assert_non_null(added->program);
    item.class = added;
    item_put_text(&item, &text);
    assert_int_equal(text.error, 0);
    assert_true(text_len(&text) < size);
    memcpy(buf, text.start, text_len(&text));
    buf[text_len(&text)] = '\0';
    text_done(&text);
    catalogue_done(&catalogue);
}

static void integers_read_as_printf_writes_them(void **state)
{
    static const char *const flags[] = {"", "-", "0", "#", "+", " ", "#0", "-#", "+0"};
    static const char *const widths[] = {"", "1", "8", "16", "30", ".0", ".1", ".12", "20.9"};
    static const char *const lengths[] = {"hh", "h", "", "l", "ll", "j", "z", "t"};
    static const char conversions[] = "diuoxX";
    unsigned checked = 0;

    (void)state;
    for (size_t f = 0; f < ARRAY_SIZE(flags); f++)
        for (size_t w = 0; w < ARRAY_SIZE(widths); w++)
            for (size_t l = 0; l < ARRAY_SIZE(lengths); l++)
                for (const char *c = conversions; *c; c++)
                    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                        char format[64];
                        char expected[128];
                        char got[128];

                        /* Of traces all that is "long" has 64 bits. */
                        snprintf(format, sizeof format, "a%%%s%s%s%cb", flags[f], widths[w],
                                 sizeof(long) < 8 && strchr("lzt", *lengths[l]) && *lengths[l]
                                     ? "ll"
                                     : lengths[l],
                                 *c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                        snprintf(expected, sizeof expected, format, numbers[i]);
#pragma GCC diagnostic pop
                        snprintf(format, sizeof format, "a%%%s%s%s%cb", flags[f], widths[w],
                                 lengths[l], *c);
                        format_one(format, numbers[i], got, sizeof got);
                        if (strcmp(expected, got) != 0)
                            fail_msg("%s of %#llx: '%s', not '%s'", format,
                                     (unsigned long long)numbers[i], got, expected);
                        checked++;
                    }
    assert_true(checked > 50000);
}

static void pointers_read_as_glibc_writes_them(void **state)
{
    char got[64];

    (void)state;
    format_one("%p", 0, got, sizeof got);
    assert_string_equal(got, "(nil)");
    format_one("%p", 0xffff880012345678, got, sizeof got);
    assert_string_equal(got, "0xffff880012345678");
    format_one("%20p|", 0x1234, got, sizeof got);
    assert_string_equal(got, "              0x1234|");
}

static void two_of(const char *format, const char *s, uint32_t v, char *buf, size_t size,
                   int expected_result)
{
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    const struct field fields[] = {
        {.name = "s", .c_type = "const char *", .type = FIELD_STRING, .storage = STORE_COUNTED},
        {.name = "v",
         .c_type = "int",
         .type = FIELD_INT,
         .place = PLACE_AFTER_PREVIOUS,
         .storage = STORE_SCALAR,
         .size = 4},
    };
    const struct event_class class = {
        .name = "e", .fields = fields, .n_fields = 2, .format = format};
    uint8_t payload[8192];
    uint32_t len = (uint32_t)strlen(s);
    struct event_class *added;
    struct item item = {.payload = payload, .size = 8 + len};

    assert_true(len + 8 < sizeof payload);
    memcpy(payload, &len, 4);
    memcpy(payload + 4, s, len);
    memcpy(payload + 4 + len, &v, 4);
    assert_int_equal(catalogue_add(&catalogue, &class, &added), 0);
    assert_int_equal(added->program ? 0 : -EINVAL, expected_result);
    item.class = added;
    item_put_text(&item, &text);
    assert_true(text_len(&text) < size);
    memcpy(buf, text.start, text_len(&text));
    buf[text_len(&text)] = '\0';
    text_done(&text);
    catalogue_done(&catalogue);
}

static void strings_and_numbers_mix(void **state)
{
    char buf[16384];
    char s[6001];

    (void)state;
    two_of("name %s value %d%%", "eth0", (uint32_t)-5, buf, sizeof buf, 0);
    assert_string_equal(buf, "name eth0 value -5%");
    two_of("[%-8s|%8d]", "abc", 42, buf, sizeof buf, 0);
    assert_string_equal(buf, "[abc     |      42]");
    two_of("%.2s/%#x", "abc", 42, buf, sizeof buf, 0);
    assert_string_equal(buf, "ab/0x2a");
    /* Longer than the room that is asked for at a time. */
    memset(s, 'x', sizeof s - 1);
    s[sizeof s - 1] = '\0';
    two_of("%s %d", s, 7, buf, sizeof buf, 0);
    assert_int_equal(strlen(buf), 6002);
    assert_string_equal(buf + 5998, "xx 7");
}

static void control_characters_never_reach_a_terminal(void **state)
{
    char buf[256];

    (void)state;
    two_of("%s %d", "a\033[31mred\n", 1, buf, sizeof buf, 0);
    assert_string_equal(buf, "a\\x1b[31mred\\x0a 1");
    two_of("%s %d", "12345678\x7f", 1, buf, sizeof buf, 0);
    assert_string_equal(buf, "12345678\\x7f 1");
    two_of("buf:\n%s\tlen %d\n", "x", 1, buf, sizeof buf, 0);
    assert_string_equal(buf, "buf:\\x0ax\\x09len 1\\x0a");
    /* C1 as UTF-8, and a letter that begins with the same byte */
    two_of("%s %d", "\xc2\x9b \xc2\xa9 \xc3\xbc", 1, buf, sizeof buf, 0);
    assert_string_equal(buf, "\\u009b \xc2\xa9 \xc3\xbc 1");
}

static void a_format_that_does_not_fit_shows_the_fields(void **state)
{
    char buf[256];

    (void)state;
    two_of("%d %d", "x", 1, buf, sizeof buf, -EINVAL);
    assert_string_equal(buf, "s=\"x\" v=1");
    two_of("%s %d %d", "x", 1, buf, sizeof buf, -EINVAL);
    two_of("%s %y", "x", 1, buf, sizeof buf, -EINVAL);
    two_of("%s %", "x", 1, buf, sizeof buf, -EINVAL);
    two_of("%s", "x", 1, buf, sizeof buf, 0);
    assert_string_equal(buf, "x");
}

/* The text of an event with PAYLOAD, by the program of the catalogue or, for what it is to be equal to, field by field. */
static void text_of(const struct event_class *class, const uint8_t *payload, uint32_t size,
                    bool compiled, char *buf, size_t buf_size)
{
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct event_class *added;
    uint8_t *copy = malloc(size ? size : 1); /* so that a sanitizer sees what is read after it */
    struct item item = {.class = class, .payload = copy, .size = size};

    assert_non_null(copy);
    memcpy(copy, payload, size);
    assert_int_equal(catalogue_add(&catalogue, class, &added), 0);
    if (compiled)
        item.class = added;
    item_put_text(&item, &text);
    text_put_char(&text, '\0');
    assert_int_equal(text.error, 0);
    assert_true(text_len(&text) <= buf_size);
    memcpy(buf, text.start, text_len(&text));
    text_done(&text);
    free(copy);
    catalogue_done(&catalogue);
}

static void compiled_fields_read_as_fields_do(void **state)
{
    static const char *const labels[] = {
        NULL, "one", NULL, "three", "longer than what is copied at once", "\033[1m"};
    static const struct value_name more[] = {{7, "seven"}, {0x88, "in one byte"}};
    static const struct value_names names = {.names = labels, .n = 6, .more = more, .n_more = 2};
    static const struct value_names bits = {.names = labels, .n = 4, .bits = true};
    static const struct value_names *const all_names[] = {NULL, &names, &bits};
    static const enum field_type types[] = {FIELD_UINT, FIELD_INT,     FIELD_BOOL,
                                            FIELD_CHAR, FIELD_POINTER, FIELD_FLOAT};
    static const uint8_t sizes[] = {1, 2, 4, 8};
    /* One field with every property, then an array, then one that is beyond a short payload. */
    struct field fields[] = {
        {.name = "first", .c_type = "t"},
        {.name = "a_name_of_more_than_sixteen_bytes",
         .c_type = "u16 []",
         .type = FIELD_BYTES,
         .storage = STORE_ARRAY,
         .offset = 8,
         .size = 4,
         .element = 2},
        {.name = "last", .c_type = "u32", .type = FIELD_UINT, .offset = 12, .size = 4},
    };
    const struct event_class class = {.name = "e", .fields = fields, .n_fields = 3};
    const uint8_t payloads[][16] = {
        {3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 7},
        {4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 7},
        {5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 7},
        {6, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 7},
        {7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 7},
        {0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff},
    };
    unsigned checked = 0;

    (void)state;
    for (unsigned i = 0; i < 6 * 4 * 3 * 2 * 2 * 3 * 2 * 2; i++) {
        unsigned n = i;
        struct field *field = &fields[0];
        char expected[512], got[512];

        field->type = types[n % 6];
        field->size = sizes[n / 6 % 4];
        n /= 6 * 4;
        field->names = all_names[n % 3];
        field->hex = n / 3 % 2;
        field->swap = n / 6 % 2;
        n /= 3 * 2 * 2;
        field->bits = n % 3 == 0 ? 0 : (uint8_t)(n % 3 == 1 ? 5 : field->size * 8);
        field->shift = n % 3 == 1 ? 3 : 0;
        field->c_size = n / 3 % 2 ? 4 : 0;
        fields[2].optional = n / 6 % 2;
        for (unsigned k = 0; k < ARRAY_SIZE(payloads); k++)
            for (uint32_t size = 0; size <= sizeof payloads[k]; size += 4) {
                text_of(&class, payloads[k], size, false, expected, sizeof expected);
                text_of(&class, payloads[k], size, true, got, sizeof got);
                if (strcmp(expected, got) != 0)
                    fail_msg("%u, %u bytes: '%s', not '%s'", i, size, got, expected);
                checked++;
            }
    }
    assert_true(checked > 10000);
}

static void a_format_reads_what_is_missing_as_nothing(void **state)
{
    const struct field fields[] = {
        {.name = "a", .c_type = "int", .type = FIELD_INT, .size = 4},
        {.name = "b",
         .c_type = "int",
         .type = FIELD_INT,
         .offset = 4,
         .size = 4,
         .swap = SWAP_LITTLE},
        {.name = "c",
         .c_type = "u64",
         .type = FIELD_UINT,
         .offset = 8,
         .size = 8,
         .swap = SWAP_LITTLE},
        {.name = "s",
         .c_type = "char *",
         .type = FIELD_STRING,
         .storage = STORE_COUNTED,
         .offset = 16,
         .swap = SWAP_LITTLE},
    };
    const struct event_class class = {
        .name = "e", .fields = fields, .n_fields = 4, .format = "%d %d 0x%lx '%s'"};
    const uint8_t payload[] = {0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 3, 0,   0,
                               0,    0,    0,    0,    0, 2, 0, 0, 0, 'h', 'i'};
    char buf[64];

    (void)state;
    text_of(&class, payload, sizeof payload, true, buf, sizeof buf);
    assert_string_equal(buf, "-1 2 0x3 'hi'");
    text_of(&class, payload, 16, true, buf, sizeof buf);
    assert_string_equal(buf, "-1 2 0x3 ''");
    text_of(&class, payload, 9, true, buf, sizeof buf);
    assert_string_equal(buf, "-1 2 0x0 ''");
    text_of(&class, payload, 4, true, buf, sizeof buf);
    assert_string_equal(buf, "-1 0 0x0 ''");
    text_of(&class, payload, 0, true, buf, sizeof buf);
    assert_string_equal(buf, "0 0 0x0 ''");
}

static void a_short_payload_reads_as_absent(void **state)
{
    const struct field fields[] = {
        {.name = "a", .c_type = "int", .type = FIELD_UINT, .size = 4},
        {.name = "s",
         .c_type = "char *",
         .type = FIELD_STRING,
         .place = PLACE_AFTER_PREVIOUS,
         .storage = STORE_COUNTED},
        {.name = "b",
         .c_type = "int",
         .type = FIELD_UINT,
         .place = PLACE_AFTER_PREVIOUS,
         .size = 4},
        {.name = "c",
         .c_type = "char[2]",
         .type = FIELD_STRING,
         .place = PLACE_AFTER_PREVIOUS,
         .storage = STORE_ARRAY,
         .size = 2},
        {.name = "d",
         .c_type = "char",
         .type = FIELD_UINT,
         .place = PLACE_AFTER_PREVIOUS,
         .size = 1},
    };
    const struct event_class class = {.name = "e", .fields = fields, .n_fields = 5};
    const uint8_t payload[] = {1, 0, 0, 0, 200, 0, 0, 0, 'x', 'y'};
    struct value values[5];

    (void)state;
    for (uint32_t size = 0; size <= sizeof payload; size++) {
        uint8_t *copy = malloc(size + 1);
        struct item item = {.class = &class, .payload = copy, .size = size};

        memcpy(copy, payload, size);
        item_values(&item, values);
        assert_int_equal(values[0].present, size >= 4);
        assert_false(values[1].present);
        assert_false(values[2].present);
        assert_false(values[3].present);
        assert_false(values[4].present);
        for (unsigned i = 0; i < 5; i++)
            assert_int_equal(item_value(&item, i).present, values[i].present);
        free(copy);
    }
}

/* Numbers of fewer bits than their conversion reads. */
static void bits_are_no_signs(void **state)
{
    const struct field fields[] = {
        {.name = "a",
         .c_type = "u",
         .type = FIELD_UINT,
         .size = 4,
         .shift = 3,
         .bits = 5,
         .swap = SWAP_LITTLE},
        {.name = "b",
         .c_type = "u",
         .type = FIELD_UINT,
         .size = 4,
         .shift = 3,
         .bits = 5,
         .swap = SWAP_LITTLE},
        {.name = "c", .c_type = "u", .type = FIELD_UINT, .size = 4, .bits = 8, .swap = SWAP_LITTLE},
        {.name = "d", .c_type = "u", .type = FIELD_UINT, .size = 4, .bits = 8, .swap = SWAP_LITTLE},
        {.name = "e",
         .c_type = "u",
         .type = FIELD_UINT,
         .size = 4,
         .bits = 16,
         .swap = SWAP_LITTLE},
        {.name = "f", .c_type = "u", .type = FIELD_UINT, .size = 1},
        {.name = "g", .c_type = "u", .type = FIELD_UINT, .size = 2, .swap = SWAP_LITTLE},
        {.name = "h", .c_type = "u", .type = FIELD_UINT, .size = 2, .swap = SWAP_LITTLE},
    };
    const struct event_class class = {
        .name = "e", .fields = fields, .n_fields = 8, .format = "%d %u %x %04x %hhu %d %d %hhu"};
    const uint8_t payload[] = {0xff, 0xfe, 0, 0};
    char got[128];

    (void)state;
    text_of(&class, payload, sizeof payload, true, got, sizeof got);
    assert_string_equal(got, "31 31 ff 00ff 255 255 65279 255");
}

static void fields_lie_where_the_class_says(void **state)
{
    const struct field fields[] = {
        {.name = "le", .c_type = "u16", .type = FIELD_UINT, .size = 2, .swap = SWAP_LITTLE},
        {.name = "be", .c_type = "u16", .type = FIELD_UINT, .size = 2, .swap = !SWAP_LITTLE},
        {.name = "hi",
         .c_type = "u16",
         .type = FIELD_UINT,
         .size = 2,
         .shift = 12,
         .bits = 4,
         .swap = SWAP_LITTLE},
        {.name = "neg", .c_type = "s8", .type = FIELD_INT, .size = 1, .offset = 2},
        {.name = "loc",
         .c_type = "char[]",
         .type = FIELD_STRING,
         .storage = STORE_ARRAY,
         .place = PLACE_DATA_LOC,
         .swap = SWAP_LITTLE,
         .offset = 4},
        {.name = "rel",
         .c_type = "char[]",
         .type = FIELD_STRING,
         .storage = STORE_ARRAY,
         .place = PLACE_REL_LOC,
         .swap = SWAP_LITTLE,
         .offset = 8},
        {.name = "arr",
         .c_type = "char[4]",
         .type = FIELD_STRING,
         .storage = STORE_ARRAY,
         .offset = 12,
         .size = 4},
        {.name = "rest",
         .c_type = "u8[]",
         .type = FIELD_BYTES,
         .storage = STORE_TO_END,
         .offset = 14},
    };
    const struct event_class class = {.name = "e", .fields = fields, .n_fields = 8};
    const uint8_t payload[] = {0x34, 0x12, 0xfe, 0, 12, 0, 3, 0, 0, 0, 2, 0, 'a', 'b', 0, 'z'};
    struct item item = {.class = &class, .payload = payload, .size = sizeof payload};
    struct text text = TEXT_IN_MEMORY;

    (void)state;
    item_put_text(&item, &text);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, "le=4660 be=13330 hi=1 neg=-2 loc=\"ab\" rel=\"ab\" arr=\"ab\" "
                                    "rest=[0x0 0x7a]");
    text_done(&text);
}

static void a_rest_that_is_no_whole_element_is_shown(void **state)
{
    const struct field field = {.name = "words",
                                .c_type = "uint64_t []",
                                .type = FIELD_BYTES,
                                .storage = STORE_TO_END,
                                .element = 8,
                                .swap = SWAP_LITTLE};
    const struct event_class class = {.name = "e", .fields = &field, .n_fields = 1};
    const uint8_t payload[] = {1, 0, 0, 0, 0, 0, 0, 0, 0xab, 2};
    struct item item = {.class = &class, .payload = payload, .size = sizeof payload};
    struct text text = TEXT_IN_MEMORY;

    (void)state;
    item_put_text(&item, &text);
    text_put_char(&text, '|');
    item.size = 0;
    item_put_text(&item, &text);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, "words=[0x1 0xab 0x2]|words=[]");
    text_done(&text);
}

/* CTF 2 allows a name that looks like the next line. */
static void a_name_stays_in_its_line(void **state)
{
    const struct field fields[] = {
        {.name = "x=1\n0.5 [000] forged: y", .c_type = "u8", .type = FIELD_UINT, .size = 1},
        {.name = "\033]0;", .c_type = "u8", .type = FIELD_UINT, .size = 1, .offset = 1},
    };
    const struct event_class class = {.name = "e", .fields = fields, .n_fields = 2};
    char buf[100];

    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        text_of(&class, (const uint8_t[]){1, 2}, 2, compiled, buf, sizeof buf);
        assert_string_equal(buf, "x=1\\x0a0.5 [000] forged: y=1 \\x1b]0;=2");
    }
}

static void clocks_convert_without_wrapping(void **state)
{
    const struct clock slow = {.name = "slow", .hz = 1};
    const struct clock tsc = {.name = "tsc", .hz = 2400000000};
    const struct clock unknown = {.name = "unknown", .hz = 0};

    (void)state;
    assert_true(clock_to_ns(&tsc, 2400000000000) == 1000000000000);
    assert_true(clock_to_ns(&tsc, -24) == -10);
    assert_true(clock_to_ns(&slow, INT64_MAX / 2) == INT64_MAX);
    assert_true(clock_to_ns(&slow, INT64_MIN / 2) == INT64_MIN);
    assert_true(clock_to_ns(&unknown, INT64_MAX) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_read_as_printf_writes_them),
        cmocka_unit_test(pointers_read_as_glibc_writes_them),
        cmocka_unit_test(strings_and_numbers_mix),
        cmocka_unit_test(control_characters_never_reach_a_terminal),
        cmocka_unit_test(a_format_that_does_not_fit_shows_the_fields),
        cmocka_unit_test(compiled_fields_read_as_fields_do),
        cmocka_unit_test(a_format_reads_what_is_missing_as_nothing),
        cmocka_unit_test(a_short_payload_reads_as_absent),
        cmocka_unit_test(bits_are_no_signs),
        cmocka_unit_test(fields_lie_where_the_class_says),
        cmocka_unit_test(a_rest_that_is_no_whole_element_is_shown),
        cmocka_unit_test(a_name_stays_in_its_line),
        cmocka_unit_test(clocks_convert_without_wrapping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
