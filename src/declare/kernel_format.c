/* SPDX-License-Identifier: MIT */
#include "declare/kernel_format.h"

#include <string.h>

#include "base/macro.h"

/* Real formats are up to 15 KB long; the print format is what makes them so. */
#define TEXT_MAX (128 * 1024)
#define DEPTH_MAX 64
/* Operators in one argument or list entry; each costs the parser up to three nested calls. */
#define OPERATORS_MAX 1000

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(const char *p, const char *end, uint32_t *ret)
{
    uint32_t v = 0;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || !is_digit(*p))
        return false;
    for (; p < end && is_digit(*p); p++) {
        if (v > UINT32_MAX / 16)
            return false;
        v = v * 10 + (uint32_t)(*p - '0');
    }
    *ret = v;
    return true;
}

/* The line (without its '\n') that begins at or behind P and has WHAT in it. */
static const char *find_line(const char *p, const char *end, const char *what, size_t n,
                             const char **ret_end)
{
    const char *at = memmem(p, (size_t)(end - p), what, n);

    if (!at)
        return NULL;
    *ret_end = memchr(at, '\n', (size_t)(end - at));
    if (!*ret_end)
        *ret_end = end;
    return at;
}

int kernel_format_id(const char *text, size_t len)
{
    const char *end = text + len, *line_end;
    const char *at = find_line(text, end, "\nID:", 4, &line_end);
    uint32_t id;

    if (!at)
        return -1;
    line_end = memchr(at + 1, '\n', (size_t)(end - at - 1));
    if (!read_number(at + 4, line_end ? line_end : end, &id) || id > UINT16_MAX)
        return -1;
    return (int)id;
}

bool kernel_format_field(const char *text, size_t len, const char *name, uint32_t *ret_offset,
                         uint32_t *ret_size)
{
    const char *end = text + len, *line_end;
    size_t n = strlen(name);

    for (const char *p = text; (p = find_line(p, end, name, n, &line_end)); p = line_end) {
        const char *offset, *size;

        if (p + n == end || p[n] != ';' || p == text || p[-1] != ' ')
            continue;
        offset = memmem(p, (size_t)(line_end - p), "offset:", 7);
        size = memmem(p, (size_t)(line_end - p), "size:", 5);
        return offset && size && read_number(offset + 7, line_end, ret_offset) &&
               read_number(size + 5, line_end, ret_size);
    }
    return false;
}

int kernel_format_check(const char *text, size_t len)
{
    unsigned depth = 0, operators = 0;
    char quote = '\0';

    if (len > TEXT_MAX || memchr(text, '\0', len))
        return -EBADMSG;
    for (const char *p = text; p < text + len; p++) {
        char c = *p;

        if (quote) {
            if (c == '\\' && p + 1 < text + len)
                p++;
            else if (c == quote)
                quote = '\0';
            continue;
        }
        switch (c) {
        case '"':
        case '\'': quote = c; break;
        case '(':
        case '{':
        case '[':
            if (++depth > DEPTH_MAX)
                return -EBADMSG;
            break;
        case ')':
        case '}':
        case ']':
            if (depth > 0)
                depth--;
            break;
        case ',':
        case '\n': operators = 0; break;
        default:
            if (strchr("?:!~+-*/%<>=&|^", c) && ++operators > OPERATORS_MAX)
                return -EBADMSG;
            break;
        }
    }
    return 0;
}
