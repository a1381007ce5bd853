/* SPDX-License-Identifier: MIT */
#include "monitor/json_tokens.h"

#include <stdlib.h>
#include <string.h>

enum state {
    BETWEEN,
    PASSING_OVER, /* after what was no token */
    IN_STRING,
    IN_ESCAPE,
    IN_WORD,
    /* Of a number: what was read last. */
    MINUS,
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS,
};

/* What a byte does in a state. */
enum step {
    TAKE,   /* belongs to the token */
    LAST,   /* belongs to it and ends it */
    BEHIND, /* ended it, and is to be looked at again */
    STRAY,
    SKIP,
};

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_structure(uint8_t c)
{
    return c && strchr("[]{},:", c);
}

/* A byte that is nowhere allowed. */
static bool is_never(uint8_t c)
{
    return (c < ' ' && c != '\t') || c >= 0xfe;
}

static enum step step_number(struct tokens *t, uint8_t c, enum token_kind *kind)
{
    switch (t->state) {
    case MINUS:
    case DIGITS:
    case ZERO:
        if (t->state == MINUS && !is_digit(c))
            return STRAY;
        if (t->state == ZERO && is_digit(c))
            return STRAY;
        if (is_digit(c)) {
            t->state = t->state == MINUS && c == '0' ? ZERO : DIGITS;
            return TAKE;
        }
        *kind = TOKEN_INTEGER;
        if (c == '.') {
            t->state = POINT;
            return TAKE;
        }
        break;
    case POINT:
    case EXPONENT_SIGN:
        if (!is_digit(c))
            return STRAY;
        t->state = t->state == POINT ? FRACTION : EXPONENT_DIGITS;
        return TAKE;
    case EXPONENT:
        if (c == '+' || c == '-') {
            t->state = EXPONENT_SIGN;
            return TAKE;
        }
        if (!is_digit(c))
            return STRAY;
        t->state = EXPONENT_DIGITS;
        return TAKE;
    default: /* FRACTION, EXPONENT_DIGITS */
        if (is_digit(c))
            return TAKE;
        *kind = TOKEN_REAL;
        if (t->state == EXPONENT_DIGITS)
            return BEHIND;
        break;
    }
    if (c == 'e' || c == 'E') {
        t->state = EXPONENT;
        return TAKE;
    }
    return BEHIND;
}

static enum step step_between(struct tokens *t, uint8_t c, enum token_kind *kind)
{
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        return SKIP;
    if (is_structure(c)) {
        *kind = (enum token_kind)c;
        return LAST;
    }
    if (c == '"' || c == '\'') {
        t->state = IN_STRING;
        t->quote = (char)c;
    } else if (is_digit(c)) {
        t->state = c == '0' ? ZERO : DIGITS;
    } else if (c == '-') {
        t->state = MINUS;
    } else if (c >= 'a' && c <= 'z') {
        t->state = IN_WORD;
    } else {
        return STRAY;
    }
    return TAKE;
}

static enum step step(struct tokens *t, uint8_t c, enum token_kind *kind)
{
    switch (t->state) {
    case BETWEEN: return step_between(t, c, kind);
    case PASSING_OVER:
        if (!is_structure(c) && !is_never(c))
            return SKIP;
        t->state = BETWEEN;
        return step_between(t, c, kind);
    case IN_STRING:
    case IN_ESCAPE:
        if (is_never(c) || c == '\t')
            return STRAY;
        if (t->state == IN_ESCAPE) {
            t->state = IN_STRING;
        } else if (c == '\\') {
            t->state = IN_ESCAPE;
        } else if (c == (uint8_t)t->quote) {
            *kind = TOKEN_STRING;
            return LAST;
        }
        return TAKE;
    case IN_WORD: *kind = TOKEN_WORD; return c >= 'a' && c <= 'z' ? TAKE : BEHIND;
    default: return step_number(t, c, kind);
    }
}

void tokens_clear(struct tokens *t)
{
    t->text.len = 0;
    t->begin = 0;
    t->n = 0;
    t->objects = t->lists = 0;
}

void tokens_done(struct tokens *t)
{
    buffer_done(&t->text);
    free(t->list);
    *t = (struct tokens){0};
}

/* The token that was read is one of KIND. */
static enum tokens_result add(struct tokens *t, enum token_kind kind, const char **ret_what)
{
    t->state = BETWEEN;
    if (t->n == TOKENS_MAX) {
        *ret_what = "JSON token count limit exceeded";
        return TOKENS_LIMIT;
    }
    if (t->n == t->size) {
        uint32_t size = t->size ? t->size * 2 : 32;
        struct token *list = reallocarray(t->list, size, sizeof(*list));

        if (!list)
            return TOKENS_NO_MEMORY;
        t->list = list;
        t->size = size;
    }
    t->list[t->n++] = (struct token){
        .offset = t->begin, .len = (uint32_t)t->text.len - t->begin, .kind = (uint8_t)kind};
    t->begin = (uint32_t)t->text.len;
    t->objects += (kind == TOKEN_OPEN_OBJECT) - (kind == TOKEN_CLOSE_OBJECT);
    t->lists += (kind == TOKEN_OPEN_LIST) - (kind == TOKEN_CLOSE_LIST);
    if (t->objects + t->lists > TOKENS_DEPTH_MAX) {
        *ret_what = "JSON nesting depth limit exceeded";
        return TOKENS_LIMIT;
    }
    return t->objects < 0 || t->lists < 0 || t->objects + t->lists == 0 ? TOKENS_MESSAGE
                                                                        : TOKENS_MORE;
}

enum tokens_result tokens_read(struct tokens *t, const char **at, const char *end,
                               const char **ret_what)
{
    enum tokens_result result = TOKENS_MORE;

    while (*at < end && result == TOKENS_MORE) {
        enum token_kind kind = TOKEN_WORD;
        enum step what = step(t, (uint8_t) * *at, &kind);

        if (what != SKIP && what != BEHIND) {
            buffer_put(&t->text, *at, 1);
            if (t->text.broken)
                return TOKENS_NO_MEMORY;
        }
        *at += what != BEHIND;
        if (what == STRAY) {
            t->state = PASSING_OVER;
            return TOKENS_STRAY;
        }
        if (t->text.len > TOKENS_TEXT_MAX) {
            t->state = PASSING_OVER;
            *ret_what = "JSON token size limit exceeded";
            return TOKENS_LIMIT;
        }
        if (what == LAST || what == BEHIND)
            result = add(t, kind, ret_what);
    }
    return result;
}
