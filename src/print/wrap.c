/* SPDX-License-Identifier: MIT */
#include "print/wrap.h"

#include <string.h>

#include "base/macro.h"

/* Narrower lines have no room for indented text. */
#define WIDTH_MIN 40

/* True if a character begins with C. */
static bool is_begin(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t count_blanks(const char *line, size_t len)
{
    size_t n = 0;

    while (n < len && line[n] == ' ')
        n++;
    return n;
}

/* The indentation of continuation lines of LINE. */
static size_t find_indent(const char *line, size_t len)
{
    size_t blank = count_blanks(line, len), word = 0;
    bool is_number = blank > 0;

    for (; blank + word < len && line[blank + word] != ' '; word++)
        is_number = is_number && line[blank + word] >= '0' && line[blank + word] <= '9';
    if (blank == len)
        return 0;
    return is_number || (word == 1 && line[blank] == '-') ? blank + word + 1 : blank + 2;
}

/* The index of the last space of P within WIDTH characters. LEN if P is not longer, or has no space. */
static size_t find_break(const char *p, size_t len, size_t indent, size_t width)
{
    size_t n = 0, found = len, first = count_blanks(p, len);

    for (size_t i = 0; i < len; i++) {
        if (p[i] == ' ' && i > first && n + indent <= width)
            found = i;
        n += is_begin(p[i]);
    }
    if (n + indent <= width)
        return len;
    /* Of a word that is too long: after it. */
    for (size_t i = first; i < len && found == len; i++)
        if (p[i] == ' ')
            found = i;
    return found;
}

static void put_line(struct text *out, const char *line, size_t len, size_t width)
{
    static const char command[] = "strata ";
    static const char blanks[] = "                    ";
    size_t indent = MIN(find_indent(line, len), sizeof blanks - 1), shift = 0;
    size_t blank = count_blanks(line, len);

    if (len - blank >= sizeof command - 1 && memcmp(line + blank, command, sizeof command - 1) == 0)
        width = SIZE_MAX;
    for (;;) {
        size_t n = find_break(line, len, shift, width);

        text_put(out, blanks, shift);
        text_put(out, line, n);
        text_put_char(out, '\n');
        while (n < len && line[n] == ' ')
            n++;
        line += n;
        len -= n;
        if (len == 0)
            return;
        shift = indent;
    }
}

void wrap_lines(struct text *out, struct text *lines, unsigned width)
{
    const char *p = lines->start;

    if (lines->error && !out->error)
        out->error = lines->error;
    if (lines->error || text_len(lines) == 0)
        return;
    if (width == 0) {
        text_put(out, p, text_len(lines));
        lines->next = lines->start;
        return;
    }
    while (p < lines->next) {
        const char *end = memchr(p, '\n', (size_t)(lines->next - p));
        size_t len = (size_t)((end ? end : lines->next) - p);

        put_line(out, p, len, MAX(width, (unsigned)WIDTH_MIN));
        p += len + 1;
    }
    lines->next = lines->start;
}
