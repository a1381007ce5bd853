/* SPDX-License-Identifier: MIT */
#pragma once

/* Cuts what a QMP client sends into tokens, byte by byte, however the bytes were split on their way.
 *
 * A message is a value at depth 0: it is whole with its last token, and nothing needs to stand between
 * two. Strings may have single quotes as well. What is no token is told with its first byte that does
 * not fit, and all that was gathered of the message goes; then everything is passed over up to what may
 * begin something new: one of []{},: or a line's end. */

#include <stdint.h>

#include "monitor/buffer.h"

enum token_kind {
    TOKEN_OPEN_OBJECT = '{',
    TOKEN_CLOSE_OBJECT = '}',
    TOKEN_OPEN_LIST = '[',
    TOKEN_CLOSE_LIST = ']',
    TOKEN_COLON = ':',
    TOKEN_COMMA = ',',
    TOKEN_STRING = '"',
    TOKEN_INTEGER = '0',
    TOKEN_REAL = '.',
    TOKEN_WORD = 'a',
};

struct token {
    uint32_t offset, len; /* in `text`; of a string with its quotes */
    uint8_t kind;
};

#define TOKENS_DEPTH_MAX 1024
#define TOKENS_TEXT_MAX (1U << 20) /* bytes of a message, blanks not counted */
#define TOKENS_MAX (1U << 16)      /* of a message */

struct tokens {
    struct buffer text;
    struct token *list;
    uint32_t n, size;
    uint8_t state;
    char quote;
    uint32_t begin;      /* of the token that is being read, in `text` */
    long objects, lists; /* open ones */
};

enum tokens_result {
    TOKENS_MORE,    /* all bytes are used, and there is no message yet */
    TOKENS_MESSAGE, /* `list` holds one: tokens_clear() when it is used */
    TOKENS_STRAY,   /* `text` from `begin` on is no token; tokens_clear() then too */
    TOKENS_LIMIT,   /* *ret_what says which one was exceeded; tokens_clear() */
    TOKENS_NO_MEMORY,
};

/* Reads from *AT, which it moves, to END. */
enum tokens_result tokens_read(struct tokens *tokens, const char **at, const char *end,
                               const char **ret_what);
/* Forgets the message. */
void tokens_clear(struct tokens *tokens);
void tokens_done(struct tokens *tokens);
