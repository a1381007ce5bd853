/* SPDX-License-Identifier: MIT */
#include "print/python_bytes.h"

#include "base/bytes.h"
#include "base/number.h"

#define EVERY_BYTE(b) (UINT64_C(0x0101010101010101) * (b))
#define HIGH_BITS EVERY_BYTE(0x80)

/* True if one of the eight bytes must be escaped: a control character, a quote, a backslash, or not ASCII. Each
 * subtraction borrows into the high bit of a byte that is too small. A borrow may also flag a harmless neighbour, which
 * only costs time. */
static inline bool any_special(uint64_t v)
{
    uint64_t quote = v ^ EVERY_BYTE('\'');
    uint64_t backslash = v ^ EVERY_BYTE('\\');

    return (((v - EVERY_BYTE(0x20)) | (v + EVERY_BYTE(1)) | (quote - EVERY_BYTE(1)) |
             (backslash - EVERY_BYTE(1)) | v) &
            HIGH_BITS) != 0;
}

static inline bool is_special(uint8_t c)
{
    return c < 0x20 || c >= 0x7f || c == '\'' || c == '\\';
}

static char *put_escaped(char *p, uint8_t c, char quote)
{
    if (c == (uint8_t)quote || c == '\\') {
        *p++ = '\\';
        *p++ = (char)c;
    } else if (c == '\t' || c == '\n' || c == '\r') {
        *p++ = '\\';
        *p++ = c == '\t' ? 't' : c == '\n' ? 'n' : 'r';
    } else if (c < 0x20 || c >= 0x7f) {
        *p++ = '\\';
        *p++ = 'x';
        p = number_hex_byte(p, c);
    } else {
        *p++ = (char)c;
    }
    return p;
}

/* Python prefers single quotes, unless only double quotes avoid a backslash. */
static char choose_quote(const uint8_t *s, size_t len)
{
    return memchr(s, '\'', len) && !memchr(s, '"', len) ? '"' : '\'';
}

static _cold_ char *put_slowly(char *p, const uint8_t *s, uint32_t len)
{
    char quote = choose_quote(s, len);

    *p++ = 'b';
    *p++ = quote;
    for (uint32_t i = 0; i < len; i++)
        p = put_escaped(p, s[i], quote);
    *p++ = quote;
    return p;
}

char *python_bytes(char *p, const uint8_t *s, uint32_t len)
{
    char *start = p;
    uint32_t i = 0;

    *p++ = 'b';
    *p++ = '\'';
    for (; len - i >= 8; i += 8) {
        uint64_t v = load_u64(s + i);
        if (unlikely(any_special(v)))
            return put_slowly(start, s, len);
        store_u64(p + i, v);
    }
    if (i > 0 && i < len) {
        /* The last eight once more, over what is already there. */
        uint64_t v = load_u64(s + len - 8);
        if (unlikely(any_special(v)))
            return put_slowly(start, s, len);
        store_u64(p + len - 8, v);
    } else {
        for (; i < len; i++) {
            if (unlikely(is_special(s[i])))
                return put_slowly(start, s, len);
            p[i] = (char)s[i];
        }
    }
    p[len] = '\'';
    return p + len + 1;
}

void python_bytes_put(struct text *text, const uint8_t *s, size_t len)
{
    char quote = choose_quote(s, len);

    text_put_char(text, 'b');
    text_put_char(text, quote);
    for (size_t i = 0; i < len; i++)
        text->next = put_escaped(text_room(text, NUMBER_MAX), s[i], quote);
    text_put_char(text, quote);
}
