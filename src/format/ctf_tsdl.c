/* SPDX-License-Identifier: MIT */
#include "format/ctf_tsdl.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "declare/c_type.h"

#define FIELDS 256    /* more than an event of libstrata's can have */
#define TEXT_MAX 4096 /* of a name, a type, a format */
#define DEPTH_MAX 16  /* of braces */

enum token {
    TOKEN_END,
    TOKEN_WORD,   /* name or number */
    TOKEN_STRING, /* quoted; `text` is without quotes and escapes */
    TOKEN_COMMENT, /* one that says "format" or "type"; others are blanks. `text` is what it quotes */
    TOKEN_MARK,    /* one character, or ":=" */
};

struct parser {
    const char *path;
    const char *at;
    const char *end;
    uint32_t line;
    struct fault *fault;
    struct catalogue *catalogue;
    const struct origin *origin;
    struct ctf_metadata *metadata;
    bool swap;
    /* The token at hand. */
    enum token token;
    char mark;    /* TOKEN_MARK: the character; ':' of ":=" */
    char comment; /* TOKEN_COMMENT: 'f' or 't' */
    size_t len;
    char text[TEXT_MAX + 1];
};

static int _printf_(2, 3) _cold_ wrong(struct parser *p, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fault_line(p->fault, -EBADMSG, p->path, p->line, "%s", what);
}

/* ---- Tokens ---- */

static int add_char(struct parser *p, char c)
{
    if (p->len == TEXT_MAX)
        return wrong(p, "a word of more than %d bytes", TEXT_MAX);
    p->text[p->len++] = c;
    p->text[p->len] = '\0';
    return 0;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* From behind the opening quote up to behind the closing one, or to END. */
static int read_quoted(struct parser *p, const char *end)
{
    p->len = 0;
    p->text[0] = '\0';
    while (p->at < end && *p->at != '"') {
        char c = *p->at++;
        int r;

        if (c == '\n')
            return wrong(p, "a quoted text does not end in its line");
        if (c == '\\' && p->at < end) {
            c = *p->at++;
            if (is_octal(c)) {
                unsigned value = (unsigned)(c - '0');

                for (int i = 0; i < 2 && p->at < end && is_octal(*p->at); i++)
                    value = value * 8 + (unsigned)(*p->at++ - '0');
                c = (char)value;
            } else if (c == 'n') {
                c = '\n';
            } else if (c == 't') {
                c = '\t';
            }
        }
        if (c == '\0')
            return wrong(p, "a NUL in a quoted text");
        r = add_char(p, c);
        if (r < 0)
            return r;
    }
    if (p->at == end)
        return wrong(p, "a quoted text does not end");
    p->at++;
    return 0;
}

/* Passes over the comment that begins here. 1: it is one of ours, and is the token now. */
static int read_comment(struct parser *p)
{
    const char *body = p->at + 2;
    const char *end = body < p->end ? memmem(body, (size_t)(p->end - body), "*/", 2) : NULL;
    char kind = 0;
    int r = 0;

    if (!end)
        return wrong(p, "a comment does not end");
    if (end - body > 9 && memcmp(body, " format \"", 9) == 0)
        kind = 'f';
    else if (end - body > 7 && memcmp(body, " type \"", 7) == 0)
        kind = 't';
    if (kind) {
        p->at = body + (kind == 'f' ? 9 : 7);
        r = read_quoted(p, end);
        p->token = TOKEN_COMMENT;
        p->comment = kind;
    } else {
        for (const char *q = body; q < end; q++)
            p->line += *q == '\n';
    }
    p->at = end + 2;
    return r < 0 ? r : kind != 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

/* Reads the next token. */
static int next(struct parser *p)
{
    int r;

    for (;;) {
        while (p->at < p->end && isspace((unsigned char)*p->at))
            p->line += *p->at++ == '\n';
        if (p->at == p->end) {
            p->token = TOKEN_END;
            return 0;
        }
        if (p->end - p->at < 2 || memcmp(p->at, "/*", 2) != 0)
            break;
        r = read_comment(p);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (*p->at == '"') {
        p->at++;
        p->token = TOKEN_STRING;
        return read_quoted(p, p->end);
    }
    if (!is_word(*p->at)) {
        p->token = TOKEN_MARK;
        p->mark = *p->at++;
        if (p->mark == ':' && p->at < p->end && *p->at == '=')
            p->at++;
        return 0;
    }
    p->token = TOKEN_WORD;
    p->len = 0;
    while (p->at < p->end && is_word(*p->at)) {
        r = add_char(p, *p->at++);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool at_mark(const struct parser *p, char mark)
{
    return p->token == TOKEN_MARK && p->mark == mark;
}

static int expect_mark(struct parser *p, char mark)
{
    if (!at_mark(p, mark))
        return wrong(p, "expected '%c'", mark);
    return next(p);
}

/* Passes over what is left of an entry: up to behind the ';' that ends it, with all braces in between. */
static int pass_over(struct parser *p)
{
    unsigned depth = 0;

    for (;;) {
        int r;

        if (p->token == TOKEN_END)
            return wrong(p, "the metadata ends inside of a declaration");
        if (at_mark(p, '{') && ++depth > DEPTH_MAX)
            return wrong(p, "more than %d braces inside each other", DEPTH_MAX);
        if (at_mark(p, '}')) {
            if (depth == 0)
                return 0; /* of whoever called */
            depth--;
        }
        r = at_mark(p, ';') && depth == 0 ? 1 : 0;
        if (next(p) < 0)
            return -EBADMSG;
        if (r)
            return 0;
    }
}

static int to_number(struct parser *p, int64_t *ret)
{
    char *end;

    errno = 0;
    if (p->token == TOKEN_WORD) {
        /* A clock may count further than a signed number can. */
        *ret = p->text[0] == '-' ? strtoll(p->text, &end, 0) : (int64_t)strtoull(p->text, &end, 0);
        if (!errno && end != p->text && *end == '\0')
            return 0;
    }
    return wrong(p, "expected a number");
}

static char *keep(struct parser *p)
{
    return arena_strndup(&p->catalogue->arena, p->text, p->len);
}

/* ---- Blocks of entries: `KEY = VALUE;` ---- */

/* Calls ENTRY for each entry, the token being its value and KEY what stands before the '='; it leaves
 * the token there or further on. Entries of other forms are passed over. */
static int read_block(struct parser *p, int (*entry)(struct parser *p, const char *key, void *arg),
                      void *arg)
{
    int r = expect_mark(p, '{');

    while (r >= 0 && !at_mark(p, '}')) {
        char key[64] = "";
        bool word = p->token == TOKEN_WORD;

        if (p->token == TOKEN_COMMENT) { /* stands for itself */
            r = entry(p, p->comment == 'f' ? "format" : "type", arg);
            if (r >= 0)
                r = next(p);
            continue;
        }
        if (word && p->len < sizeof key)
            memcpy(key, p->text, p->len + 1);
        if (word)
            r = next(p);
        if (r >= 0 && key[0] && (at_mark(p, '=') || at_mark(p, ':'))) {
            r = next(p);
            if (r >= 0)
                r = entry(p, key, arg);
        }
        if (r >= 0)
            r = pass_over(p);
    }
    return r < 0 ? r : next(p);
}

static int hex_value(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static int trace_entry(struct parser *p, const char *key, void *arg)
{
    unsigned n = 0;

    (void)arg;
    if (strcmp(key, "byte_order") == 0) {
        p->metadata->big_endian = p->token == TOKEN_WORD && strcmp(p->text, "be") == 0;
        p->swap = p->metadata->big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    } else if (strcmp(key, "uuid") == 0) {
        for (const char *q = p->text; *q && n < 32; q++) {
            if (!isxdigit((unsigned char)*q))
                continue;
            p->metadata->uuid[n / 2] =
                (uint8_t)(p->metadata->uuid[n / 2] << 4 | (uint8_t)hex_value(*q));
            n++;
        }
        if (n != 32)
            return wrong(p, "'%s' is no UUID", p->text);
    }
    return 0;
}

static int env_entry(struct parser *p, const char *key, void *arg)
{
    int64_t number = 0;

    (void)arg;
    if (strcmp(key, "tracer_name") == 0) {
        p->metadata->strata = strcmp(p->text, "strata") == 0;
    } else if (strcmp(key, "procname") == 0) {
        p->metadata->process = keep(p);
        if (!p->metadata->process)
            return -ENOMEM;
    } else if (strcmp(key, "vpid") == 0) {
        return to_number(p, &p->metadata->pid);
    } else if (strcmp(key, "clock_ticks") == 0) {
        if (to_number(p, &number) < 0)
            return -EBADMSG;
        p->metadata->ticks = (uint64_t)number;
    } else if (strcmp(key, "clock_monotonic") == 0) {
        return to_number(p, &p->metadata->monotonic);
    }
    return 0;
}

static int clock_entry(struct parser *p, const char *key, void *arg)
{
    int64_t number = 0;

    (void)arg;
    if (strcmp(key, "freq") != 0)
        return 0;
    if (to_number(p, &number) < 0)
        return -EBADMSG;
    if (number <= 0)
        return wrong(p, "the clock's rate is %" PRId64, number);
    p->metadata->hz = (uint64_t)number;
    return 0;
}

/* ---- Events ---- */

struct event {
    int64_t id;
    const char *name;
    const char *format;
    struct field fields[FIELDS];
    unsigned n_fields;
};

struct integer {
    int64_t size;
    int64_t base;
    bool is_signed;
};

static int integer_entry(struct parser *p, const char *key, void *arg)
{
    struct integer *integer = arg;

    if (strcmp(key, "size") == 0)
        return to_number(p, &integer->size);
    if (strcmp(key, "base") == 0)
        return to_number(p, &integer->base);
    if (strcmp(key, "signed") == 0)
        integer->is_signed = strcmp(p->text, "true") == 0;
    return 0;
}

static int string_entry(struct parser *p, const char *key, void *arg)
{
    (void)p;
    (void)key;
    (void)arg;
    return 0;
}

/* "integer { … }" or "string { … }". */
static int read_field_type(struct parser *p, struct field *field)
{
    struct integer integer = {.base = 10};
    int r;

    if (p->token == TOKEN_WORD && strcmp(p->text, "string") == 0) {
        field->type = FIELD_STRING;
        field->storage = STORE_NUL_ENDED;
        r = next(p);
        return r < 0 ? r : read_block(p, string_entry, NULL);
    }
    if (p->token != TOKEN_WORD || strcmp(p->text, "integer") != 0)
        return wrong(p, "a field that is neither integer nor string: libstrata writes no such");
    r = next(p);
    if (r >= 0)
        r = read_block(p, integer_entry, &integer);
    if (r < 0)
        return r;
    if (integer.size != 8 && integer.size != 16 && integer.size != 32 && integer.size != 64)
        return wrong(p, "an integer of %" PRId64 " bits", integer.size);
    field->type = integer.is_signed ? FIELD_INT : FIELD_UINT;
    field->size = (uint32_t)integer.size / 8;
    field->hex = integer.base == 16;
    field->swap = p->swap;
    return 0;
}

/* What C has types for and TSDL has not. */
static int set_c_type(struct parser *p, struct field *field)
{
    struct c_type c = c_type_parse(p->text, p->len);

    field->c_type = keep(p);
    if (!field->c_type)
        return -ENOMEM;
    if (field->type == FIELD_STRING)
        return 0;
    if (c.is_pointer) {
        field->type = FIELD_POINTER;
        field->hex = true;
    } else if (c.is_bool) {
        field->type = FIELD_BOOL;
    }
    return 0;
}

static const char *type_by_size(const struct field *field)
{
    static const char *const names[2][4] = {{"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
                                            {"int8_t", "int16_t", "int32_t", "int64_t"}};

    if (field->type == FIELD_STRING)
        return "const char *";
    return names[field->type == FIELD_INT][__builtin_ctz(field->size)];
}

static int read_fields(struct parser *p, struct event *event)
{
    int r;

    if (p->token != TOKEN_WORD || strcmp(p->text, "struct") != 0)
        return wrong(p, "fields that are no struct");
    r = next(p);
    if (r >= 0)
        r = expect_mark(p, '{');
    while (r >= 0 && !at_mark(p, '}')) {
        struct field *field = &event->fields[event->n_fields];

        if (p->token == TOKEN_COMMENT) {
            r = event->n_fields && p->comment == 't' ? set_c_type(p, field - 1) : 0;
            if (r >= 0)
                r = next(p);
            continue;
        }
        if (event->n_fields == FIELDS - 1)
            return wrong(p, "more than %d fields", FIELDS - 1);
        *field = (struct field){0};
        r = read_field_type(p, field);
        if (r < 0)
            return r;
        if (p->token != TOKEN_WORD)
            return wrong(p, "a field without a name");
        /* The '_' in front keeps names apart from TSDL's own words. */
        field->name = arena_strdup(&p->catalogue->arena, p->text + (p->text[0] == '_'));
        field->c_type = type_by_size(field);
        if (!field->name)
            return -ENOMEM;
        event->n_fields++;
        r = next(p);
        if (r >= 0)
            r = expect_mark(p, ';');
    }
    return r < 0 ? r : next(p);
}

static int event_entry(struct parser *p, const char *key, void *arg)
{
    struct event *event = arg;

    if (strcmp(key, "id") == 0)
        return to_number(p, &event->id);
    if (strcmp(key, "fields") == 0)
        return read_fields(p, event);
    if (strcmp(key, "name") == 0 && !(event->name = keep(p)))
        return -ENOMEM;
    if (strcmp(key, "format") == 0 && !(event->format = keep(p)))
        return -ENOMEM;
    return 0;
}

/* Where each field lies: at its place up to the first string, then behind one another. */
static void place_fields(struct event *event)
{
    uint32_t offset = 0;
    bool behind = false;

    for (unsigned i = 0; i < event->n_fields; i++) {
        struct field *field = &event->fields[i];

        field->place = behind ? PLACE_BEHIND : PLACE_FIXED;
        field->offset = behind ? 0 : offset;
        offset += field->size;
        behind = behind || field->type == FIELD_STRING;
    }
}

static int add_event(struct parser *p, struct event *event)
{
    struct event_class class = {
        .name = event->name,
        .origin = p->origin,
        .id = (uint64_t)event->id,
        .format = event->format,
        .n_fields = event->n_fields,
    };
    int r;

    if (!event->name || event->id < 0 || event->id > CTF_ID_MAX)
        return wrong(p, "an event without a name, or without an id from 0 to %d", CTF_ID_MAX);
    if (p->metadata->classes[event->id])
        return wrong(p, "two events have the id %" PRId64, event->id);
    place_fields(event);
    class.fields =
        arena_memdup(&p->catalogue->arena, event->fields, event->n_fields * sizeof *event->fields);
    if (!class.fields)
        return -ENOMEM;
    r = catalogue_add(p->catalogue, &class, &p->metadata->classes[event->id]);
    if (r < 0)
        return r;
    p->metadata->n_classes = MAX(p->metadata->n_classes, (unsigned)event->id + 1);
    return 0;
}

static int read_event(struct parser *p)
{
    struct event *event = calloc(1, sizeof *event);
    int r;

    if (!event)
        return -ENOMEM;
    event->id = -1;
    r = read_block(p, event_entry, event);
    if (r >= 0)
        r = add_event(p, event);
    free(event);
    return r;
}

/* ---- All of it ---- */

static int read_top(struct parser *p)
{
    int r = next(p);

    while (r >= 0 && p->token != TOKEN_END) {
        bool word = p->token == TOKEN_WORD;
        int (*entry)(struct parser *, const char *, void *) =
            word && strcmp(p->text, "trace") == 0   ? trace_entry
            : word && strcmp(p->text, "env") == 0   ? env_entry
            : word && strcmp(p->text, "clock") == 0 ? clock_entry
                                                    : NULL;

        if (at_mark(p, '}'))
            return wrong(p, "a '}' without its '{'");
        if (entry || (word && strcmp(p->text, "event") == 0)) {
            r = next(p);
            if (r >= 0)
                r = entry ? read_block(p, entry, NULL) : read_event(p);
        }
        if (r >= 0)
            r = pass_over(p);
    }
    return r;
}

bool ctf_tsdl_probe(const void *head, size_t n)
{
    static const char magic[] = "/* CTF 1.8";

    return n >= strlen(magic) && memcmp(head, magic, strlen(magic)) == 0;
}

int ctf_tsdl_parse(const char *path, const char *text, size_t len, const struct origin *origin,
                   struct catalogue *catalogue, struct ctf_metadata *ret, struct fault *fault)
{
    struct ctf_metadata metadata = {
        .pid = -1,
        .classes = arena_alloc(&catalogue->arena, (CTF_ID_MAX + 1) * sizeof *metadata.classes),
    };
    struct parser *p = malloc(sizeof *p);
    int r = -ENOMEM;

    if (p && metadata.classes) {
        *p = (struct parser){.path = path,
                             .at = text,
                             .end = text + len,
                             .line = 1,
                             .fault = fault,
                             .catalogue = catalogue,
                             .origin = origin,
                             .metadata = &metadata};
        r = read_top(p);
    }
    free(p);
    if (r < 0)
        return fault_plain(fault, r, path, "out of memory");
    if (!metadata.strata)
        return fault_plain(fault, -EBADMSG, path,
                           "is a trace in CTF of another tracer than strata; babeltrace2 reads it");
    if (metadata.hz == 0)
        return fault_plain(fault, -EBADMSG, path, "does not tell the rate of the trace's clock");
    *ret = metadata;
    return 0;
}
