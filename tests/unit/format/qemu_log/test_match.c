/* SPDX-License-Identifier: MIT */
/* Formats run backwards, against the C library's printf. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "event/catalogue.h"
#include "event/program.h"
#include "format/qemu_log/match.h"
#include "random.h"

/* A class whose fields are given by letters: i int, u unsigned, I int64_t, U uint64_t, h int8_t,
 * b uint8_t, B bool, s string, p pointer. */
static void make_fields(const char *letters, struct field *fields)
{
    for (unsigned i = 0; letters[i]; i++) {
        char c = letters[i];
        struct field field = {.name = "f", .c_type = "x", .type = FIELD_UINT, .size = 8};

        field.c_size = strchr("iu", c) ? 4 : strchr("hbB", c) ? 1 : 8;
        if (strchr("iIh", c))
            field.type = FIELD_INT;
        else if (c == 'B')
            field.type = FIELD_BOOL;
        else if (c == 'p')
            field.type = FIELD_POINTER;
        else if (c == 's')
            field = (struct field){.name = "f",
                                   .c_type = "const char *",
                                   .type = FIELD_STRING,
                                   .storage = STORE_COUNTED};
        field.place = i ? PLACE_AFTER_PREVIOUS : PLACE_FIXED;
        fields[i] = field;
    }
}

struct result {
    bool matched;
    size_t taken;
    uint32_t size;
    char again[4096];  /* the values formatted again */
    char values[4096]; /* "12|abc|-3" */
};

/* -EINVAL when FORMAT cannot be read back. */
static int try_match(const char *format, const char *letters, const char *text, size_t len,
                     bool lines, struct result *ret)
{
    struct catalogue catalogue = {0};
    struct field fields[FIELDS_MAX];
    struct event_class class = {.name = "e", .fields = fields, .format = format};
    struct event_class *added;
    const struct log_pattern *pattern;
    struct log_matcher *matcher;
    /* Of just the size promised, for the sanitiser; the text too, without a NUL. */
    uint8_t *payload = malloc(LOG_PAYLOAD_MAX(len));
    char *copy = malloc(len ? len : 1);
    int r;

    memcpy(copy, text, len);
    memset(ret, 0, sizeof *ret);
    make_fields(letters, fields);
    class.n_fields = (unsigned)strlen(letters);
    assert_int_equal(catalogue_add(&catalogue, &class, &added), 0);
    assert_int_equal(log_matcher_new(&matcher), 0);
    r = log_pattern_compile(&catalogue.arena, added, &pattern);
    if (r == 0)
        ret->matched =
            log_pattern_match(matcher, pattern, copy, len, lines, payload, &ret->size, &ret->taken);
    if (ret->matched) {
        struct item item = {.class = added, .payload = payload, .size = ret->size};
        struct text out = TEXT_IN_MEMORY;
        struct value values[FIELDS_MAX];

        item_put_text(&item, &out);
        assert_true(text_len(&out) < sizeof ret->again);
        if (text_len(&out) > 0)
            memcpy(ret->again, out.start, text_len(&out));
        text_done(&out);

        item_values(&item, values);
        for (unsigned i = 0; i < class.n_fields; i++) {
            text_put(&out, "|", i > 0);
            if (!values[i].present)
                text_put_char(&out, '?');
            else if (fields[i].type == FIELD_STRING)
                text_put(&out, values[i].s, values[i].len);
            else if (fields[i].type == FIELD_INT)
                text_put_i64(&out, values[i].i);
            else
                text_put_u64(&out, values[i].u);
        }
        assert_true(text_len(&out) < sizeof ret->values);
        if (text_len(&out))
            memcpy(ret->values, out.start, text_len(&out));
        text_done(&out);
    }
    log_matcher_free(matcher);
    catalogue_done(&catalogue);
    free(payload);
    free(copy);
    return r;
}

struct example {
    const char *format;
    const char *letters;
    const char *text;
    const char *values; /* NULL: does not match */
};

static void run_examples(const struct example *examples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct example *e = &examples[i];
        struct result result;

        assert_int_equal(try_match(e->format, e->letters, e->text, strlen(e->text), false, &result),
                         0);
        if (!e->values) {
            if (result.matched)
                fail_msg("\"%s\" matches \"%s\" as %s", e->format, e->text, result.values);
            continue;
        }
        if (!result.matched)
            fail_msg("\"%s\" does not match \"%s\"", e->format, e->text);
        assert_string_equal(result.values, e->values);
        assert_string_equal(result.again, e->text);
        assert_int_equal(result.taken, strlen(e->text));
    }
}

static void numbers_are_taken_as_printf_writes_them(void **state)
{
    static const struct example examples[] = {
        {"%d", "i", "0", "0"},
        {"%d", "i", "-1", "-1"},
        {"%d", "i", "2147483647", "2147483647"},
        {"%d", "i", "-2147483648", "-2147483648"},
        {"%d", "i", "2147483648", NULL},
        {"%d", "i", "-2147483649", NULL},
        {"%d", "i", "-0", NULL},
        {"%d", "i", "007", NULL},
        {"%d", "i", "", NULL},
        {"%d", "i", "-", NULL},
        {"%d", "i", "12a", NULL},
        {"%d", "i", " 12", NULL},
        {"%d", "u", "-1", "4294967295"},
        {"%u", "i", "4294967295", "-1"},
        {"%u", "u", "4294967296", NULL},
        {"%d", "b", "255", "255"},
        {"%d", "b", "256", NULL},
        {"%d", "b", "-1", NULL},
        {"%d", "h", "-128", "-128"},
        {"%x", "h", "ffffffff", "-1"},
        {"%x", "h", "ff", NULL},
        {"%hhx", "h", "ff", "-1"},
        {"%d", "B", "1", "1"},
        {"%d", "B", "2", NULL},
        {"%lld", "I", "-9223372036854775808", "-9223372036854775808"},
        {"%lld", "I", "-9223372036854775809", NULL},
        {"%lu", "U", "18446744073709551615", "18446744073709551615"},
        {"%lu", "U", "18446744073709551616", NULL},
        {"%lu", "U", "99999999999999999999", NULL},
        {"%lu", "U", "184467440737095516150", NULL},
        {"%x", "u", "deadbeef", "3735928559"},
        {"%x", "u", "DEADBEEF", NULL},
        {"%X", "u", "DEADBEEF", "3735928559"},
        {"%X", "u", "deadbeef", NULL},
        {"%x", "u", "1deadbeef", NULL},
        {"%x", "u", "0", "0"},
        {"%x", "u", "00", NULL},
        {"%02x", "u", "0f", "15"},
        {"%02x", "u", "f", NULL},
        {"%02x", "u", "100", "256"},
        {"%02x", "u", "0ff", NULL},
        {"%.8x", "u", "0000000a", "10"},
        {"%8.8x", "u", "0000000a", "10"},
        {"%2.8x", "u", "0000000a", "10"},
        {"%16.8x", "u", "        0000000a", "10"},
        {"%016lx", "U", "00000000deadbeef", "3735928559"},
        {"%020lx", "U", "000000000000deadbeef", "3735928559"},
        {"%020lx", "U", "0000000000deadbeef", NULL},
        {"%020lx", "U", "000000000000000000ff", "255"},
        {"%#x", "u", "0x1f", "31"},
        {"%#x", "u", "0", "0"},
        {"%#x", "u", "0x0", NULL},
        {"%#x", "u", "1f", NULL},
        {"%o", "u", "755", "493"},
        {"%o", "u", "8", NULL},
        {"%3d", "i", "  7", "7"},
        {"%3d", "i", " -7", "-7"},
        {"%3d", "i", "1234", "1234"},
        {"%3d", "i", "7", NULL},
        {"%03d", "i", "-07", "-7"},
        {"%-4d|", "i", "7   |", "7"},
        {"%+d", "i", "+7", "7"},
        {"% d", "i", " 7", "7"},
        {"%.0d", "i", "", "0"},
        {"%c", "u", "A", "65"},
        {"%c%c", "uu", "ab", "97|98"},
        {"%p", "p", "0x7ffe12345678", "140729203840632"},
        {"%p", "p", "(nil)", "0"},
        {"%p", "p", "0x0", NULL},
        {"%p", "p", "0x", NULL},
        {"%p", "p", "0x0123", NULL},
        {"%p", "p", "0xABC", NULL},
        {"%20p", "p", "      0x7ffe12345678", "140729203840632"},
        {"%8p", "p", "   (nil)", "0"},
        {"%zu%%", "U", "50%", "50"},
        {"%zu%%", "U", "50", NULL},
        {"%*d", "ii", "   42", "5|42"},
        {"%0*x", "iu", "002a", "4|42"},
        {"%.*d", "ii", "0042", "4|42"},
    };

    run_examples(examples, sizeof examples / sizeof *examples);
}

static void strings_are_split_where_the_rest_fits(void **state)
{
    static const struct example examples[] = {
        {"", "", "", ""},
        {NULL, "", "", ""},
        {NULL, "", "x", NULL},
        {"", "", "x", NULL},
        {"plain", "", "plain", ""},
        {"plain", "", "plainer", NULL},
        {"%s", "s", "", ""},
        {"%s", "s", "(null)", "(null)"},
        {"%s %s", "ss", "a b", "a|b"},
        {"%s %s", "ss", "a b c", "a|b c"},
        {"name \"%s\" flags 0x%x", "su", "name \"a\" flags 0x\" flags 0x2\" flags 0x3",
         "a\" flags 0x\" flags 0x2|3"},
        {"%s %02x:%02x.%x @", "suuu", "my dev 00:01.3 @", "my dev|0|1|3"},
        {"%s: %d: %s", "sis", "a: b: 1: c", "a: b|1|c"},
        {"%s: %d: %s", "sis", "a: 1: 2: c", "a|1|2: c"},
        {"%s%u: x", "su", "rd8: x", "rd|8"},
        {"%s%u: x", "su", "eth07: x", "eth0|7"},
        {"%s%s%s", "sss", "abc", "||abc"},
        {"Set%s%s", "ss", "Set", "|"},
        {"(%s)", "s", "(a)b)", "a)b"},
        {"(%s)", "s", "(a", NULL},
        {"%s.", "s", "a.b.", "a.b"},
        {"%5s|", "s", "  abc|", "abc"},
        {"%5s|", "s", "abcdefg|", "abcdefg"},
        {"%5s|", "s", "ab|", NULL},
        {"%-5s|", "s", "abc  |", "abc"},
        {"%5s|", "s", "     |", ""},
        {"%.3s", "s", "abc", "abc"},
        {"%.3s", "s", "abcd", NULL},
        {"%.*s!", "is", "abc!", "3|abc"},
        {"%*s!", "is", "  abc!", "5|abc"},
        {"%.2s%.2s", "ss", "abcd", "ab|cd"},
        {"%.2s%d", "si", "ab12", "ab|12"},
    };

    run_examples(examples, sizeof examples / sizeof *examples);
}

static void numbers_give_back_digits_that_the_rest_needs(void **state)
{
    static const struct example examples[] = {
        {"%xb", "u", "1bb", "27"},
        {"%02x%02x", "uu", "1234", "18|52"},
        {"%02x%02x%02x", "uuu", "0a0b0c", "10|11|12"},
        {"%08x%08x", "uu", "0000000112345678", "1|305419896"},
        {"%d%d", "ii", "12", "1|2"},
        {"%u1", "u", "11", "1"},
        {"%u0%u", "uu", "101", "1|1"},
        {"0x%xa%s", "us", "0x1abc", "1|bc"},
        {"%2d%2d", "ii", " 1 2", "1|2"},
        {"%pf", "p", "0xff", "15"},
    };

    run_examples(examples, sizeof examples / sizeof *examples);
}

static void fields_without_a_conversion_have_no_value(void **state)
{
    static const struct example examples[] = {{"a %d", "ii", "a 1", "1|?"}};

    run_examples(examples, 1);
}

static void lines_end_where_the_format_does(void **state)
{
    struct result result;
    const char *text = "a\r\nb c\nrest";

    assert_int_equal(try_match("%s c", "s", text, strlen(text), true, &result), 0);
    assert_true(result.matched);
    assert_int_equal(result.taken, 6);
    assert_string_equal(result.values, "a\r\nb");

    /* A format with a newline of its own takes all into its last string. */
    text = "n 3\n00 01\n02";
    assert_int_equal(try_match("n %d\n%s", "is", text, strlen(text), true, &result), 0);
    assert_true(result.matched);
    assert_int_equal(result.taken, strlen(text));
    assert_string_equal(result.values, "3|00 01\n02");

    text = "n 3\nm 4\nother";
    assert_int_equal(try_match("n %d\nm %d", "ii", text, strlen(text), true, &result), 0);
    assert_true(result.matched);
    assert_int_equal(result.taken, 7);
    assert_string_equal(result.values, "3|4");

    assert_int_equal(try_match("n %d", "i", text, strlen(text), false, &result), 0);
    assert_false(result.matched);
}

static void formats_that_cannot_be_read_back_say_so(void **state)
{
    struct result result;

    assert_int_equal(try_match("%d %d", "i", "1 2", 3, false, &result), -EINVAL);
    assert_int_equal(try_match("%s", "i", "1", 1, false, &result), -EINVAL);
    assert_int_equal(try_match("%.*c", "iu", "A", 1, false, &result), -EINVAL);
    assert_int_equal(try_match("%f", "U", "1", 1, false, &result), -EINVAL);
    assert_int_equal(try_match("%y", "U", "1", 1, false, &result), -EINVAL);
    assert_int_equal(try_match(NULL, "U", "1", 1, false, &result), -EINVAL);
}

static void hostile_texts_take_bounded_time(void **state)
{
    char *text = malloc(65536);
    struct result result;

    /* Many strings, and the place where each could end nearly everywhere. */
    memset(text, 'a', 65536);
    assert_int_equal(try_match("%sa%sa%sa%sa%sa%sab", "ssssss", text, 65536, false, &result), 0);
    assert_false(result.matched);
    assert_int_equal(try_match("%sab%sab", "ss", text, 65536, false, &result), 0);
    assert_false(result.matched);
    /* Numbers that share digits in exponentially many ways. */
    memset(text, '1', 65536);
    assert_int_equal(
        try_match("%x%x%x%x%x%x%x%x%x%x%x%x!", "uuuuuuuuuuuu", text, 60, false, &result), 0);
    assert_false(result.matched);
    free(text);
}

/* Any width of number is as likely as any other. */
static uint64_t random_number(void)
{
    uint64_t v = random_u64() >> random_u64() % 64;

    return random_u64() % 8 == 0 ? 0 : random_u64() % 4 == 0 ? -v : v;
}

static void what_printf_writes_comes_back(void **state)
{
    static const struct {
        const char *conversion;
        char letter;
    } conversions[] = {
        {"%d", 'i'},     {"%i", 'i'},   {"%u", 'u'},   {"%x", 'u'},   {"%X", 'u'},    {"%#x", 'u'},
        {"%o", 'u'},     {"%08x", 'u'}, {"%02x", 'u'}, {"%3d", 'i'},  {"%-6d", 'i'},  {"%lld", 'I'},
        {"%llu", 'U'},   {"%lx", 'U'},  {"%zu", 'U'},  {"%zd", 'I'},  {"%jd", 'I'},   {"%hhd", 'h'},
        {"%hhx", 'b'},   {"%.8x", 'u'}, {"%p", 'p'},   {"%16p", 'p'}, {"%+d", 'i'},   {"% d", 'i'},
        {"%016lx", 'U'}, {"%#o", 'u'},  {"%s", 's'},   {"%12s", 's'}, {"%-12s", 's'},
    };
    static const char *const words[] = {"", "a", "(null)", "two words", "x:1", "0x12", "-", "  b "};
    static const char *const literals[] = {" ", ", ", ": ", " val 0x", "/", " \"", "-> "};

    for (unsigned round = 0; round < 20000; round++) {
        char format[256] = "";
        char letters[9] = "";
        char text[1024] = "";
        unsigned n = (unsigned)(random_u64() % 8) + 1;
        struct result result;

        for (unsigned i = 0; i < n; i++) {
            size_t c = random_u64() % (sizeof conversions / sizeof *conversions);
            const char *literal = literals[random_u64() % (sizeof literals / sizeof *literals)];
            size_t len = strlen(text);
            uint64_t v = random_number();

            snprintf(format + strlen(format), sizeof format - strlen(format), "%s%s", literal,
                     conversions[c].conversion);
            letters[i] = conversions[c].letter;
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", literal);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            if (letters[i] == 's')
                snprintf(text + len, sizeof text - len, conversions[c].conversion,
                         words[v % (sizeof words / sizeof *words)]);
            else if (strchr("iuhb", letters[i]))
                snprintf(text + len, sizeof text - len, conversions[c].conversion, (unsigned)v);
            else
                snprintf(text + len, sizeof text - len, conversions[c].conversion, v);
#pragma GCC diagnostic pop
        }
        letters[n] = '\0';
        assert_int_equal(try_match(format, letters, text, strlen(text), false, &result), 0);
        if (!result.matched)
            fail_msg("\"%s\" (%s) does not match \"%s\"", format, letters, text);
        assert_string_equal(result.again, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_taken_as_printf_writes_them),
        cmocka_unit_test(strings_are_split_where_the_rest_fits),
        cmocka_unit_test(numbers_give_back_digits_that_the_rest_needs),
        cmocka_unit_test(fields_without_a_conversion_have_no_value),
        cmocka_unit_test(lines_end_where_the_format_does),
        cmocka_unit_test(formats_that_cannot_be_read_back_say_so),
        cmocka_unit_test(hostile_texts_take_bounded_time),
        cmocka_unit_test(what_printf_writes_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
