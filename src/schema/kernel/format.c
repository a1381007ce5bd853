/* SPDX-License-Identifier: MIT */
#include "schema/kernel/format.h"

#include <ctype.h>
#include <string.h>

#include "base/macro.h"

/* Real formats are up to 15 KB long; the print format is what makes them so. */
#define TEXT_MAX ((size_t)128 * 1024)
#define LINE_MAX_LEN 512
#define FIELDS_LIMIT 512
#define OFFSET_MAX 65535
/* Names of user_events may be as long as a name of a file, and longer by their ID. */
#define NAME_MAX_LEN 512

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

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* What stands in the brackets of an array's length. */
static bool is_length(char c)
{
    return is_word(c) || (c && strchr(" +-*/()", c));
}

struct parser {
    struct arena *arena;
    uint8_t long_size;
    const char *path; /* for `error` */
    struct error *error;
    const char *p, *end;
    uint32_t line; /* of P, from 1 */
    struct kernel_field *fields;
    unsigned n_fields, capacity;
};

static int reject(const struct parser *parser, const char *what)
{
    return error_on_line(parser->error, -EBADMSG, parser->path, parser->line, "%s", what);
}

/* The declaration of a field while it is read: "unsigned long long name[16]", "__data_loc char[] name". */
struct declaration {
    char type[LINE_MAX_LEN * 2];
    size_t type_len;
    const char *last; /* the last word or star: the name, unless another word follows */
    size_t last_len;
    bool has_brackets;
    char brackets[LINE_MAX_LEN];
    size_t brackets_len;
    unsigned words;
    uint32_t n_elements; /* the last number in the brackets; 0: none */
    uint32_t flags;
    uint32_t element_size; /* of "TYPE[] name" */
};

/* Appends a word to the type. */
static void put_type(struct declaration *d, const char *s, size_t n)
{
    /* A word of a line is put once, with a blank. */
    if (d->type_len)
        d->type[d->type_len++] = ' ';
    memcpy(d->type + d->type_len, s, n);
    d->type_len += n;
}

static void put_brackets(struct declaration *d)
{
    memcpy(d->type + d->type_len, d->brackets, d->brackets_len);
    d->type_len += d->brackets_len;
}

static uint32_t size_of_type(const char *s, size_t n)
{
    static const struct {
        const char *name;
        uint32_t size;
    } types[] = {
        {"char", 1}, {"u8", 1},  {"s8", 1},  {"u16", 2}, {"s16", 2},
        {"u32", 4},  {"s32", 4}, {"u64", 8}, {"s64", 8},
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strlen(types[i].name) == n && memcmp(types[i].name, s, n) == 0)
            return types[i].size;
    return 0;
}

/* A word of a declaration. The one before it belongs to the type. */
static bool take_word(struct declaration *d, const char *s, size_t n)
{
    if (d->last)
        put_type(d, d->last, d->last_len);
    if (d->brackets_len) {
        /* "TYPE[] name": there is but one word after the brackets. */
        d->element_size = size_of_type(d->last, d->last_len);
        put_brackets(d);
        d->brackets_len = 0;
    } else if (d->has_brackets) {
        return false;
    }
    d->last = s;
    d->last_len = n;
    d->words++;
    return true;
}

/* "[16]", "[TASK_LEN + 1]": without blanks but between two words. */
static bool take_brackets(struct declaration *d, const char **p, const char *end)
{
    bool after_word = false;
    const char *s = *p + 1;

    d->has_brackets = true;
    d->brackets[d->brackets_len++] = '[';
    while (s < end && is_length(*s)) {
        const char *from = s;

        if (*s == ' ') {
            s++;
            continue;
        }
        if (is_word(*s))
            while (s < end && is_word(*s))
                s++;
        else
            s++;
        if (after_word && is_word(*from))
            d->brackets[d->brackets_len++] = ' ';
        after_word = is_word(*from);
        memcpy(d->brackets + d->brackets_len, from, (size_t)(s - from));
        d->brackets_len += (size_t)(s - from);
        d->n_elements = after_word ? (uint32_t)strtoul(from, NULL, 0) : 0;
    }
    if (s == end || *s != ']')
        return false;
    d->brackets[d->brackets_len++] = ']';
    *p = s + 1;
    return true;
}

/* What stands between "field:" and the semicolon at END: words and stars, and one pair of brackets after the first
 * word at the earliest. Attributes are left out. */
static bool read_declaration(struct declaration *d, const char *p, const char *end)
{
    static const char attribute[] = "__attribute__((";

    while ((p = skip_blanks(p, end)) < end) {
        const char *from = p;

        if ((size_t)(end - p) > sizeof attribute &&
            memcmp(p, attribute, sizeof attribute - 1) == 0) {
            p = memmem(p, (size_t)(end - p), "))", 2);
            if (!p)
                return false;
            p += 2;
        } else if (is_word(*p)) {
            while (p < end && is_word(*p))
                p++;
            if (!take_word(d, from, (size_t)(p - from)))
                return false;
        } else if (*p == '*' && d->last && !d->has_brackets) {
            put_type(d, d->last, d->last_len);
            d->last = p++;
            d->last_len = 1;
            d->flags |= FIELD_IS_POINTER;
        } else if (*p != '[' || !d->last || d->has_brackets || !take_brackets(d, &p, end)) {
            return false;
        }
    }
    /* The name is the last word: "char comm[16]". */
    if (d->words < 2 || *d->last == '*' || d->last_len > NAME_MAX_LEN)
        return false;
    put_brackets(d);
    d->type[d->type_len] = '\0';
    return true;
}

static uint32_t element_size_of(const struct parser *parser, const struct declaration *d,
                                const struct kernel_field *field)
{
    if (!(field->flags & (FIELD_IS_ARRAY | FIELD_IS_DYNAMIC)))
        return field->size;
    if (d->n_elements)
        return field->size / d->n_elements;
    if (field->flags & FIELD_IS_DYNAMIC)
        return d->element_size;
    if (field->flags & FIELD_IS_STRING)
        return 1;
    return field->flags & FIELD_IS_LONG ? parser->long_size : 0;
}

static bool begins_with(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static uint32_t flags_of(const struct declaration *d, uint32_t size)
{
    uint32_t flags = d->flags;

    if (d->has_brackets)
        flags |= FIELD_IS_ARRAY;
    if (d->has_brackets &&
        (strstr(d->type, "char") || strstr(d->type, "u8") || strstr(d->type, "s8")))
        flags |= FIELD_IS_STRING;
    if (begins_with(d->type, "__data_loc"))
        flags |= FIELD_IS_DYNAMIC;
    if (begins_with(d->type, "__rel_loc"))
        flags |= FIELD_IS_DYNAMIC | FIELD_IS_RELATIVE;
    if (strstr(d->type, "long"))
        flags |= FIELD_IS_LONG;
    /* Before 2.6.31 a dynamic field had no length: a string up to its NUL. */
    if (flags & FIELD_IS_DYNAMIC && size == 2)
        flags |= FIELD_IS_STRING | FIELD_IS_ARRAY;
    return flags;
}

static int add_field(struct parser *parser, const struct kernel_field *field)
{
    if (parser->n_fields == parser->capacity) {
        unsigned capacity = parser->capacity ? parser->capacity * 2 : 16;
        struct kernel_field *bigger = arena_alloc(parser->arena, capacity * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        if (parser->n_fields)
            memcpy(bigger, parser->fields, parser->n_fields * sizeof *bigger);
        parser->fields = bigger;
        parser->capacity = capacity;
    }
    parser->fields[parser->n_fields++] = *field;
    return 0;
}

/* One line of a field. */
static int read_field(struct parser *parser, const char *p, const char *end)
{
    struct kernel_field field = {0};
    struct declaration d;
    const char *semicolon;
    uint32_t is_signed = 0;

    p = skip_blanks(p, end);
    if (end - p < 6 || end - p > LINE_MAX_LEN || memcmp(p, "field:", 6) != 0)
        return reject(parser, "expected a line that begins with \"field:\"");
    p += 6;
    semicolon = memchr(p, ';', (size_t)(end - p));
    /* Not initialised as a whole: it is large. */
    d.type_len = d.brackets_len = d.last_len = 0;
    d.last = NULL;
    d.has_brackets = false;
    d.words = d.n_elements = d.flags = d.element_size = 0;
    if (!semicolon || !read_declaration(&d, p, semicolon))
        return reject(parser, "invalid declaration of a field");
    if (!read_place(semicolon, end, &field.offset, &field.size) || field.offset > OFFSET_MAX ||
        field.size > OFFSET_MAX)
        return reject(parser, "invalid offset or size of a field");
    if (parser->n_fields == FIELDS_LIMIT)
        return reject(parser, "too many fields");
    p = memmem(semicolon, (size_t)(end - semicolon), "signed:", 7);
    if (p)
        read_number(p + 7, end, &is_signed);
    field.flags = flags_of(&d, field.size) | (is_signed ? FIELD_IS_SIGNED : 0u);
    field.element_size = element_size_of(parser, &d, &field);
    field.name = arena_strndup(parser->arena, d.last, d.last_len);
    field.type = arena_strndup(parser->arena, d.type, d.type_len);
    if (!field.name || !field.type)
        return -ENOMEM;
    return add_field(parser, &field);
}

static const char print_fmt[] = "print fmt:";

/* Fields up to an empty line. */
static int read_fields(struct parser *parser)
{
    for (;; parser->line++) {
        const char *line = parser->p;
        const char *line_end = line_end_of(line, parser->end);
        int r;

        /* An event of a hypervisor without fields has no empty line in their place. */
        if ((size_t)(parser->end - line) >= sizeof print_fmt - 1 &&
            memcmp(line, print_fmt, sizeof print_fmt - 1) == 0)
            return 0;
        if (line_end == parser->end)
            return reject(parser, "the text ends among the fields");
        parser->p = line_end + 1;
        if (skip_blanks(line, line_end) == line_end) {
            parser->line++;
            return 0;
        }
        r = read_field(parser, line, line_end);
        if (r < 0)
            return r;
    }
}

static uint32_t count_lines(const char *p, const char *end)
{
    uint32_t n = 0;

    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        n++;
        p++;
    }
    return n;
}

/* "name: x", "ID: 1", "format:". */
static int read_head(struct parser *parser, struct kernel_event_format *format)
{
    static const char fields[] = "\nformat:\n";
    const char *line_end = line_end_of(parser->p, parser->end);
    const char *name, *name_end, *at;
    int id;

    if (parser->end - parser->p < 5 || memcmp(parser->p, "name:", 5) != 0)
        return reject(parser, "expected \"name:\": this is not a kernel's event format");
    name = name_end = skip_blanks(parser->p + 5, line_end);
    /* Since Linux 6.9, user_events of several formats are called "NAME.ID". */
    while (name_end < line_end && (is_word(*name_end) || (*name_end == '.' && name_end > name)))
        name_end++;
    if (name == name_end || name_end - name > NAME_MAX_LEN || name_end != line_end)
        return reject(parser, "invalid name of the event");
    id = kernel_format_id(parser->p, (size_t)(parser->end - parser->p));
    if (id < 0)
        return reject(parser, "no line \"ID:\" with a number up to 65535");
    at = memmem(line_end, (size_t)(parser->end - line_end), fields, sizeof fields - 1);
    if (!at)
        return reject(parser, "no line \"format:\"");
    at += sizeof fields - 1;
    format->name = arena_strndup(parser->arena, name, (size_t)(name_end - name));
    if (!format->name)
        return -ENOMEM;
    format->id = (uint16_t)id;
    parser->line += count_lines(parser->p, at);
    parser->p = at;
    return 0;
}

int kernel_format_parse(struct arena *arena, const char *text, size_t len, uint8_t long_size,
                        const char *path, struct kernel_event_format *ret_format,
                        struct error *error)
{
    struct kernel_event_format format = {0};
    struct parser parser = {.arena = arena,
                            .long_size = long_size,
                            .path = path,
                            .error = error,
                            .p = text,
                            .end = text + len,
                            .line = 1};
    const char *at;
    int r;

    if (len > TEXT_MAX)
        return reject(&parser, "longer than 128 KiB");
    r = read_head(&parser, &format);
    if (r == 0)
        r = read_fields(&parser);
    format.n_common = parser.n_fields;
    if (r == 0)
        r = read_fields(&parser);
    if (r < 0)
        return r;
    format.fields = parser.fields;
    format.n_fields = parser.n_fields;
    at = memmem(parser.p, (size_t)(parser.end - parser.p), print_fmt, sizeof print_fmt - 1);
    if (at) {
        format.print_line = parser.line + count_lines(parser.p, at);
        format.print = at + sizeof print_fmt - 1;
        format.print_len = (size_t)(parser.end - format.print);
    }
    *ret_format = format;
    return 0;
}

const struct kernel_field *kernel_format_find(const struct kernel_event_format *format,
                                              const char *name, size_t len, bool common)
{
    for (unsigned i = common ? 0 : format->n_common; i < format->n_fields; i++)
        if (strncmp(format->fields[i].name, name, len) == 0 && format->fields[i].name[len] == '\0')
            return &format->fields[i];
    return NULL;
}
