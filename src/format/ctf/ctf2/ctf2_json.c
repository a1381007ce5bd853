/* SPDX-License-Identifier: MIT */
/* The JSON of a fragment. Jansson has no integers above 2^63 - 1, which ranges of unsigned fields have: they become strings. */
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "format/ctf/ctf2/ctf2_parser.h"

/* Whether the LEN characters at TEXT are an integer that only an unsigned number of 64 bits has. */
static bool is_large(const char *text, size_t len, uint64_t *ret)
{
    char digits[21];

    if (len < 19 || len >= sizeof digits)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (digits[0] < '1' || digits[0] > '9' || strspn(digits, "0123456789") != len)
        return false;
    errno = 0;
    *ret = strtoull(digits, NULL, 10);
    return errno == 0 && *ret > INT64_MAX;
}

/* Up to the end of the string that begins at AT. */
static const char *pass_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

static const char *pass_number(const char *at, const char *end)
{
    while (at < end && ((*at >= '0' && *at <= '9') || strchr("+-.eE", *at)))
        at++;
    return at;
}

/* The text from AT to END with its large integers as strings. */
static void quote_large(const char *at, const char *end, struct text *ret)
{
    while (at < end) {
        const char *from = at;
        bool is_number = (*at >= '0' && *at <= '9') || *at == '-';
        uint64_t number;

        at = *at == '"' ? pass_string(at, end) : is_number ? pass_number(at, end) : at + 1;
        is_number = is_number && is_large(from, (size_t)(at - from), &number);
        if (is_number)
            text_put_char(ret, '"');
        text_put(ret, from, (size_t)(at - from));
        if (is_number)
            text_put_char(ret, '"');
    }
}

json_t *ctf2_load(const char *at, const char *end, json_error_t *why)
{
    struct text text = TEXT_IN_MEMORY;
    json_t *json = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, why);

    if (json || json_error_code(why) != json_error_numeric_overflow)
        return json;
    quote_large(at, end, &text);
    if (!text.error)
        json = json_loadb(text.start, text_len(&text), JSON_REJECT_DUPLICATES, why);
    text_done(&text);
    return json;
}

bool ctf2_integer(const json_t *json, int64_t *ret, bool *ret_large)
{
    uint64_t large;

    *ret_large =
        json_is_string(json) && is_large(json_string_value(json), json_string_length(json), &large);
    *ret = *ret_large ? (int64_t)large : json_integer_value(json);
    return *ret_large || json_is_integer(json);
}
