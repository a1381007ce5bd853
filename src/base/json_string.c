/* SPDX-License-Identifier: MIT */
#include "base/json_string.h"

#include <math.h>

#include "base/bytes.h"
#include "base/number.h"
#include "base/printable.h"
#include "base/utf8.h"

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* 0: all eight bytes of V are plain. Otherwise the lowest bit that is set is of the first byte that is not; higher
 * bits may be of plain bytes. */
static inline uint64_t look_at(uint64_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = v ^ ones * '"';
    uint64_t backslash = v ^ ones * '\\';

    return ((v - ones * 0x20) | (v + ones) | (quote - ones) | (backslash - ones) | v) & ones << 7;
}

size_t json_plain_length(const char *s, size_t len)
{
    size_t i = 0;

    while (len - i >= 8 && !look_at(load_u64(s + i)))
        i += 8;
    while (i < len && is_plain((unsigned char)s[i]))
        i++;
    return i;
}

static void put_escape(struct text *text, unsigned char c)
{
    char *p = text_room(text, 8);

    *p++ = '\\';
    switch (c) {
    case '"': *p++ = '"'; break;
    case '\\': *p++ = '\\'; break;
    case '\n': *p++ = 'n'; break;
    case '\t': *p++ = 't'; break;
    case '\r': *p++ = 'r'; break;
    default:
        memcpy(p, "u00", 3);
        p = number_hex_byte(p + 3, c);
        break;
    }
    text->next = p;
}

/* The character at S that is not ASCII. Returns its bytes. */
static size_t put_character(struct text *text, const char *s, size_t left)
{
    uint32_t character;
    size_t n = utf8_decode(s, left, &character);

    if (n == 0)
        text_put_literal(text, "\xef\xbf\xbd");
    else if (printable_is_safe(character))
        text_put(text, s, n);
    else if (character < 0x10000)
        text_printf(text, "\\u%04x", (unsigned)character);
    else
        text_printf(text, "\\u%04x\\u%04x", 0xd800 + (unsigned)((character - 0x10000) >> 10),
                    0xdc00 + (unsigned)(character & 0x3ff));
    return n ? n : 1;
}

void json_put_string(struct text *text, const char *s, size_t len)
{
    size_t i = 0;

    text_put_char(text, '"');
    while (i < len) {
        size_t plain = json_plain_length(s + i, len - i);

        text_put(text, s + i, plain);
        i += plain;
        if (i == len)
            break;
        if ((unsigned char)s[i] < 0x80)
            put_escape(text, (unsigned char)s[i++]);
        else
            i += put_character(text, s + i, len - i);
    }
    text_put_char(text, '"');
}

void json_put_str(struct text *text, const char *s)
{
    json_put_string(text, s, strlen(s));
}

void json_put_double(struct text *text, uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    if (isfinite(d))
        text_put_double(text, d);
    else
        text_put_str(text, isnan(d) ? "\"NaN\"" : d < 0 ? "\"-Infinity\"" : "\"Infinity\"");
}
