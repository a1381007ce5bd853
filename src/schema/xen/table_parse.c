/* SPDX-License-Identifier: MIT */
/* The language of tables of events: lines, and what an event's line consists of. */
#include "schema/xen/table_parser.h"

#include "base/macro.h"

#define NAME_MAX_LEN 64

int xen_parse_error(const struct xen_parser *parser, const char *what)
{
    return error_on_line(parser->error, -EINVAL, parser->name, parser->line, "%s", what);
}

int xen_no_memory(const struct xen_parser *parser)
{
    return error_set(parser->error, -ENOMEM, parser->name, "out of memory");
}

/* Letters, digits and _ . : - and more; what can be part of a name. */
size_t xen_word_len(const struct xen_parser *parser)
{
    const char *p = parser->p;

    while (p < parser->end && !xen_is_blank(*p) && !strchr("#\"[]=:,?", *p))
        p++;
    return (size_t)(p - parser->p);
}

/* A decimal or 0x number of at most 32 bits. Returns the characters taken, 0: none. */
size_t xen_read_number(const char *p, const char *end, uint32_t *ret)
{
    const char *start = p;
    uint64_t v = 0;
    unsigned base = 10;

    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        base = 16;
        p += 2;
    }
    for (const char *digits = p;; p++) {
        unsigned digit;
        if (p < end && *p >= '0' && *p <= '9')
            digit = (unsigned)(*p - '0');
        else if (p < end && base == 16 && (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')
            digit = (unsigned)((*p | 0x20) - 'a' + 10);
        else if (p == digits)
            return 0;
        else
            break;
        v = v * base + digit;
        if (v > UINT32_MAX)
            return 0;
    }
    *ret = (uint32_t)v;
    return (size_t)(p - start);
}

int xen_check_name(const struct xen_parser *parser, const char *p, size_t len)
{
    if (len == 0 || len > NAME_MAX_LEN)
        return xen_parse_error(parser, "expected a name of 1 to 64 characters");
    for (size_t i = 0; i < len; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || ((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z') ||
              p[i] == '_' || p[i] == '.' || p[i] == '-' || p[i] == '/'))
            return xen_parse_error(parser, "a name consists of letters, digits and _ . - /");
    return 0;
}

static int parse_condition(struct xen_parser *parser, struct xen_event *event)
{
    size_t len = xen_word_len(parser);
    bool since = xen_word_is(parser->p, len, "since");
    bool until = xen_word_is(parser->p, len, "until");
    bool words = xen_word_is(parser->p, len, "words");
    bool cpu = xen_word_is(parser->p, len, "cpu");
    const char *p;

    if (!since && !until && !words && !cpu)
        return xen_parse_error(parser,
                               "a condition begins with 'since', 'until', 'cpu' or 'words'");
    parser->p += len;
    xen_skip_blanks(parser);
    len = xen_word_len(parser);
    p = parser->p;
    parser->p += len;
    if (words) {
        uint32_t n;
        size_t digits = xen_read_number(p, p + len, &n);
        bool or_more = digits + 1 == len && p[digits] == '+';

        if (digits == 0 || n > 7 || (digits != len && !or_more))
            return xen_parse_error(parser,
                                   "'words' requires a number from 0 to 7, with or without '+'");
        event->words_min = (uint8_t)n;
        event->words_max = or_more ? 7 : (uint8_t)n;
        return 0;
    }
    if (cpu) {
        event->cpu = xen_word_is(p, len, "amd")     ? XEN_CPU_AMD
                     : xen_word_is(p, len, "intel") ? XEN_CPU_INTEL
                                                    : XEN_CPU_UNKNOWN;
        return event->cpu ? 0 : xen_parse_error(parser, "'cpu' requires amd or intel");
    }
    if (xen_version_parse(p, len) == 0)
        return xen_parse_error(parser, "expected a version such as 4.17");
    if (since)
        event->since = xen_version_parse(p, len);
    else
        event->until = xen_version_parse(p, len);
    return 0;
}

static int parse_conditions(struct xen_parser *parser, struct xen_event *event)
{
    for (;;) {
        int r;

        parser->p++; /* '[' or ',' */
        xen_skip_blanks(parser);
        r = parse_condition(parser, event);
        if (r < 0)
            return r;
        xen_skip_blanks(parser);
        if (parser->p < parser->end && *parser->p == ']') {
            parser->p++;
            return 0;
        }
        if (parser->p == parser->end || *parser->p != ',')
            return xen_parse_error(parser, "expected ',' or ']' after a condition");
    }
}

/* Puts a field of BITS bits at *BIT of the payload. */
static int place(const struct xen_parser *parser, struct field *field, unsigned bits, unsigned *bit)
{
    field->place = PLACE_FIXED;
    if (bits >= 8 && (bits & (bits - 1)) == 0 && *bit % 8 == 0) {
        field->offset = *bit / 8;
        field->size = bits / 8;
    } else {
        /* A bit field: within its 32-bit word. */
        if (bits > 32 || *bit / 32 != (*bit + bits - 1) / 32)
            return xen_parse_error(parser, "a field crosses the end of its 32-bit word");
        field->offset = *bit / 32 * 4;
        field->size = 4;
        if (bits < 32) {
            field->shift = (uint8_t)(*bit % 32);
            field->bits = (uint8_t)bits;
        }
    }
    *bit += bits;
    return 0;
}

static int parse_array(struct xen_parser *parser, struct field *field, unsigned bits, unsigned *bit)
{
    uint32_t n;
    size_t len;

    parser->p++;
    if (field->bits || bits < 8)
        return xen_parse_error(parser, "an array's elements have 8, 16, 32 or 64 bits");
    len = xen_read_number(parser->p, parser->end, &n);
    parser->p += len;
    if (parser->p == parser->end || *parser->p != ']')
        return xen_parse_error(parser, "expected an array size or ']'");
    parser->p++;
    if (len > 0 && (n == 0 || n > (XEN_PAYLOAD_BITS - (*bit - bits)) / bits))
        return xen_parse_error(parser, "the fields need more than a record's 7 words");
    field->type = FIELD_BYTES;
    field->element = (uint8_t)field->size;
    field->storage = len > 0 ? STORE_ARRAY : STORE_TO_END;
    if (len > 0) {
        field->size *= n;
        *bit += (n - 1) * bits;
    } else {
        field->size = 0;
        *bit = XEN_PAYLOAD_BITS;
    }
    return 0;
}

static int parse_type(struct xen_parser *parser, struct field *field, bool gap, unsigned *bit)
{
    static const char *const unsigned_types[] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"};
    static const char *const signed_types[] = {"int8_t", "int16_t", "int32_t", "int64_t"};
    uint32_t bits = 0;
    size_t len;
    int r;

    /* A gap has bits, but need not have a type. */
    if (parser->p < parser->end && !(gap && *parser->p >= '0' && *parser->p <= '9')) {
        switch (*parser->p++) {
        case 'u': field->type = FIELD_UINT; break;
        case 'x':
            field->type = FIELD_UINT;
            field->hex = true;
            break;
        case 's': field->type = FIELD_INT; break;
        default: return xen_parse_error(parser, "a type begins with u, s or x");
        }
    }
    len = xen_read_number(parser->p, parser->end, &bits);
    parser->p += len;
    if (len == 0 || bits == 0 || bits > 64)
        return xen_parse_error(parser, "a type's bits are a number from 1 to 64");
    if (*bit + bits > XEN_PAYLOAD_BITS)
        return xen_parse_error(parser, "the fields need more than a record's 7 words");
    r = place(parser, field, bits, bit);
    if (r < 0)
        return r;
    field->c_type =
        (field->type == FIELD_INT ? signed_types : unsigned_types)[__builtin_ctz(field->size)];
    if (parser->p < parser->end && *parser->p == '[') {
        r = parse_array(parser, field, bits, bit);
        if (r < 0)
            return r;
    }
    if (parser->p < parser->end && *parser->p == '?') {
        field->optional = true;
        parser->p++;
    }
    if (parser->p < parser->end && *parser->p == '=') {
        parser->p++;
        field->names = xen_find_enum(parser);
        if (!field->names)
            return -EINVAL;
        if (field->type == FIELD_BYTES)
            return xen_parse_error(parser, "an array's elements have no names");
    }
    return 0;
}

static int parse_field(struct xen_parser *parser, struct field *fields, unsigned *n_fields,
                       unsigned *bit)
{
    struct field field = {.storage = STORE_SCALAR};
    size_t len = xen_word_len(parser);
    int r = xen_check_name(parser, parser->p, len);
    bool gap;

    if (r < 0)
        return r;
    gap = xen_word_is(parser->p, len, "-");
    field.name = arena_strndup(&parser->table->arena, parser->p, len);
    if (!field.name)
        return xen_no_memory(parser);
    parser->p += len;
    if (parser->p == parser->end || *parser->p != ':')
        return xen_parse_error(parser, "expected ':' and a type after the field's name");
    parser->p++;
    r = parse_type(parser, &field, gap, bit);
    if (r < 0)
        return r;
    if (parser->p < parser->end && !xen_is_blank(*parser->p) && *parser->p != '#' &&
        *parser->p != '"')
        return xen_parse_error(parser, "expected a blank after the field");
    if (!gap)
        fields[(*n_fields)++] = field;
    return 0;
}

static int parse_format(struct xen_parser *parser, struct xen_event *event)
{
    const char *close = memchr(parser->p + 1, '"', (size_t)(parser->end - parser->p - 1));

    if (!close)
        return xen_parse_error(parser, "the format has no closing quote");
    event->format =
        arena_strndup(&parser->table->arena, parser->p + 1, (size_t)(close - parser->p - 1));
    if (!event->format)
        return xen_no_memory(parser);
    parser->p = close + 1;
    xen_skip_blanks(parser);
    return xen_at_end(parser) ? 0 : xen_parse_error(parser, "unexpected text after the format");
}

static int parse_event(struct xen_parser *parser)
{
    struct field fields[XEN_PAYLOAD_BITS];
    struct xen_event event = {.words_max = 7, .file = parser->file, .line = parser->line};
    unsigned bit = 0;
    size_t len = xen_read_number(parser->p, parser->end, &event.id);
    int r;

    if (len == 0 || event.id > 0x0fffffff)
        return xen_parse_error(
            parser,
            "a line begins with an event's number (at most 0x0fffffff), 'enum', 'bits' or 'call'");
    parser->p += len;
    if (parser->p < parser->end && !xen_is_blank(*parser->p))
        return xen_parse_error(parser, "expected a blank after the event's number");
    xen_skip_blanks(parser);
    len = xen_word_len(parser);
    r = xen_check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    event.name = arena_strndup(&parser->table->arena, parser->p, len);
    if (!event.name)
        return xen_no_memory(parser);
    parser->p += len;

    xen_skip_blanks(parser);
    if (parser->p < parser->end && *parser->p == '[') {
        r = parse_conditions(parser, &event);
        if (r < 0)
            return r;
        xen_skip_blanks(parser);
    }
    while (!xen_at_end(parser) && *parser->p != '"') {
        r = parse_field(parser, fields, &event.n_fields, &bit);
        if (r < 0)
            return r;
        xen_skip_blanks(parser);
    }
    if (!xen_at_end(parser)) {
        r = parse_format(parser, &event);
        if (r < 0)
            return r;
    }

    event.fields = fields;
    event.words = (uint8_t)((bit + 31) / 32);
    return xen_table_add(parser->table, &event) < 0 ? xen_no_memory(parser) : 0;
}

static int parse_line(struct xen_parser *parser)
{
    bool indented = parser->p < parser->end && xen_is_blank(*parser->p);
    size_t len;
    int r;

    xen_skip_blanks(parser);
    if (xen_at_end(parser))
        return 0;
    if (indented)
        return parser->in_enum ? xen_parse_enum_value(parser)
                               : xen_parse_error(parser, "an indented line must follow an enum");
    r = xen_close_enum(parser);
    if (r < 0)
        return r;
    len = xen_word_len(parser);
    if (xen_word_is(parser->p, len, "enum") || xen_word_is(parser->p, len, "bits")) {
        bool bits = *parser->p == 'b';

        parser->p += len;
        return xen_parse_enum(parser, bits);
    }
    if (xen_word_is(parser->p, len, "call")) {
        parser->p += len;
        return xen_parse_call(parser);
    }
    return parse_event(parser);
}

int xen_table_parse(struct xen_table *table, const char *file, const char *text, size_t len,
                    struct error *error)
{
    struct xen_parser parser = {.table = table, .name = file ? file : "xen-events", .error = error};
    const char *end = text + len;
    int r = 0;

    if (file) {
        parser.file = arena_strdup(&table->arena, file);
        if (!parser.file)
            return xen_no_memory(&parser);
    }
    while (text < end && r == 0) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));

        parser.line++;
        parser.p = text;
        parser.end = newline ? newline : end;
        text = newline ? newline + 1 : end;
        r = parse_line(&parser);
    }
    /* Also after an error, so that no enum is left with names that are not there. */
    if (parser.in_enum) {
        int closed = xen_close_enum(&parser);
        r = r < 0 ? r : closed;
    }
    free(parser.enum_names);
    free(parser.enum_more);
    return r;
}
