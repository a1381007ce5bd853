/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "schema/kernel/print_token.h"

/* The tokens of TEXT, a letter for the kind of each and then the token. */
static void tokens(void **state)
{
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        {"", ""},
        {" \t\n", ""},
        {"REC->a_1 >>0x2f", "wREC o-> wa_1 o>> w0x2f "},
        {"a<<=b", "wa o<< !="},
        {"!=!a&&&b", "o!= o! wa o&& o& wb "},
        {"\"a\\\"b\" 'c'\"\"", "s\"a\\\"b\" s'c' s\"\" "},
        {"\"a\nb\\\\\"", "s\"a\nb\\\\\" "},
        {"{1,\"x\"}", "o{ w1 o, s\"x\" o} "},
        {"a+-b", "wa o+ o- wb "},
        {"a--b", "wa !-"},
        {"a;", "wa !;"},
        {"\"a", "!\"a"},
        {"\"a\\", "!\"a\\"},
        {"\"a\tb\"", "s\"a\tb\" "},
        {"\"a\vb\"", "!\"a"},
        {"\x80", "!\x80"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        static const char letters[] = {
            [TOKEN_WORD] = 'w', [TOKEN_STRING] = 's', [TOKEN_OPERATOR] = 'o', [TOKEN_BAD] = '!'};
        const char *text = cases[i].text;
        struct print_tokens t = {.p = text, .end = text + strlen(text)};
        char found[128];
        size_t n = 0;

        for (print_tokens_next(&t); t.kind != TOKEN_END; print_tokens_next(&t)) {
            n += (size_t)snprintf(found + n, sizeof found - n, "%c%.*s", letters[t.kind], (int)t.n,
                                  t.s);
            if (t.kind == TOKEN_BAD) {
                assert_non_null(t.error);
                break;
            }
            n += (size_t)snprintf(found + n, sizeof found - n, " ");
        }
        found[n] = '\0';
        assert_string_equal(found, cases[i].tokens);
    }
}

/* The longest word and string, and one character more. */
static void limits(void **state)
{
    char text[4200];

    memset(text, 'a', sizeof text);
    for (size_t n = 256; n <= 257; n++) {
        struct print_tokens t = {.p = text, .end = text + n};

        print_tokens_next(&t);
        assert_int_equal(t.kind, n == 256 ? TOKEN_WORD : TOKEN_BAD);
    }
    text[0] = '"';
    for (size_t n = 4096; n <= 4097; n++) {
        struct print_tokens t = {.p = text, .end = text + n};

        text[n - 1] = '"';
        print_tokens_next(&t);
        assert_int_equal(t.kind, n == 4096 ? TOKEN_STRING : TOKEN_BAD);
        text[n - 1] = 'a';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
