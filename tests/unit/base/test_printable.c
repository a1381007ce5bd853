/* SPDX-License-Identifier: MIT */
/* What leaves the program: the fast way agrees with one step after the other. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/shell_word.h"
#include "random.h"

/* What stands for S, by steps alone. */
static void put_by_steps(struct text *text, const char *s, size_t len, unsigned flags)
{
    size_t at = 0;

    while (at < len) {
        char buf[PRINTABLE_STEP_MAX];
        size_t put;
        size_t n = printable_step(s + at, len - at, flags, true, buf, &put);

        assert_true(n > 0);
        text_put(text, buf, put);
        at += n;
    }
}

/* Mostly plain, with a few of PIECES. */
static size_t fill(char *s, size_t size)
{
    static const char *const pieces[] = {
        "\n",   "\r\n",     "\r",       "\t",       "\033",
        "\x7f", "\x1f",     "\xc3\xa4", "\xc2\x9b", "\xe2\x80\xae\xe2\x80\xac",
        "\x80", "\xff",     "\033[1m",  "\xe2\x80", "\"",
        "~",    "\x01\x02", "\r\r\n"};
    size_t len = 0;

    while (len + 8 <= size) {
        if (random_u64() % 12 == 0) {
            const char *piece = pieces[random_u64() % (sizeof pieces / sizeof *pieces)];

            memcpy(s + len, piece, strlen(piece));
            len += strlen(piece);
        } else {
            s[len++] = (char)(' ' + random_u64() % 95);
        }
    }
    return len;
}

static void test_spans(void **state)
{
    static const unsigned flags[] = {0, PRINTABLE_LINES, PRINTABLE_LINES | PRINTABLE_ASCII,
                                     PRINTABLE_LINES | PRINTABLE_COLOR};

    for (unsigned round = 0; round < 4000; round++) {
        struct text fast = TEXT_IN_MEMORY, slow = TEXT_IN_MEMORY;
        unsigned flag = flags[round % 4];
        char made[256];
        size_t len = fill(made, 16 + random_u64() % (sizeof made - 16));
        char *s = malloc(len); /* so that a sanitizer sees what is read after it */

        assert_non_null(s);
        memcpy(s, made, len);
        assert_int_equal(printable_put(&fast, s, len, flag, true), len);
        put_by_steps(&slow, s, len, flag);
        assert_int_equal(text_len(&fast), text_len(&slow));
        assert_memory_equal(fast.start, slow.start, text_len(&slow));
        text_done(&fast);
        text_done(&slow);
        free(s);
    }
}

/* Each byte at each place of a unit, and after it. */
static void test_every_byte(void **state)
{
    for (unsigned c = 0; c < 256; c++)
        for (size_t at = 0; at < 70; at++) {
            char s[70];
            size_t span;

            memset(s, 'x', sizeof s);
            s[at] = (char)c;
            span = printable_span(s, sizeof s, PRINTABLE_LINES);
            assert_int_equal(span,
                             (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' ? sizeof s : at);
        }
}

/* What the program itself prints has its own ASCII, of the same width where a column depends on it. */
static void test_ascii(void **state)
{
    static const char shown[] =
        "\xe2\x96\x81\xe2\x96\x84\xe2\x96\x88\xc2\xb7 \xc2\xb1\xe2\x80\xa6\xc3\xa4";
    struct text text = TEXT_IN_MEMORY;

    printable_put(&text, shown, sizeof shown - 1, PRINTABLE_ASCII, true);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, ".=#? +-...\\u00e4");
    assert_int_equal(printable_characters(shown, sizeof shown - 1, PRINTABLE_ASCII),
                     strlen(text.start));
    assert_int_equal(printable_characters(shown, sizeof shown - 1, 0), 8);
    text_done(&text);
}

/* A word that a terminal would show escaped is one that a shell reads back. */
static void test_shell_words(void **state)
{
    static const struct {
        const char *word, *shown;
    } words[] = {{"web-1", "web-1"},
                 {"", "''"},
                 {"it's", "'it'\\''s'"},
                 {"\xc3\xa4 b", "'\xc3\xa4 b'"},
                 {"a\\nb", "'a\\nb'"},
                 {"a\n'\\b", "$'a\\x0a\\'\\\\b'"},
                 {"a\xe2\x80\xae\xe2\x80\xac"
                  "b",
                  "$'a\\xe2\\x80\\xae\\xe2\\x80\\xacb'"},
                 {"\033[31m\xff", "$'\\x1b[31m\\xff'"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct text text = TEXT_IN_MEMORY;

        shell_put_shown_word(&text, words[i].word);
        text_put_char(&text, '\0');
        assert_int_equal(text.error, 0);
        assert_string_equal(text.start, words[i].shown);
        text_done(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_shell_words),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
