/* SPDX-License-Identifier: MIT */
/* Formats files, and rules as text. The whole of Python's % operator is tried by the golden test of
 * xentrace_format. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "print/xentrace_format_text.h"
#include "schema/xen/formats.h"

static void test_ids(void **state)
{
    static const struct {
        const char *id;
        uint64_t v;
    } good[] = {
        {"0", 0},         {"00", 0},       {"127", 127},           {"0x1F003", 0x1f003},
        {"0o17", 15},     {"0b101", 5},    {"0x1f003|0", 0x1f003}, {"0x1f000+3", 0x1f003},
        {"1+2|4+8", 15},  {"1_000", 1000}, {"0x_ff", 255},         {"1|1", 1},
        {"0X10|0B1", 17},
    };
    static const char *const bad[] = {
        "010", "1__0", "_1", "1_", "0x", "x", "1|", "|1", "1-1", "1||2", "99999999999999999999",
        "1.0", "0b2",  "1+"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct xen_formats formats = {0};
        struct error error = {0};
        char line[64];
        int n = snprintf(line, sizeof line, "%s x", good[i].id);

        assert_int_equal(xen_formats_parse(&formats, "f", line, (size_t)n, &error), 0);
        assert_int_equal(formats.n_rules, 1);
        assert_int_equal(formats.rules[0].id, good[i].v);
        assert_string_equal(formats.rules[0].format, "x");
        xen_formats_done(&formats);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct xen_formats formats = {0};
        struct error error = {0};
        char line[64];
        int n = snprintf(line, sizeof line, "# first\n%s x", bad[i]);

        assert_int_equal(xen_formats_parse(&formats, "f", line, (size_t)n, &error), -EINVAL);
        assert_int_equal(error.line, 2);
        xen_formats_done(&formats);
    }
}

static void test_lines(void **state)
{
    static const char text[] = "# comment\n\n1\ta b  \r\n2  c\r3 \x0b d # e\n4 f";
    struct xen_formats formats = {0};
    struct error error = {0};

    assert_int_equal(xen_formats_parse(&formats, "f", text, sizeof text - 1, &error), 0);
    assert_int_equal(formats.n_rules, 4);
    assert_string_equal(formats.rules[0].format, "a b  ");
    assert_int_equal(formats.rules[0].line, 3);
    assert_string_equal(formats.rules[1].format, "c");
    assert_string_equal(formats.rules[2].format, "d # e");
    assert_int_equal(formats.rules[3].line, 6);
    xen_formats_done(&formats);

    assert_int_equal(xen_formats_parse(&formats, "f", " 1 x", 4, &error), -EINVAL);
    xen_formats_done(&formats);
    error_clear(&error);
    assert_int_equal(xen_formats_parse(&formats, "f", "1 \n", 3, &error), -EINVAL);
    assert_non_null(strstr(error.what, "Bad format file"));
    xen_formats_done(&formats);
}

/* The text of FORMAT for values that are their own number, or "!" and what is wrong. */
static void expect(const char *format, bool seconds, const char *expected)
{
    struct arena arena = {0};
    struct text text = TEXT_IN_MEMORY;
    struct error error = {0};
    struct xentrace_values values = {.seconds = seconds ? 1.5 : 0};
    const struct xentrace_rule *rule;

    for (unsigned i = 0; i < VALUES; i++)
        values.v[i] = i;
    values.v[VALUE_TSC] = seconds ? 1 : 1000;
    values.v[VALUE_RELTSC] = 30;
    values.reltsc_negative = true;
    values.v[VALUE_1 + 6] = 0xfedcba98;
    assert_int_equal(xentrace_rule_compile(&arena, format, strlen(format), seconds, &rule), 0);
    if (xentrace_rule_put(rule, &values, &text, &error) < 0) {
        text_put_char(&text, '!');
        text_put_str(&text, strrchr(error.what, '(') ? strrchr(error.what, '(') : "");
    }
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected);
    text_done(&text);
    arena_done(&arena);
}

static void test_rules(void **state)
{
    expect("", false, "\n");
    expect("CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)", false, "CPU0  1000 (+     -30)\n");
    expect("%(7)x 0x%(7)08X %(7)12x|%(1)04x", false, "fedcba98 0xFEDCBA98     fedcba98|0004\n");
    expect("%(7)020x %(reltsc)05d %(1)5d%(2)-5d|", false,
           "000000000000fedcba98 -0030     45    |\n");
    expect("%(tsc)d %(tsc)s %(tsc).3f %(tsc)5d", true, "1 1.5 1.500     1\n");
    expect("%(1)c%(1)r %(1).2f 100%%", false,
           "\x04"
           "4 4.00 100%\n");
    expect("%(tsc)x", true,
           "%(tsc)x\n{'cpu': 0, 'tsc': 1.5, 'event': 2, 'reltsc': -30, '1': 4, '2': 5, '3': 6, "
           "'4': 7, '5': 8, '6': 9, '7': 4275878552}\n");
    expect("%d", false,
           "%d\n{'cpu': 0, 'tsc': 1000, 'event': 2, 'reltsc': -30, '1': 4, '2': 5, '3': 6, "
           "'4': 7, '5': 8, '6': 9, '7': 4275878552}\n");
    expect("a %(8)d", false, "!(KeyError)");
    expect("a %(1", false, "!(ValueError)");
    expect("a %(1)", false, "!(ValueError)");
    expect("a %", false, "!(ValueError)");
    expect("a %(1)y", false, "!(ValueError)");
    expect("a %(7)c", false, "!(OverflowError)");
    expect("a %(reltsc)c", false, "!(OverflowError)");
}

/* Wider than any buffer of text. */
static void test_wide(void **state)
{
    struct arena arena = {0};
    struct text text = TEXT_IN_MEMORY;
    struct error error = {0};
    struct xentrace_values values = {0};
    const struct xentrace_rule *rule;
    static const char format[] = "%(cpu)20000d%(cpu)-20000s|";

    assert_int_equal(xentrace_rule_compile(&arena, format, strlen(format), false, &rule), 0);
    assert_int_equal(xentrace_rule_put(rule, &values, &text, &error), 0);
    assert_int_equal(text_len(&text), 40002);
    assert_int_equal(text.start[19999], '0');
    assert_int_equal(text.start[20000], '0');
    text_done(&text);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
