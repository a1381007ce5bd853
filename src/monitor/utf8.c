/* SPDX-License-Identifier: MIT */
#include "monitor/utf8.h"

bool utf8_is_character(uint32_t code)
{
    return code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) &&
           !(code >= 0xfdd0 && code <= 0xfdef) && (code & 0xfffe) != 0xfffe;
}

size_t utf8_read(const char *text, size_t n, int32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000, 0x200000, 0x4000000};
    const uint8_t *bytes = (const uint8_t *)text;
    uint32_t code = bytes[0];
    size_t want = 1;
    size_t used = 1;

    if (code < 0x80) {
        *ret_code = (int32_t)code;
        return 1;
    }
    *ret_code = -1;
    if (code < 0xc0 || code >= 0xfe)
        return 1;
    while (code & (0x80U >> want))
        want++;
    code &= 0x7fU >> want;
    for (; used < want && used < n && (bytes[used] & 0xc0) == 0x80; used++)
        code = code << 6 | (bytes[used] & 0x3f);
    if (used == want && code >= least[want] && utf8_is_character(code))
        *ret_code = (int32_t)code;
    return used;
}

size_t utf8_write(uint32_t code, char ret[4])
{
    if (code < 0x80) {
        ret[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        ret[0] = (char)(0xc0 | code >> 6);
        ret[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        ret[0] = (char)(0xe0 | code >> 12);
        ret[1] = (char)(0x80 | (code >> 6 & 0x3f));
        ret[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    ret[0] = (char)(0xf0 | code >> 18);
    ret[1] = (char)(0x80 | (code >> 12 & 0x3f));
    ret[2] = (char)(0x80 | (code >> 6 & 0x3f));
    ret[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
