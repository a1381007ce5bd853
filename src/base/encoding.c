/* SPDX-License-Identifier: MIT */
#include "base/encoding.h"

#include <string.h>

#include "base/utf8.h"

unsigned encoding_unit(enum encoding encoding)
{
    if (encoding == ENCODING_UTF_8 || encoding == ENCODING_LATIN_1)
        return 1;
    return encoding <= ENCODING_UTF_16_BE ? 2 : 4;
}

size_t encoded_length(enum encoding encoding, const char *s, size_t n)
{
    static const char nul[4];
    unsigned unit = encoding_unit(encoding);
    size_t len = 0;

    if (unit == 1)
        return strnlen(s, n);
    while (n - len >= unit && memcmp(s + len, nul, unit) != 0)
        len += unit;
    return len;
}

static uint32_t unit_at(enum encoding encoding, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    switch (encoding) {
    case ENCODING_UTF_8:
    case ENCODING_LATIN_1: return p[0];
    case ENCODING_UTF_16_LE: return (uint32_t)(p[0] | p[1] << 8);
    case ENCODING_UTF_16_BE: return (uint32_t)(p[0] << 8 | p[1]);
    case ENCODING_UTF_32_LE:
        return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    case ENCODING_UTF_32_BE: break;
    }
    return p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

void encoded_put(enum encoding encoding, const char *s, size_t len, struct text *text)
{
    unsigned unit = encoding_unit(encoding);

    if (encoding == ENCODING_UTF_8) {
        text_put(text, s, len);
        return;
    }
    for (size_t i = 0; len - i >= unit; i += unit) {
        uint32_t c = unit_at(encoding, s + i);
        char *p = text_room(text, 4);

        if (unit == 2 && c >= 0xd800 && c < 0xdc00 && len - i >= 4) {
            uint32_t low = unit_at(encoding, s + i + 2);

            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
            c = 0xfffd;
        text->next = p + utf8_encode(c, p);
    }
}
