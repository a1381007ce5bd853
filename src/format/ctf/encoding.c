/* SPDX-License-Identifier: MIT */
#include "format/ctf/encoding.h"

#include <string.h>

#include "base/utf8.h"

unsigned ctf_text_unit(enum ctf_encoding encoding)
{
    return encoding == CTF_UTF_8 ? 1 : encoding <= CTF_UTF_16_BE ? 2 : 4;
}

size_t ctf_text_length(enum ctf_encoding encoding, const char *s, size_t n)
{
    static const char nul[4];
    unsigned unit = ctf_text_unit(encoding);
    size_t len = 0;

    if (unit == 1)
        return strnlen(s, n);
    while (n - len >= unit && memcmp(s + len, nul, unit) != 0)
        len += unit;
    return len;
}

static uint32_t unit_at(enum ctf_encoding encoding, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    switch (encoding) {
    case CTF_UTF_8: return p[0];
    case CTF_UTF_16_LE: return (uint32_t)(p[0] | p[1] << 8);
    case CTF_UTF_16_BE: return (uint32_t)(p[0] << 8 | p[1]);
    case CTF_UTF_32_LE:
        return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    case CTF_UTF_32_BE: break;
    }
    return p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

void ctf_text_convert(enum ctf_encoding encoding, const char *s, size_t len, struct text *text)
{
    unsigned unit = ctf_text_unit(encoding);

    if (unit == 1) {
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
