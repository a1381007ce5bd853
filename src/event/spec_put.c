/* SPDX-License-Identifier: MIT */
/* Puts values as printf would. */
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "event/program.h"

/* The longest run of digits: 64 bits in octal. */
#define DIGITS_MAX 24
/* Widths beyond this are cut, so that one conversion always fits in TEXT_ROOM_MAX. */
#define WIDTH_MAX 1024

static uint64_t cut(uint64_t v, const struct spec *spec, bool is_signed)
{
    unsigned size = spec_size(spec);

    if (size == 8)
        return v;
    if (is_signed)
        return (uint64_t)sign_extend(v, size);
    return v & ((UINT64_C(1) << (8 * size)) - 1);
}

static char *put_octal(char *p, uint64_t v)
{
    unsigned n = 1;

    while (n < 22 && v >> (3 * n) != 0)
        n++;
    for (unsigned i = n; i-- > 0;)
        *p++ = (char)('0' + (v >> (3 * i) & 7));
    return p;
}

static void upper_case(char *p, const char *end)
{
    for (; p < end; p++)
        if (*p >= 'a' && *p <= 'f')
            *p = (char)(*p - 'a' + 'A');
}

/* PREFIX (sign, 0x), then zeros, then DIGITS, padded to the width. */
static void put_padded(const struct spec *spec, const char *prefix, size_t n_prefix,
                       const char *digits, size_t n_digits, size_t n_zeros, struct text *text)
{
    size_t width = MIN(spec->width, WIDTH_MAX);
    size_t len = n_prefix + n_zeros + n_digits;
    size_t blanks = 0;
    char *p;

    if (width > len) {
        if (spec->zero && !spec->left && !spec->has_precision)
            n_zeros += width - len;
        else
            blanks = width - len;
    }
    /* Never 0 bytes: an empty text in memory has no buffer yet. */
    p = text_room(text, n_prefix + n_zeros + n_digits + blanks + 1);
    if (!spec->left) {
        memset(p, ' ', blanks);
        p += blanks;
    }
    memcpy(p, prefix, n_prefix);
    p += n_prefix;
    memset(p, '0', n_zeros);
    p += n_zeros;
    memcpy(p, digits, n_digits);
    p += n_digits;
    if (spec->left) {
        memset(p, ' ', blanks);
        p += blanks;
    }
    text->next = p;
}

static void put_pointer(const struct spec *spec, uint64_t v, struct text *text)
{
    char digits[NUMBER_MAX];

    if (v == 0) /* as glibc writes it */
        put_padded(&(struct spec){.width = spec->width, .left = spec->left}, "", 0, "(nil)", 5, 0,
                   text);
    else
        put_padded(spec, "0x", 2, digits, (size_t)(number_hex(digits, v) - digits), 0, text);
}

void spec_put_integer(const struct spec *spec, uint64_t v, struct text *text)
{
    char digits[DIGITS_MAX];
    char *end;
    const char *prefix = "";
    size_t n_prefix = 0;
    size_t n_zeros = 0;
    size_t n;

    switch (spec->conversion) {
    case 'c':
        digits[0] = (char)v;
        if ((uint8_t)digits[0] < 0x20 || digits[0] == 0x7f) {
            text_put_safe(text, digits, 1);
            return;
        }
        put_padded(&(struct spec){.width = spec->width, .left = spec->left}, "", 0, digits, 1, 0,
                   text);
        return;
    case 'p': put_pointer(spec, v, text); return;
    case 'd':
    case 'i':
        v = cut(v, spec, true);
        if ((int64_t)v < 0) {
            prefix = "-";
            v = -v;
        } else if (spec->plus) {
            prefix = "+";
        } else if (spec->space) {
            prefix = " ";
        }
        n_prefix = *prefix ? 1 : 0;
        end = number_dec(digits, v);
        break;
    case 'o':
        v = cut(v, spec, false);
        end = put_octal(digits, v);
        n = (size_t)(end - digits);
        if (spec->alternate && v != 0 && !(spec->has_precision && spec->precision > n))
            n_zeros = 1;
        break;
    case 'x':
    case 'X':
        v = cut(v, spec, false);
        end = number_hex(digits, v);
        if (spec->conversion == 'X')
            upper_case(digits, end);
        if (spec->alternate && v != 0) {
            prefix = spec->conversion == 'X' ? "0X" : "0x";
            n_prefix = 2;
        }
        break;
    default:
        v = cut(v, spec, false);
        end = number_dec(digits, v);
        break;
    }

    n = (size_t)(end - digits);
    if (spec->has_precision) {
        size_t precision = MIN(spec->precision, WIDTH_MAX);
        if (precision == 0 && v == 0 && !(spec->conversion == 'o' && spec->alternate))
            n = 0; /* C: no characters, but for "%#o", which always shows a zero */
        if (precision > n + n_zeros)
            n_zeros = precision - n;
    }
    put_padded(spec, prefix, n_prefix, digits, n, n_zeros, text);
}

void spec_put_string(const struct spec *spec, const char *s, size_t len, struct text *text)
{
    size_t width = MIN(spec->width, WIDTH_MAX);
    size_t blanks;

    if (spec->has_precision)
        len = MIN(len, spec->precision);
    blanks = width > len ? width - len : 0;
    if (!spec->left && blanks) {
        memset(text_room(text, blanks), ' ', blanks);
        text->next += blanks;
    }
    text_put_safe(text, s, len);
    if (spec->left && blanks) {
        memset(text_room(text, blanks), ' ', blanks);
        text->next += blanks;
    }
}
