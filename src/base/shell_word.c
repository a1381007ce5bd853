/* SPDX-License-Identifier: MIT */
#include "base/shell_word.h"

#include <string.h>

#include "base/printable.h"

/* Characters that a shell has no other meaning for. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

static bool is_printable(const char *word)
{
    size_t left = strlen(word), n;
    char buf[PRINTABLE_STEP_MAX];
    size_t len;

    for (; left > 0; word += n, left -= n) {
        n = printable_step(word, left, 0, true, buf, &len);
        if (len != n || memcmp(buf, word, n) != 0)
            return false;
    }
    return true;
}

/* Bytes that are not printable ASCII are numbers of two digits. */
static void put_escaped(struct text *out, const char *word)
{
    text_put_literal(out, "$'");
    for (; *word; word++) {
        if (*word == '\'' || *word == '\\')
            text_put_char(out, '\\');
        if (*word >= ' ' && *word <= '~')
            text_put_char(out, *word);
        else
            text_printf(out, "\\x%02x", (unsigned)(unsigned char)*word);
    }
    text_put_char(out, '\'');
}

void shell_put_word(struct text *out, const char *word)
{
    if (*word && word[strspn(word, PLAIN)] == '\0') {
        text_put_str(out, word);
        return;
    }
    text_put_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            text_put_str(out, "'\\''");
        else
            text_put_char(out, *word);
    }
    text_put_char(out, '\'');
}

void shell_put_shown_word(struct text *out, const char *word)
{
    if (is_printable(word))
        shell_put_word(out, word);
    else
        put_escaped(out, word);
}
