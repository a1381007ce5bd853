/* SPDX-License-Identifier: MIT */
#include "monitor/json_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "monitor/utf8.h"

struct parser {
    const struct tokens *tokens;
    uint32_t at;
    struct buffer *what;
};

static json_t *fail(struct parser *p, const char *what)
{
    if (p->what->len == 0)
        buffer_text(p->what, what);
    return NULL;
}

static const struct token *peek(const struct parser *p)
{
    return p->at < p->tokens->n ? &p->tokens->list[p->at] : NULL;
}

/* Whether the next token is of that kind, which is then taken. */
static bool take(struct parser *p, enum token_kind kind)
{
    const struct token *token = peek(p);

    if (!token || token->kind != kind)
        return false;
    p->at++;
    return true;
}

/* ---- Strings ---- */

/* Four hexadecimal digits; -1: they are not. */
static int32_t hex4(const char *text, const char *end)
{
    int32_t code = 0;

    for (int i = 0; i < 4; i++) {
        int digit = text + i < end ? number_hex_digit(text[i]) : -1;

        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static json_t *fail_unicode(struct parser *p, const char *from, const char *to)
{
    buffer_put_clean(p->what, from, (size_t)(to - from));
    buffer_text(p->what, " is not a valid Unicode character");
    return NULL;
}

/* AT is at "uXXXX" after a backslash, or at a pair of these. Returns what follows; NULL: it is not a character. END is
 * after the closing quote. */
static const char *read_unicode(struct parser *p, const char *at, const char *end,
                                struct buffer *text)
{
    const char *begin = at - 1;
    const char *to = end - at < 5 ? end : at + 5;
    int32_t code = hex4(at + 1, end);
    char bytes[4];

    if (code >= 0xd800 && code <= 0xdbff && end - to >= 6 && to[0] == '\\' && to[1] == 'u') {
        int32_t low = hex4(to + 2, end);

        if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
            to += 6;
        }
    }
    if (code < 0 || !qemu_utf8_is_character((uint32_t)code)) {
        fail_unicode(p, begin, to);
        return NULL;
    }
    buffer_put(text, bytes, utf8_encode((uint32_t)code, bytes));
    return to;
}

static json_t *decode_string(struct parser *p, const char *at, const char *end, struct buffer *text)
{
    static const char escapes[] = "b\bf\fn\nr\rt\t\\\\//\"\"''";
    const char *last = end - 1; /* the closing quote */

    while (at < last) {
        int32_t code;
        size_t n;

        if (*at == '\\') {
            const char *escape = escapes;

            at++;
            if (*at == 'u') {
                at = read_unicode(p, at, end, text);
                if (!at)
                    return NULL;
                continue;
            }
            while (*escape && *escape != *at)
                escape += 2;
            if (!*escape)
                return fail(p, "invalid escape sequence in string");
            buffer_put(text, escape + 1, 1);
            at++;
            continue;
        }
        n = qemu_utf8_read(at, (size_t)(last - at), &code);
        if (code < 0) {
            if (last - at >= 2 && memcmp(at, "\xc0\x80", 2) == 0) /* NUL, as some write it */
                buffer_put(text, "", 1);
            else
                return fail(p, "invalid UTF-8 sequence in string");
        } else {
            buffer_put(text, at, n);
        }
        at += n;
    }
    if (text->broken)
        return fail(p, "out of memory");
    return json_stringn(text->len ? text->bytes : "", text->len);
}

static json_t *parse_string(struct parser *p, const char *text, size_t len)
{
    struct buffer decoded = {0};
    json_t *string = decode_string(p, text + 1, text + len, &decoded);

    buffer_done(&decoded);
    return string ? string : fail(p, "out of memory");
}

/* ---- The rest ---- */

static json_t *parse_number(struct parser *p, const struct token *token, const char *text)
{
    char copy[64];
    char *long_copy = NULL;
    char *number = copy;
    json_t *value = NULL;

    if (token->len >= sizeof(copy)) {
        long_copy = malloc(token->len + 1);
        if (!long_copy)
            return fail(p, "out of memory");
        number = long_copy;
    }
    memcpy(number, text, token->len);
    number[token->len] = '\0';
    errno = 0;
    if (token->kind == TOKEN_INTEGER)
        value = json_integer(strtoll(number, NULL, 10));
    if (token->kind == TOKEN_REAL || errno == ERANGE) {
        json_decref(value);
        value = json_real(strtod(number, NULL)); /* NULL where it is infinite */
    }
    free(long_copy);
    return value ? value : fail(p, "a number is too large");
}

static json_t *parse_word(struct parser *p, const char *text, size_t len)
{
    if (len == 4 && memcmp(text, "true", 4) == 0)
        return json_true();
    if (len == 5 && memcmp(text, "false", 5) == 0)
        return json_false();
    if (len == 4 && memcmp(text, "null", 4) == 0)
        return json_null();
    buffer_text(p->what, "invalid keyword '");
    buffer_put(p->what, text, len);
    buffer_text(p->what, "'");
    return NULL;
}

static json_t *parse_value(struct parser *p);

static int parse_pair(struct parser *p, json_t *object)
{
    json_t *key = parse_value(p);
    json_t *value = NULL;
    int r = -1;

    if (!key)
        return -1;
    if (!json_is_string(key)) {
        fail(p, "key is not a string in object");
    } else if (!take(p, TOKEN_COLON)) {
        fail(p, "missing : in object pair");
    } else if ((value = parse_value(p))) {
        const char *text = json_string_value(key);
        size_t len = json_string_length(key);

        if (json_object_getn(object, text, len))
            fail(p, "duplicate key");
        else
            r = json_object_setn(object, text, len, value);
        if (r < 0)
            fail(p, "out of memory");
    }
    json_decref(value);
    json_decref(key);
    return r;
}

static json_t *parse_object(struct parser *p)
{
    json_t *object = json_object();

    if (!object)
        return fail(p, "out of memory");
    if (take(p, TOKEN_CLOSE_OBJECT))
        return object;
    while (parse_pair(p, object) >= 0) {
        if (take(p, TOKEN_CLOSE_OBJECT))
            return object;
        if (!take(p, TOKEN_COMMA)) {
            fail(p, "expected separator in dict");
            break;
        }
    }
    json_decref(object);
    return NULL;
}

static json_t *parse_list(struct parser *p)
{
    json_t *list = json_array();

    if (!list)
        return fail(p, "out of memory");
    if (take(p, TOKEN_CLOSE_LIST))
        return list;
    for (;;) {
        json_t *value = parse_value(p);

        if (!value)
            break;
        if (json_array_append_new(list, value) < 0) {
            fail(p, "out of memory");
            break;
        }
        if (take(p, TOKEN_CLOSE_LIST))
            return list;
        if (!take(p, TOKEN_COMMA)) {
            fail(p, "expected separator in list");
            break;
        }
    }
    json_decref(list);
    return NULL;
}

/* Recursive: the tokens are no deeper than TOKENS_DEPTH_MAX. */
static json_t *parse_value(struct parser *p)
{
    const struct token *token = peek(p);
    const char *text;

    if (!token)
        return fail(p, "expecting value");
    p->at++;
    text = p->tokens->text.bytes + token->offset;
    switch (token->kind) {
    case TOKEN_OPEN_OBJECT: return parse_object(p);
    case TOKEN_OPEN_LIST: return parse_list(p);
    case TOKEN_STRING: return parse_string(p, text, token->len);
    case TOKEN_INTEGER:
    case TOKEN_REAL: return parse_number(p, token, text);
    case TOKEN_WORD: return parse_word(p, text, token->len);
    default: return fail(p, "expecting value");
    }
}

json_t *json_parse(const struct tokens *tokens, struct buffer *what)
{
    struct parser parser = {.tokens = tokens, .what = what};

    return parse_value(&parser);
}
