/* SPDX-License-Identifier: MIT */
#include "schema/kernel/print_token.h"

#include <ctype.h>
#include <string.h>

#include "base/macro.h"

#define STRING_MAX 4096
#define WORD_MAX 256

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static enum print_token_kind reject(struct print_tokens *t, const char *error)
{
    t->error = error;
    return TOKEN_BAD;
}

static enum print_token_kind scan_string(struct print_tokens *t, char quote)
{
    for (; t->p < t->end; t->p++) {
        if (*t->p == '\\' && t->p + 1 < t->end) {
            t->p++;
        } else if (*t->p == quote) {
            t->p++;
            return t->p - t->s <= STRING_MAX ? TOKEN_STRING : reject(t, "a string is too long");
        }
        if ((*t->p < ' ' && *t->p != '\n' && *t->p != '\t') || *t->p > '~')
            return reject(t, "a string has a character that cannot be printed");
    }
    return reject(t, "a string does not end");
}

static enum print_token_kind scan_operator(struct print_tokens *t)
{
    static const char *const operators[] = {"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    static const char single[] = "()[]{},?:+-*/%&|^~!<>";

    for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
        if (t->end - t->s >= 2 && memcmp(t->s, operators[i], 2) == 0) {
            t->p = t->s + 2;
            return TOKEN_OPERATOR;
        }
    }
    if ((*t->s == '+' || *t->s == '-') && t->p < t->end && *t->p == *t->s)
        return reject(t, "\"++\" and \"--\" change a value");
    return *t->s && strchr(single, *t->s) ? TOKEN_OPERATOR : reject(t, "unexpected character");
}

void print_tokens_next(struct print_tokens *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n'))
        t->p++;
    t->s = t->p;
    if (t->p == t->end) {
        t->kind = TOKEN_END;
    } else if (is_word(*t->p)) {
        while (t->p < t->end && is_word(*t->p))
            t->p++;
        t->kind = t->p - t->s <= WORD_MAX ? TOKEN_WORD : reject(t, "a word is too long");
    } else if (*t->p == '"' || *t->p == '\'') {
        t->p++;
        t->kind = scan_string(t, *t->s);
    } else {
        t->p++;
        t->kind = scan_operator(t);
    }
    t->n = (size_t)(t->p - t->s);
}

bool print_token_is(const struct print_tokens *t, const char *s)
{
    return (t->kind == TOKEN_OPERATOR || t->kind == TOKEN_WORD) && t->n == strlen(s) &&
           memcmp(t->s, s, t->n) == 0;
}
