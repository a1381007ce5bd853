/* SPDX-License-Identifier: MIT */
#pragma once

/* The tokens of a condition, from lex.c to parse.c. */

#include "filter/filter.h"

enum filter_token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_TEXT,
    TOKEN_OPERATOR, /* a binary operator, or '-', '+' */
    TOKEN_NOT,
    TOKEN_BIT_NOT,
    TOKEN_OPEN,
    TOKEN_CLOSE,
};

struct filter_token {
    uint8_t kind;
    uint8_t op;
    bool is_unsigned;
    uint64_t value;
    const char *start;
    size_t len;     /* in the text */
    size_t pattern; /* offset in the patterns */
};

struct filter_lexer {
    const char *text;
    const char *at;
    char *patterns; /* with room for one more byte than the text has */
    size_t patterns_len;
    struct filter_error *error;
};

/* Reads the next token. -EINVAL with the lexer's error set. */
int filter_lex(struct filter_lexer *lexer, struct filter_token *ret);
