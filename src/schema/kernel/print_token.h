/* SPDX-License-Identifier: MIT */
#pragma once

/* The tokens of a print format: words, strings, operators. Blanks and line breaks between them have no meaning. */

#include <stdbool.h>
#include <stddef.h>

enum print_token_kind {
    TOKEN_END,
    TOKEN_WORD,     /* letters, digits, _ */
    TOKEN_STRING,   /* in double or single quotes, with the quotes */
    TOKEN_OPERATOR, /* also brackets and punctuation */
    TOKEN_BAD,      /* not written by any kernel; `error` says why */
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

/* True if the token is the word or operator S. */
bool print_token_is(const struct print_tokens *t, const char *s);
