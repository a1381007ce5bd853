/* SPDX-License-Identifier: MIT */
#include "schema/xen/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/input.h"

#define FILE_MAX ((size_t)1 << 20)

/* What Python's \s matches among the ASCII characters. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static int digit_of(char c, unsigned base)
{
    unsigned digit;

    if (c >= '0' && c <= '9')
        digit = (unsigned)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        digit = (unsigned)((c | 0x20) - 'a' + 10);
    else
        return -1;
    return digit < base ? (int)digit : -1;
}

/* An integer literal; *P moves to its end. */
static bool parse_integer(const char **p, const char *end, uint64_t *ret)
{
    const char *q = *p;
    unsigned base = 10;
    bool digits = false;
    bool nonzero = false;
    bool leading_zero;
    uint64_t v = 0;

    if (end - q >= 2 && q[0] == '0') {
        char c = (char)(q[1] | 0x20);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        if (base != 10)
            q += 2;
    }
    leading_zero = base == 10 && q < end && *q == '0';
    for (; q < end; q++) {
        int digit = digit_of(*q, base);
        if (digit < 0) {
            /* One underscore between two digits (or after the prefix) is Python's, too. */
            if (*q == '_' && (digits || base != 10) && q + 1 < end && digit_of(q[1], base) >= 0)
                continue;
            break;
        }
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)digit, &v))
            return false;
        digits = true;
        nonzero = nonzero || digit != 0;
    }
    /* 010 is an error in Python 3; 00 is not. */
    if (!digits || (leading_zero && nonzero))
        return false;
    *p = q;
    *ret = v;
    return true;
}

/* Integers joined by + and |; + binds tighter. */
static bool parse_id(const char *p, const char *end, uint64_t *ret)
{
    uint64_t all = 0;
    uint64_t sum = 0;

    for (;;) {
        uint64_t v;
        if (!parse_integer(&p, end, &v) || __builtin_add_overflow(sum, v, &sum))
            return false;
        if (p == end || *p == '|') {
            all |= sum;
            sum = 0;
        } else if (*p != '+') {
            return false;
        }
        if (p++ == end)
            break;
    }
    *ret = all;
    return true;
}

static int add_rule(struct xen_formats *formats, const struct xen_format_rule *rule)
{
    struct xen_format_rule *added;

    if (formats->n_rules == formats->capacity) {
        unsigned capacity = formats->capacity ? formats->capacity * 2 : 256;
        struct xen_format_rule *bigger = realloc(formats->rules, capacity * sizeof *formats->rules);
        if (!bigger)
            return -ENOMEM;
        formats->rules = bigger;
        formats->capacity = capacity;
    }
    added = &formats->rules[formats->n_rules];
    *added = *rule;
    added->format = arena_strndup(&formats->arena, rule->format, rule->len);
    if (!added->format)
        return -ENOMEM;
    formats->n_rules++;
    return 0;
}

static int parse_line(struct xen_formats *formats, const char *name, uint32_t line, const char *p,
                      const char *end, struct error *error)
{
    struct xen_format_rule rule = {.line = line};
    const char *id = p;
    const char *id_end;

    if (p == end || *p == '#')
        return 0;
    while (p < end && !is_space(*p))
        p++;
    id_end = p;
    while (p < end && is_space(*p))
        p++;
    if (id == id_end || p == end)
        return error_on_line(error, -EINVAL, name, line,
                             "Bad format file: a rule is an event's number, blanks and a format");
    if (!parse_id(id, id_end, &rule.id))
        return error_on_line(
            error, -EINVAL, name, line,
            "Bad format file: '%.*s' is not a number (such as 0x1f003, or several joined "
            "by | or +)",
            (int)(id_end - id < 64 ? id_end - id : 64), id);
    rule.format = p;
    rule.len = (size_t)(end - p);
    if (add_rule(formats, &rule) < 0)
        return error_set(error, -ENOMEM, name, "out of memory");
    return 0;
}

int xen_formats_parse(struct xen_formats *formats, const char *name, const char *text, size_t len,
                      struct error *error)
{
    const char *end = text + len;
    uint32_t line = 0;

    while (text < end) {
        /* \n, \r and \r\n end a line. */
        const char *stop = text;
        int r;

        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        r = parse_line(formats, name, ++line, text, stop, error);
        if (r < 0)
            return r;
        if (end - stop >= 2 && stop[0] == '\r' && stop[1] == '\n')
            stop++;
        text = stop + 1;
    }
    return 0;
}

int xen_formats_read(struct xen_formats *formats, const char *path, struct error *error)
{
    struct input in;
    int r = input_open_whole(&in, path, FILE_MAX, "a file of formats", error);

    if (r < 0)
        return r;
    r = xen_formats_parse(formats, path, (const char *)input_at(&in), input_buffered(&in), error);
    input_done(&in);
    return r;
}

void xen_formats_done(struct xen_formats *formats)
{
    free(formats->rules);
    arena_done(&formats->arena);
    *formats = (struct xen_formats){0};
}
