/* SPDX-License-Identifier: MIT */
#pragma once

/* Splits a QMP client's bytes into tokens, however they were split in transit.
 *
 * A message is a value at depth 0: it is complete with its last token, and needs no separator. Strings
 * may have single quotes. An invalid token is reported by its first byte that does not fit, and the
 * message so far is dropped; then everything is skipped up to a character that may begin a new message:
 * one of []{},: or a line end. */

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
    uint32_t offset, len; /* in `text`; a string includes its quotes */
    uint8_t kind;
};

#define TOKENS_DEPTH_MAX 1024
#define TOKENS_TEXT_MAX (1U << 20) /* bytes of a message, without blanks */
#define TOKENS_MAX (1U << 16)      /* tokens of a message */

struct tokens {
    struct buffer text;
    struct token *list;
    uint32_t n, size;
    uint8_t state;
    char quote;
    uint32_t begin;      /* offset in `text` of the token being read */
    long objects, lists; /* open objects and lists */
};

enum tokens_result {
    TOKENS_MORE,    /* all bytes are consumed, and no message is complete */
    TOKENS_MESSAGE, /* `list` has a message; call tokens_clear() after using it */
    TOKENS_STRAY,   /* `text` from `begin` is not a token; call tokens_clear() */
    TOKENS_LIMIT,   /* *ret_what is the limit that was exceeded; call tokens_clear() */
    TOKENS_NO_MEMORY,
};

/* Reads from *AT, which it advances, to END. */
enum tokens_result tokens_read(struct tokens *tokens, const char **at, const char *end,
                               const char **ret_what);
/* Forgets the message. */
void tokens_clear(struct tokens *tokens);
void tokens_done(struct tokens *tokens);
