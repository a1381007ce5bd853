/* SPDX-License-Identifier: MIT */
#pragma once

/* The tokens of a print format: words, strings, operators. Blanks and line breaks between them mean nothing. */

#include <stdbool.h>
#include <stddef.h>

enum print_token_kind {
    TOKEN_END,
    TOKEN_WORD,     /* letters, digits, _ */
    TOKEN_STRING,   /* in double or single quotes, which belong to it */
    TOKEN_OPERATOR, /* brackets and punctuation, too */
    TOKEN_BAD,      /* what no kernel writes: `error` says why */
};

struct print_tokens {
    const char *p, *end; /* after the token */
    enum print_token_kind kind;
    const char *s; /* the token, N bytes */
    size_t n;
    const char *error; /* of TOKEN_BAD */
};

/* Reads the next token. */
void print_tokens_next(struct print_tokens *t);

/* Whether the token is the word or operator S. */
bool print_token_is(const struct print_tokens *t, const char *s);
