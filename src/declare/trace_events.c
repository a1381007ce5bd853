/* SPDX-License-Identifier: MIT */
#include "declare/trace_events.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/input.h"
#include "base/text.h"
#include "declare/c_literal.h"

/* The largest file that is read; QEMU's own have half a megabyte. */
#define FILE_MAX ((size_t)64 * 1024 * 1024)

/* One line as it is parsed: a cursor that moves over it. */
struct parser {
    struct declarations *declarations;
    const char *file; /* in the arena */
    uint32_t number;  /* of the line */
    const char *line;
    const char *end;
    const char *p;
    unsigned errors; /* in all lines */
    declaration_error on_error;
    void *arg;
    struct fault *fault;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip_blanks(struct parser *parser)
{
    while (parser->p < parser->end && is_blank(*parser->p))
        parser->p++;
}

static size_t word_length(const struct parser *parser)
{
    size_t n = 0;

    while (parser->p + n < parser->end && is_word(parser->p[n]))
        n++;
    return n;
}

/* Tells of an error at AT. Names from the file that go into FORMAT are cut to a readable length by
 * the caller (see CUT). -EINVAL. */
static int _printf_(3, 4) wrong(struct parser *parser, const char *at, const char *format, ...)
{
    char what[sizeof parser->fault->what];
    uint32_t column = (uint32_t)(at - parser->line) + 1;
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    parser->errors++;
    if (parser->on_error)
        parser->on_error(parser->arg, parser->file, parser->number, column, what);
    return fault_line(parser->fault, -EINVAL, parser->file, parser->number, "column %u: %s", column,
                      what);
}

/* For "%.*s": at most 80 characters of a name. */
#define CUT(len) ((int)MIN((size_t)(len), (size_t)80))

static int parse_property(struct parser *parser, const char *word, size_t len, unsigned *properties)
{
    static const struct {
        const char *name;
        unsigned property;
    } known[] = {
        {"disable", PROPERTY_DISABLE},
        {"vcpu", PROPERTY_VCPU},
        {"tcg", PROPERTY_TCG},
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strlen(known[i].name) == len && memcmp(word, known[i].name, len) == 0) {
            *properties |= known[i].property;
            return 0;
        }
    return wrong(parser, word, "unknown property '%.*s': there are 'disable', 'vcpu' and 'tcg'",
                 CUT(len), word);
}

/* [property …] name, up to the '('. */
static int parse_head(struct parser *parser, struct declared_event *event)
{
    int r = 0;

    for (;;) {
        const char *word;
        size_t len;

        skip_blanks(parser);
        word = parser->p;
        len = word_length(parser);
        if (len == 0)
            return wrong(parser, word, "expected the name of an event");
        parser->p += len;
        if (parser->p < parser->end && *parser->p == '(') {
            event->name = arena_strndup(&parser->declarations->arena, word, len);
            parser->p++;
            return event->name ? r : -ENOMEM;
        }

        skip_blanks(parser);
        if (parser->p == parser->end || *parser->p == '(' || !is_word(*parser->p))
            return wrong(parser, word + len, "expected '(' right behind the event's name '%.*s'",
                         CUT(len), word);
        if (parse_property(parser, word, len, &event->properties) < 0)
            r = -EINVAL;
    }
}

/* TCG's own types, which only the events of translated code may have. */
static bool is_tcg_type(const struct declared_event *event, const char *type, size_t len)
{
    return (event->properties & PROPERTY_TCG) && len >= 4 && memcmp(type, "TCGv", 4) == 0;
}

/* The last word of an argument (behind the last star, if any) is its name. */
static int parse_argument(struct parser *parser, const char *start, const char *end,
                          struct declared_event *event, struct declared_argument *arguments)
{
    struct arena *arena = &parser->declarations->arena;
    struct declared_argument *argument;
    const char *name, *type_end;
    char *type;

    while (start < end && is_blank(*start))
        start++;
    while (end > start && is_blank(end[-1]))
        end--;
    if (start == end)
        return wrong(parser, start, "empty argument: an event without arguments has (void)");
    if (end - start == 4 && memcmp(start, "void", 4) == 0)
        return 0;

    name = end;
    while (name > start && is_word(name[-1]))
        name--;
    for (type_end = name; type_end > start && is_blank(type_end[-1]);)
        type_end--;
    if (name == end || type_end == start || (type_end == name && type_end[-1] != '*') ||
        (*name >= '0' && *name <= '9'))
        return wrong(parser, start, "expected a type and a name in the argument '%.*s'",
                     CUT(end - start), start);
    if (event->n_arguments == DECLARED_ARGUMENTS_MAX)
        return wrong(parser, start, "event '%.*s' has more than %d arguments",
                     CUT(strlen(event->name)), event->name, DECLARED_ARGUMENTS_MAX);

    argument = &arguments[event->n_arguments];
    argument->c = c_type_parse(start, (size_t)(type_end - start));
    if (argument->c.unknown && !(parser->declarations->rules & DECLARE_ANY_TYPE) &&
        !is_tcg_type(event, start, (size_t)(type_end - start)))
        return wrong(parser, start,
                     "argument type '%.*s' is not allowed: use C's own types and those of fixed "
                     "width, and 'void *' for a pointer to anything else",
                     CUT(type_end - start), start);
    type = arena_alloc(arena, 2 * (size_t)(type_end - start) + 1);
    argument->name = arena_strndup(arena, name, (size_t)(end - name));
    if (!type || !argument->name)
        return -ENOMEM;
    c_type_normalise(start, (size_t)(type_end - start), type);
    argument->type = type;
    event->n_arguments++;
    return 0;
}

static int parse_arguments(struct parser *parser, struct declared_event *event)
{
    struct declared_argument arguments[DECLARED_ARGUMENTS_MAX];
    const char *close = memchr(parser->p, ')', (size_t)(parser->end - parser->p));
    int r = 0;

    if (!close)
        return wrong(parser, parser->end, "expected a ')' behind the arguments");
    for (;;) {
        const char *comma = memchr(parser->p, ',', (size_t)(close - parser->p));
        int k = parse_argument(parser, parser->p, comma ? comma : close, event, arguments);

        if (k == -ENOMEM)
            return k;
        r = r < 0 ? r : k;
        if (!comma)
            break;
        parser->p = comma + 1;
    }
    parser->p = close + 1;
    event->arguments = arena_memdup(&parser->declarations->arena, arguments,
                                    event->n_arguments * sizeof *arguments);
    return event->arguments ? r : -ENOMEM;
}

/* Refuses what would break a log line by line, and "%m", whose errno is gone when it is read. */
static int check_format(struct parser *parser, const char *at, const char *format, size_t len)
{
    for (const char *p = format; (p = strchr(p, '%'));) {
        p++;
        if (*p == '%') {
            p++;
            continue;
        }
        p += strspn(p, "-+ #0123456789.*hlqjzt");
        if (*p == 'm')
            return wrong(parser, at,
                         "'%%m' is not allowed in a format: pass the error as an argument");
    }
    if (len > 0 && format[len - 1] == '\n')
        return wrong(parser, at, "the format must not end with a newline");
    if ((parser->declarations->rules & DECLARE_NO_NEWLINE) && strchr(format, '\n'))
        return wrong(parser, at, "the format must not hold a newline");
    return 0;
}

static int parse_format(struct parser *parser, const char **ret_format, const char **ret_source)
{
    struct arena *arena = &parser->declarations->arena;
    const char *start, *message;
    struct c_literal literal;
    char *format, *source;
    int r;

    skip_blanks(parser);
    start = parser->p;
    if (start == parser->end || *start != '"')
        return wrong(parser, start, "expected a format in double quotes");
    format = arena_alloc(arena, (size_t)(parser->end - start) + 1);
    if (!format)
        return -ENOMEM;
    message = c_literal_parse(&parser->p, parser->end, format, &literal);
    if (message)
        return wrong(parser, parser->p, "%s", message);
    r = check_format(parser, start, format, literal.len);
    if (r < 0)
        return r;

    source = arena_alloc(arena, 2 * (size_t)(parser->p - start) + 1);
    if (!source)
        return -ENOMEM;
    c_literal_normalise(start, (size_t)(parser->p - start), source);
    *ret_source = source;
    if (!literal.unknown_macro)
        *ret_format = format;
    return 0;
}

static int parse_formats(struct parser *parser, struct declared_event *event)
{
    const char *second;
    int r;

    skip_blanks(parser);
    if (parser->p < parser->end) {
        r = parse_format(parser, &event->format, &event->format_source);
        if (r < 0)
            return r;
        skip_blanks(parser);
    }
    second = parser->p;
    if (parser->p < parser->end && *parser->p == ',') {
        parser->p++;
        event->format_trans = event->format;
        event->format_trans_source = event->format_source;
        event->format = NULL;
        r = parse_format(parser, &event->format, &event->format_source);
        if (r < 0)
            return r;
        skip_blanks(parser);
        if (!(event->properties & PROPERTY_TCG))
            return wrong(parser, second, "only an event with the property 'tcg' has two formats");
    } else if (event->properties & PROPERTY_TCG) {
        return wrong(parser, second,
                     "an event with the property 'tcg' has two formats: at "
                     "translation and at execution");
    }
    if (parser->p < parser->end)
        return wrong(parser, parser->p, "expected the end of the line");
    return 0;
}

static int add_event(struct declarations *declarations, const struct declared_event *event)
{
    if (declarations->n_events == declarations->capacity) {
        unsigned capacity = declarations->capacity ? declarations->capacity * 2 : 256;
        struct declared_event *bigger =
            realloc(declarations->events, capacity * sizeof *declarations->events);
        if (!bigger)
            return -ENOMEM;
        declarations->events = bigger;
        declarations->capacity = capacity;
    }
    declarations->events[declarations->n_events++] = *event;
    return 0;
}

/* One line without its newline. Errors of the arguments and of the formats are told together. */
static int parse_line(struct parser *parser)
{
    struct declared_event event = {.file = parser->file, .line = parser->number};
    int r, k;

    parser->p = parser->line;
    skip_blanks(parser);
    if (parser->p == parser->end || *parser->p == '#')
        return 0;

    r = parse_head(parser, &event);
    if (!event.name)
        return r;
    if (r < 0 && !parser->on_error)
        return r;
    k = parse_arguments(parser, &event);
    if (k == -ENOMEM || !event.arguments)
        return k;
    r = r < 0 ? r : k;
    if (r < 0 && !parser->on_error)
        return r;
    k = parse_formats(parser, &event);
    r = r < 0 ? r : k;
    return r < 0 ? r : add_event(parser->declarations, &event);
}

int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_error on_error, void *arg, struct fault *fault)
{
    struct parser parser = {
        .declarations = declarations,
        .file = arena_strdup(&declarations->arena, name),
        .on_error = on_error,
        .arg = arg,
        .fault = fault,
    };
    const char *end = text + len;

    if (!parser.file)
        return fault_plain(fault, -ENOMEM, name, "out of memory");
    for (const char *line = text; line < end; line = parser.end + 1) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        int r;

        parser.number++;
        parser.line = line;
        parser.end = newline ? newline : end;
        if (newline)
            r = parse_line(&parser);
        else
            r = wrong(&parser, end, "the file does not end with a newline");
        if (r == -ENOMEM)
            return fault_plain(fault, r, name, "out of memory");
        if (r < 0 && !on_error)
            return r;
    }
    return parser.errors ? -EINVAL : 0;
}

static int read_all(struct input *in, struct text *text, struct fault *fault)
{
    int r;

    while ((r = input_refill(in, fault)) > 0) {
        size_t n = input_buffered(in);

        if (text_len(text) + n > FILE_MAX)
            return fault_plain(fault, -EFBIG, in->path,
                               "larger than %zu MB: not a trace-events file", FILE_MAX >> 20);
        text_put(text, (const char *)input_at(in), n);
        input_skip(in, n);
        if (text->error)
            return fault_plain(fault, text->error, in->path, "out of memory");
    }
    return r;
}

int declarations_read(struct declarations *declarations, const char *path,
                      declaration_error on_error, void *arg, struct fault *fault)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    struct input in;
    int r;

    r = input_open(&in, path, INPUT_BUFFER_SIZE, fault);
    if (r < 0)
        return r;
    r = read_all(&in, &text, fault);
    if (r >= 0)
        r = declarations_parse(declarations, in.path, text.start, text_len(&text), on_error, arg,
                               fault);
    input_done(&in);
    return r;
}

void declarations_done(struct declarations *declarations)
{
    free(declarations->events);
    arena_done(&declarations->arena);
    *declarations = (struct declarations){.rules = declarations->rules};
}
