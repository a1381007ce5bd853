/* SPDX-License-Identifier: MIT */
#include "runtime/format.h"

#include <limits.h>
#include <stdio.h>

static const char two_digits[] = "00010203040506070809101112131415161718192021222324"
                                 "25262728293031323334353637383940414243444546474849"
                                 "50515253545556575859606162636465666768697071727374"
                                 "75767778798081828384858687888990919293949596979899";

#define DIGITS_MAX 24 /* 64 bits in octal are 22 */

/* Digits that end at `text + DIGITS_MAX`. */
struct digits {
    char text[2 * DIGITS_MAX];
};

/* A copy of constant size needs no call. If there is room, bytes after the digits are copied too. */
static void put_digits(struct line *line, const struct digits *digits, const char *first)
{
    size_t len = (size_t)(digits->text + DIGITS_MAX - first);

    if ((size_t)(line->end - line->at) < DIGITS_MAX) {
        line_put(line, first, len);
        return;
    }
    memcpy(line->at, first, DIGITS_MAX);
    line->at += len;
}

/* Writes the digits so that they end at END; returns where they begin. */
static char *decimal_before(char *end, uint64_t value)
{
    while (value >= 100) {
        end -= 2;
        memcpy(end, &two_digits[value % 100 * 2], 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, &two_digits[value * 2], 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

static char *bits_before(char *end, uint64_t value, unsigned shift, const char *digits)
{
    do {
        *--end = digits[value & ((1u << shift) - 1)];
        value >>= shift;
    } while (value);
    return end;
}

void line_put_decimal(struct line *line, uint64_t value)
{
    struct digits digits;

    put_digits(line, &digits, decimal_before(digits.text + DIGITS_MAX, value));
}

void line_put_digits(struct line *line, uint64_t value, unsigned n_digits)
{
    struct digits digits;
    char *first = digits.text + DIGITS_MAX;

    for (; n_digits >= 2; n_digits -= 2, value /= 100) {
        first -= 2;
        memcpy(first, &two_digits[value % 100 * 2], 2);
    }
    if (n_digits)
        *--first = (char)('0' + value % 10);
    put_digits(line, &digits, first);
}

static void line_fill(struct line *line, char with, size_t n)
{
    if (n > (size_t)(line->end - line->at)) {
        n = (size_t)(line->end - line->at);
        line->cut = true;
    }
    memset(line->at, with, n);
    line->at += n;
}

/* PREFIX, ZEROS, TEXT, in a field of the conversion's width. */
static void put_field(struct line *line, const struct conversion *c, const char *prefix,
                      size_t prefix_len, size_t zeros, const char *text, size_t len)
{
    size_t width = c->width < 0 ? 0 : (size_t)c->width;
    size_t used = prefix_len + zeros + len;
    size_t pad = width > used ? width - used : 0;

    if (pad && !(c->flags & FLAG_MINUS))
        line_fill(line, ' ', pad);
    line_put(line, prefix, prefix_len);
    if (zeros)
        line_fill(line, '0', zeros);
    line_put(line, text, len);
    if (pad && (c->flags & FLAG_MINUS))
        line_fill(line, ' ', pad);
}

static uint64_t truncate_to(uint64_t value, unsigned size)
{
    return size >= 8 ? value : value & ((UINT64_C(1) << size * 8) - 1);
}

static int64_t sign_extend(uint64_t value, unsigned size)
{
    unsigned unused = size >= 8 ? 0 : 64 - size * 8;

    return (int64_t)(value << unused) >> unused;
}

void line_put_integer(struct line *line, const struct conversion *c, uint64_t value)
{
    struct digits digits;
    char *const end = digits.text + DIGITS_MAX;
    char *first;
    const char *prefix = "";
    size_t prefix_len = 0;
    size_t zeros = 0;
    size_t len;

    switch (c->kind) {
    case 'd': {
        int64_t number = sign_extend(value, c->size);

        prefix = number < 0 ? "-" : c->flags & FLAG_PLUS ? "+" : c->flags & FLAG_SPACE ? " " : "";
        prefix_len = *prefix != '\0';
        value = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
        first = decimal_before(end, value);
        break;
    }
    case 'x':
    case 'X':
        value = truncate_to(value, c->size);
        first =
            bits_before(end, value, 4, c->kind == 'x' ? "0123456789abcdef" : "0123456789ABCDEF");
        if (c->flags & FLAG_ALT && value) {
            prefix = c->kind == 'x' ? "0x" : "0X";
            prefix_len = 2;
        }
        break;
    case 'o':
        value = truncate_to(value, c->size);
        first = bits_before(end, value, 3, "01234567");
        if (c->flags & FLAG_ALT && value)
            zeros = 1;
        break;
    case 'c':
        digits.text[0] = (char)value;
        put_field(line, c, "", 0, 0, digits.text, 1);
        return;
    default:
        value = truncate_to(value, c->size);
        first = decimal_before(end, value);
        break;
    }
    len = (size_t)(end - first);
    if (c->plain) {
        if (prefix_len)
            line_put(line, prefix, prefix_len);
        put_digits(line, &digits, first);
        return;
    }
    if (c->precision >= 0) {
        if (c->precision == 0 && value == 0 && !(c->kind == 'o' && c->flags & FLAG_ALT))
            len = 0;
        if ((size_t)c->precision > len)
            zeros = (size_t)c->precision - len;
    } else if (c->flags & FLAG_ZERO && !(c->flags & FLAG_MINUS) && c->width > 0 &&
               (size_t)c->width > prefix_len + len) {
        zeros = (size_t)c->width - prefix_len - len;
    }
    put_field(line, c, prefix, prefix_len, zeros, first, len);
}

void line_put_pointer(struct line *line, const struct conversion *c, uint64_t value)
{
    struct conversion hex = *c;

    if (value == 0) {
        put_field(line, c, "", 0, 0, "(nil)", 5);
        return;
    }
    hex.kind = 'x';
    hex.size = 8;
    hex.flags |= FLAG_ALT;
    line_put_integer(line, &hex, value);
}

void line_put_string(struct line *line, const struct conversion *c, const char *text, size_t len)
{
    if (c->precision >= 0 && len > (size_t)c->precision)
        len = (size_t)c->precision;
    put_field(line, c, "", 0, 0, text, len);
}

/* A number in the format, NULL when it is too large to be one. */
static const char *parse_number(const char *p, int *ret)
{
    int value = 0;

    for (; *p >= '0' && *p <= '9'; p++) {
        if (value > (INT_MAX - 9) / 10)
            return NULL;
        value = value * 10 + (*p - '0');
    }
    *ret = value;
    return p;
}

static const char *parse_size(const char *p, uint8_t *ret)
{
    switch (*p) {
    case 'h':
        p++;
        *ret = *p == 'h' ? sizeof(char) : sizeof(short);
        return *p == 'h' ? p + 1 : p;
    case 'l':
        p++;
        *ret = *p == 'l' ? sizeof(long long) : sizeof(long);
        return *p == 'l' ? p + 1 : p;
    case 'z': *ret = sizeof(size_t); return p + 1;
    case 'j': *ret = sizeof(intmax_t); return p + 1;
    case 't': *ret = sizeof(ptrdiff_t); return p + 1;
    default: *ret = sizeof(int); return p;
    }
}

static uint8_t flag_of(char c)
{
    switch (c) {
    case '-': return FLAG_MINUS;
    case '+': return FLAG_PLUS;
    case ' ': return FLAG_SPACE;
    case '#': return FLAG_ALT;
    case '0': return FLAG_ZERO;
    default: return 0;
    }
}

const char *conversion_parse(const char *p, struct conversion *ret)
{
    struct conversion c = {.width = -1, .precision = -1};
    const char *size;

    for (; flag_of(*p); p++)
        c.flags |= flag_of(*p);
    if (*p == '*') {
        c.width = FROM_ARGUMENT;
        p++;
    } else if (*p >= '1' && *p <= '9') {
        p = parse_number(p, &c.width);
        if (!p)
            return NULL;
    }
    if (*p == '.') {
        p++;
        if (*p == '*') {
            c.precision = FROM_ARGUMENT;
            p++;
        } else {
            p = parse_number(p, &c.precision);
            if (!p)
                return NULL;
        }
    }
    c.plain = c.flags == 0 && c.width == -1 && c.precision == -1;
    size = p;
    p = parse_size(p, &c.size);
    switch (*p) {
    case 'i': c.kind = 'd'; break;
    case 'c':
    case 's':
        if (*size == 'l') /* wide ones need the locale */
            return NULL;
        c.kind = *p;
        break;
    case 'd':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'p':
    case '%': c.kind = *p; break;
    default: return NULL;
    }
    *ret = c;
    return p + 1;
}

/* Smaller ones than an int are passed as one. */
static uint64_t next_integer(const struct conversion *c, va_list *args)
{
    return c->size == 8 ? va_arg(*args, uint64_t) : (uint64_t)va_arg(*args, int);
}

static void put_argument(struct line *line, struct conversion *c, va_list *args)
{
    if (c->width == FROM_ARGUMENT) {
        c->width = va_arg(*args, int);
        if (c->width < 0) {
            c->flags |= FLAG_MINUS;
            c->width = c->width == INT_MIN ? INT_MAX : -c->width;
        }
    }
    if (c->precision == FROM_ARGUMENT)
        c->precision = va_arg(*args, int);
    switch (c->kind) {
    case '%': line_put(line, "%", 1); break;
    case 's': {
        const char *text = va_arg(*args, const char *);

        if (!text) /* as glibc: all of it, or nothing */
            text = c->precision >= 0 && c->precision < 6 ? "" : "(null)";
        /* Bounded by the precision, behind which there need not be a NUL. */
        line_put_string(line, c, text,
                        c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text));
        break;
    }
    case 'p': line_put_pointer(line, c, (uintptr_t)va_arg(*args, void *)); break;
    default: line_put_integer(line, c, next_integer(c, args)); break;
    }
}

static void put_all_by_libc(struct line *line, const char *format, va_list args)
{
    size_t room = (size_t)(line->end - line->at);
    char *at = line->at;
    int n;

    /* One byte of what is there is lost to the NUL. */
    n = room ? vsnprintf(at, room, format, args) : 0;
    if (n < 0)
        n = 0;
    if ((size_t)n >= room) {
        line->cut = true;
        n = room ? (int)room - 1 : 0;
    }
    line->at = at + n;
}

void line_vprintf(struct line *line, const char *format, va_list args)
{
    struct line start = *line;
    const char *p = format;
    va_list mine;

    va_copy(mine, args);
    for (;;) {
        const char *literal = p;
        struct conversion c;

        while (*p && *p != '%')
            p++;
        line_put(line, literal, (size_t)(p - literal));
        if (!*p)
            break;
        p = conversion_parse(p + 1, &c);
        if (!p) {
            *line = start;
            put_all_by_libc(line, format, args);
            break;
        }
        put_argument(line, &c, &mine);
    }
    va_end(mine);
}
