/* SPDX-License-Identifier: MIT */
#include "base/shell_word.h"

#include <string.h>

/* Characters that a shell has no other meaning for. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

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
