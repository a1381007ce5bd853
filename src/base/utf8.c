/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/bytes.h"
#include "base/macro.h"
#include "base/text.h"

size_t utf8_decode(const char *p, size_t left, uint32_t *ret_character)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t c = (uint8_t)*p;
    uint32_t character;
    size_t n;

    if (c < 0x80) {
        *ret_character = c;
        return 1;
    }
    n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n > left)
        return 0;
    character = c & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if (((uint8_t)p[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | ((uint8_t)p[i] & 0x3f);
    }
    if (character < smallest[n] || character > 0x10ffff ||
        (character >= 0xd800 && character < 0xe000))
        return 0;
    *ret_character = character;
    return n;
}

size_t utf8_encode(uint32_t character, char *buf)
{
    size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    if (n == 1) {
        *buf = (char)character;
        return n;
    }
    for (size_t i = n - 1; i > 0; i--) {
        buf[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    buf[0] = (char)((0xf00U >> n & 0xf0U) | character);
    return n;
}

const char *utf8_find_wrong(const char *p, size_t len)
{
    const char *end = p + len;

    while (p < end) {
        uint32_t character;
        size_t n;

        while (end - p >= 8 && !(load_u64(p) & UINT64_C(0x8080808080808080)))
            p += 8;
        if (p == end)
            break;
        n = utf8_decode(p, (size_t)(end - p), &character);
        if (n == 0)
            return p;
        p += n;
    }
    return NULL;
}

void utf8_put(struct text *text, const char *s, size_t len)
{
    while (len > 0) {
        const char *wrong = utf8_find_wrong(s, len);
        size_t n = wrong ? (size_t)(wrong - s) : len;

        text_put(text, s, n);
        if (!wrong)
            break;
        text_put_literal(text, "\xef\xbf\xbd");
        s = wrong + 1;
        len -= n + 1;
    }
}
