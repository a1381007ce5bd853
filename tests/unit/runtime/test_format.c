/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "runtime/control/pattern.h"
#include "runtime/format.h"

static void put(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line_vprintf(line, format, args);
    va_end(args);
}

/* What line_vprintf() makes of it is what printf makes of it. */
#define same(...)                                                      \
    do {                                                               \
        char ours_[1024];                                              \
        char theirs_[1024];                                            \
        struct line line_ = {ours_, ours_ + sizeof(ours_) - 1, false}; \
        put(&line_, __VA_ARGS__);                                      \
        *line_.at = '\0';                                              \
        snprintf(theirs_, sizeof(theirs_), __VA_ARGS__);               \
        assert_string_equal(ours_, theirs_);                           \
        assert_false(line_.cut);                                       \
    } while (0)

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-zero-length"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wformat-truncation"
#endif

static void test_integers(void **state)
{
    static const char *const flags[] = {"",   "-",  "+",  " ",  "#",  "0",
                                        "-0", "+0", "#0", "+ ", "-#", " 0"};
    static const char *const widths[] = {"", "1", "5", "25"};
    static const char *const precisions[] = {"", ".", ".0", ".1", ".7", ".30"};
    static const char *const sizes[] = {"hh", "h", "", "l", "ll", "z", "j", "t"};
    static const int64_t values[] = {
        0,    1,       9,       10,        99,        100,        12345,      -1,
        -128, INT_MAX, INT_MIN, INT64_MAX, INT64_MIN, UINT32_MAX, 0x80000000, 0xdeadbeef};
    char format[64];

    for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++)
        for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++)
            for (size_t p = 0; p < sizeof(precisions) / sizeof(*precisions); p++)
                for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
                    for (const char *kind = "diuxXo"; *kind; kind++)
                        for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
                            snprintf(format, sizeof(format), "<%%%s%s%s%s%c>", flags[f], widths[w],
                                     precisions[p], sizes[s], *kind);
                            if (s < 3)
                                same(format, (int)values[v]);
                            else
                                same(format, values[v]);
                        }
}

static void test_the_rest(void **state)
{
    same("");
    same("nothing in it");
    same("%s and %s", "one", "other");
    same("<%10s> <%-10s> <%.2s> <%10.2s>", "abc", "abc", "abc", "abc");
    same("<%.*s> <%*s> <%-*s> <%*s>", 2, "abc", 8, "abc", 8, "abc", -8, "abc");
    same("%.3s", (const char[]){'a', 'b', 'c'}); /* no NUL behind it */
    same("<%s> <%.3s> <%10s>", NULL, NULL, NULL);
    same("%p <%20p> <%-20p> %p", (void *)0x1234, (void *)0x1234, (void *)-1, NULL);
    same("%c <%5c> <%-5c>", 'x', 'y', 'z');
    same("100%% of %d", 3);
    same("%0*d %.*d %.*d", 8, 42, 4, 42, -1, 42);
    same("%" PRIx64 " %" PRIu64 " %" PRId8, UINT64_MAX, UINT64_MAX, (int8_t)-3);
}

static void test_left_to_libc(void **state)
{
    same("%d %f %s", 1, 2.5, "three");
    same("%d %ls", 1, L"wide");
    errno = ENOENT;
    same("%d: %m", 1);
}

static void test_cut(void **state)
{
    char text[8];

    for (size_t room = 0; room <= sizeof(text); room++) {
        struct line line = {text, text + room, false};

        memset(text, '!', sizeof(text));
        put(&line, "%d%s", 12, "345");
        assert_int_equal(line.at - text, room < 5 ? room : 5);
        assert_memory_equal(text, "12345", room < 5 ? room : 5);
        assert_int_equal(line.cut, room < 5);
        if (room < sizeof(text))
            assert_int_equal(text[room < 5 ? 5 : room], '!');
    }
    for (size_t room = 0; room <= sizeof(text); room++) {
        struct line line = {text, text + room, false};

        memset(text, '!', sizeof(text));
        put(&line, "%.1f%d", 1.5, 345678);
        assert_true(line.cut);
        for (size_t i = room; i < sizeof(text); i++)
            assert_int_equal(text[i], '!');
    }
}

static void test_patterns(void **state)
{
    assert_true(pattern_match("", ""));
    assert_false(pattern_match("", "a"));
    assert_true(pattern_match("*", ""));
    assert_true(pattern_match("**", "abc"));
    assert_true(pattern_match("a*c", "abbc"));
    assert_true(pattern_match("a*c", "acbc"));
    assert_false(pattern_match("a*c", "acb"));
    assert_true(pattern_match("?b?", "abc"));
    assert_false(pattern_match("?b?", "ab"));
    assert_false(pattern_match("?", ""));
    assert_true(pattern_match("*_?x*y", "foo_axbby"));
    assert_false(pattern_match("*_?x*y", "foo_xbby"));
    assert_true(pattern_match("*ab*ab*", "abxab"));
    assert_false(pattern_match("*ab*ab*", "xabx"));
    assert_true(pattern_is_glob("a?"));
    assert_true(pattern_is_glob("*"));
    assert_false(pattern_is_glob("abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),     cmocka_unit_test(test_the_rest),
        cmocka_unit_test(test_left_to_libc), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
