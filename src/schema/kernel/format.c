/* SPDX-License-Identifier: MIT */
#include "schema/kernel/format.h"

#include <ctype.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

/* Real formats are up to 15 KB long; the print format is what makes them so. */
#define TEXT_MAX ((size_t)128 * 1024)
#define LINE_MAX_LEN 512
#define FIELDS_LIMIT 512
#define OFFSET_MAX 65535

static const char *line_end_of(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));

    return newline ? newline : end;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static bool read_number(const char *p, const char *end, uint32_t *ret)
{
    uint32_t v = 0;

    p = skip_blanks(p, end);
    if (p == end || !isdigit((unsigned char)*p))
        return false;
    for (; p < end && isdigit((unsigned char)*p); p++) {
        if (v > UINT32_MAX / 16)
            return false;
        v = v * 10 + (uint32_t)(*p - '0');
    }
    *ret = v;
    return true;
}

int kernel_format_id(const char *text, size_t len)
{
    const char *end = text + len;
    const char *at = memmem(text, len, "\nID:", 4);
    uint32_t id;

    if (!at || !read_number(at + 4, line_end_of(at + 4, end), &id) || id > UINT16_MAX)
        return -1;
    return (int)id;
}

/* "offset:" and "size:" in the line [P, END). */
static bool read_place(const char *p, const char *end, uint32_t *ret_offset, uint32_t *ret_size)
{
    const char *offset = memmem(p, (size_t)(end - p), "offset:", 7);
    const char *size = memmem(p, (size_t)(end - p), "size:", 5);

    return offset && size && read_number(offset + 7, end, ret_offset) &&
           read_number(size + 5, end, ret_size);
}

bool kernel_format_field(const char *text, size_t len, const char *name, uint32_t *ret_offset,
                         uint32_t *ret_size)
{
    const char *end = text + len;
    size_t n = strlen(name);

    for (const char *p = text; (p = memmem(p, (size_t)(end - p), name, n)); p++)
        if (p + n < end && p[n] == ';' && p > text && p[-1] == ' ')
            return read_place(p, line_end_of(p, end), ret_offset, ret_size);
    return false;
}

/* What is known of the fields while a text is prepared. */
struct preparer {
    struct text out;
    struct name {
        const char *s;
        size_t n;
    } names[FIELDS_LIMIT];
    unsigned n_names;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* What stands in the brackets of an array's length. */
static bool is_length(char c)
{
    return is_word(c) || (c && strchr(" +-*/()", c));
}

/* "unsigned long long name[16]" or "__data_loc char[] name", up to the semicolon: words and stars, one
 * pair of brackets behind the first word at the earliest. Attributes are dropped. */
static bool put_declaration(struct preparer *pr, const char *p, const char *end)
{
    static const char attribute[] = "__attribute__((";
    bool brackets = false;
    unsigned words = 0;
    struct name name = {0};

    while ((p = skip_blanks(p, end)) < end) {
        const char *from = p;

        if ((size_t)(end - p) > sizeof attribute &&
            memcmp(p, attribute, sizeof attribute - 1) == 0) {
            const char *close = memmem(p, (size_t)(end - p), "))", 2);
            if (!close)
                return false;
            p = close + 2;
            continue;
        }
        if (is_word(*p)) {
            while (p < end && is_word(*p))
                p++;
            name = (struct name){from, (size_t)(p - from)};
            words++;
            text_put_char(&pr->out, ' ');
        } else if (*p == '*') {
            if (words == 0 || brackets)
                return false;
            p++;
            text_put_char(&pr->out, ' ');
        } else if (*p == '[') {
            if (words == 0 || brackets)
                return false;
            brackets = true;
            for (p++; p < end && is_length(*p);)
                p++;
            if (p == end || *p != ']')
                return false;
            p++;
        } else {
            return false;
        }
        text_put(&pr->out, from, (size_t)(p - from));
    }
    if (words < 2 || name.n > 128 || pr->n_names == FIELDS_LIMIT)
        return false;
    pr->names[pr->n_names++] = name;
    return true;
}

/* One line of a field. */
static bool put_field(struct preparer *pr, const char *p, const char *end)
{
    const char *semicolon;
    uint32_t offset, size, is_signed = 0;

    p = skip_blanks(p, end);
    if (end - p < 6 || end - p > LINE_MAX_LEN || memcmp(p, "field:", 6) != 0)
        return false;
    p += 6;
    semicolon = memchr(p, ';', (size_t)(end - p));
    if (!semicolon)
        return false;
    text_put_literal(&pr->out, "\tfield:");
    if (!put_declaration(pr, p, semicolon) || !read_place(semicolon, end, &offset, &size) ||
        offset > OFFSET_MAX || size > OFFSET_MAX)
        return false;
    p = memmem(semicolon, (size_t)(end - semicolon), "signed:", 7);
    if (p)
        read_number(p + 7, end, &is_signed);
    text_printf(&pr->out, ";\toffset:%u;\tsize:%u;\tsigned:%u;\n", offset, size, is_signed != 0);
    return true;
}

/* Fields up to an empty line; *P goes behind it. */
static bool put_fields(struct preparer *pr, const char **p, const char *end)
{
    for (;;) {
        const char *line_end = line_end_of(*p, end);
        const char *line = *p;

        if (line_end == end)
            return false;
        *p = line_end + 1;
        if (skip_blanks(line, line_end) == line_end) {
            text_put_char(&pr->out, '\n');
            return true;
        }
        if (!put_field(pr, line, line_end))
            return false;
    }
}

static bool has_field(const void *arg, const char *name, size_t len)
{
    const struct preparer *pr = arg;

    for (unsigned i = 0; i < pr->n_names; i++)
        if (pr->names[i].n == len && memcmp(pr->names[i].s, name, len) == 0)
            return true;
    return false;
}

/* "name: x", "ID: 1", "format:", which are put anew. */
static bool put_head(struct preparer *pr, const char **p, const char *end)
{
    const char *line_end = line_end_of(*p, end);
    const char *name, *name_end;
    int id;

    if (end - *p < 5 || memcmp(*p, "name:", 5) != 0)
        return false;
    name = name_end = skip_blanks(*p + 5, line_end);
    while (name_end < line_end && is_word(*name_end))
        name_end++;
    id = kernel_format_id(*p, (size_t)(end - *p));
    if (name == name_end || name_end - name > 128 || name_end != line_end || id < 0)
        return false;
    text_printf(&pr->out, "name: %.*s\nID: %d\nformat:\n", (int)(name_end - name), name, id);
    *p = memmem(line_end, (size_t)(end - line_end), "\nformat:\n", 9);
    if (!*p)
        return false;
    *p += 9;
    return true;
}

static bool prepare(struct preparer *pr, const char *text, size_t len, bool *ret_print)
{
    static const char print[] = "print fmt:";
    const char *end = text + len, *p = text;
    const char *at;

    /* Two runs of fields: what is common to all, and the event's own. */
    if (!put_head(pr, &p, end) || !put_fields(pr, &p, end) || !put_fields(pr, &p, end))
        return false;
    at = memmem(p, (size_t)(end - p), print, sizeof print - 1);
    *ret_print = at && kernel_print_check(at + sizeof print - 1,
                                          (size_t)(end - at) - (sizeof print - 1), has_field, pr);
    text_put_literal(&pr->out, "print fmt:");
    if (*ret_print) {
        at += sizeof print - 1;
        text_put(&pr->out, at, (size_t)(end - at));
    } else {
        text_put_literal(&pr->out, " \"\"\n");
    }
    return true;
}

int kernel_format_prepare(const char *text, size_t len, char **ret_text, size_t *ret_len,
                          bool *ret_print)
{
    struct preparer *pr;
    int r = -EBADMSG;

    if (len > TEXT_MAX)
        return -EBADMSG;
    pr = calloc(1, sizeof *pr);
    if (!pr)
        return -ENOMEM;
    pr->out = TEXT_IN_MEMORY;
    if (prepare(pr, text, len, ret_print)) {
        text_put_char(&pr->out, '\0');
        r = pr->out.error;
    }
    if (r == 0) {
        *ret_len = text_len(&pr->out) - 1;
        *ret_text = pr->out.start;
    } else {
        text_done(&pr->out);
    }
    free(pr);
    return r;
}
