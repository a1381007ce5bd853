/* SPDX-License-Identifier: MIT */
#include "monitor/utf8.h"

#include "base/utf8.h"

bool qemu_utf8_is_character(uint32_t code)
{
    return code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) &&
           !(code >= 0xfdd0 && code <= 0xfdef) && (code & 0xfffe) != 0xfffe;
}

/* The bytes at TEXT that its first one says belong together, as far as they do. */
static size_t sequence_length(const char *text, size_t n)
{
    uint8_t first = (uint8_t)text[0];
    size_t want = 1, used = 1;

    if (first < 0xc0 || first >= 0xfe)
        return 1;
    while (first & (0x80U >> want))
        want++;
    while (used < want && used < n && ((uint8_t)text[used] & 0xc0) == 0x80)
        used++;
    return used;
}

size_t qemu_utf8_read(const char *text, size_t n, int32_t *ret_code)
{
    uint32_t code;
    size_t used = utf8_decode(text, n, &code);

    if (used > 0 && qemu_utf8_is_character(code)) {
        *ret_code = (int32_t)code;
        return used;
    }
    *ret_code = -1;
    return sequence_length(text, n);
}
