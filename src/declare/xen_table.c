/* SPDX-License-Identifier: MIT */
#include "declare/xen_table.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

#define PAYLOAD_BITS (7 * 32)
#define ENUM_VALUE_MAX 4095u
#define NAME_MAX_LEN 64

/* data/xen-events, made into an array by the build. */
extern const char xen_events_text[];
extern const size_t xen_events_text_len;

struct parser {
    struct xen_table *table;
    const char *file;
    const char *name; /* of the file, for messages */
    uint32_t line;
    struct fault *fault;
    const char *p;
    const char *end;             /* of the line */
    struct value_names *in_enum; /* the enum that indented lines belong to */
    const char **enum_names;     /* its names, ENUM_VALUE_MAX + 1 of them */
};

static int complain(const struct parser *parser, const char *what)
{
    return fault_line(parser->fault, -EINVAL, parser->name, parser->line, "%s", what);
}

static int no_memory(const struct parser *parser)
{
    return fault_plain(parser->fault, -ENOMEM, parser->name, "out of memory");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct parser *parser)
{
    while (parser->p < parser->end && is_blank(*parser->p))
        parser->p++;
}

/* Nothing but a comment is left. */
static bool at_end(const struct parser *parser)
{
    return parser->p == parser->end || *parser->p == '#';
}

/* Letters, digits and _ . : - and more; what can be part of a name. */
static size_t word_len(const struct parser *parser)
{
    const char *p = parser->p;

    while (p < parser->end && !is_blank(*p) && !strchr("#\"[]=:,?", *p))
        p++;
    return (size_t)(p - parser->p);
}

static bool word_is(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(p, word, len) == 0;
}

/* A decimal or 0x number of at most 32 bits. Returns the characters taken, 0: none. */
static size_t read_number(const char *p, const char *end, uint32_t *ret)
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

xen_version xen_version_parse(const char *s, size_t len)
{
    uint32_t major;
    uint32_t minor;
    const char *end = s + len;
    size_t n = read_number(s, end, &major);

    if (n == 0 || n == len || s[n] != '.' || major == 0 || major > 99)
        return 0;
    s += n + 1;
    n = read_number(s, end, &minor);
    if (n == 0 || minor > 99 || (s + n != end && s[n] != '.' && s[n] != '-'))
        return 0;
    return (xen_version)(major * 100 + minor);
}

enum xen_cpu xen_cpu_parse(const char *s)
{
    static const struct {
        const char *name;
        enum xen_cpu cpu;
    } known[] = {
        {"amd", XEN_CPU_AMD},        {"AuthenticAMD", XEN_CPU_AMD},
        {"hygon", XEN_CPU_AMD},      {"HygonGenuine", XEN_CPU_AMD},
        {"intel", XEN_CPU_INTEL},    {"GenuineIntel", XEN_CPU_INTEL},
        {"centaur", XEN_CPU_INTEL},  {"CentaurHauls", XEN_CPU_INTEL},
        {"shanghai", XEN_CPU_INTEL}, {"  Shanghai  ", XEN_CPU_INTEL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(known[i].name, s) == 0)
            return known[i].cpu;
    return XEN_CPU_UNKNOWN;
}

const char *xen_event_group(uint32_t id)
{
    switch (id >> 16 & 0xfff) {
    case 0x001: return "gen";
    case 0x002: return "sched";
    case 0x004: return "dom0op";
    case 0x008: return "hvm";
    case 0x010: return "mem";
    case 0x020: return "pv";
    case 0x040: return "shadow";
    case 0x080: return "hw";
    case 0x800: return "guest";
    default: return "other";
    }
}

static int check_name(const struct parser *parser, const char *p, size_t len)
{
    if (len == 0 || len > NAME_MAX_LEN)
        return complain(parser, "a name of 1 to 64 characters should stand here");
    for (size_t i = 0; i < len; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || ((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z') ||
              p[i] == '_' || p[i] == '.' || p[i] == '-' || p[i] == '/'))
            return complain(parser, "a name consists of letters, digits and _ . - /");
    return 0;
}

/* The names that were collected become the enum's. */
static int close_enum(struct parser *parser)
{
    struct value_names *names = parser->in_enum;

    if (!names)
        return 0;
    names->names =
        arena_memdup(&parser->table->arena, parser->enum_names, names->n * sizeof *names->names);
    parser->in_enum = NULL;
    return names->names || names->n == 0 ? 0 : no_memory(parser);
}

static int parse_enum(struct parser *parser)
{
    size_t len;
    int r;

    skip_blanks(parser);
    len = word_len(parser);
    r = check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    parser->in_enum = map_get_str(&parser->table->enums, parser->p, len);
    if (!parser->enum_names)
        parser->enum_names = malloc((ENUM_VALUE_MAX + 1) * sizeof *parser->enum_names);
    if (!parser->enum_names)
        return no_memory(parser);
    memset(parser->enum_names, 0, (ENUM_VALUE_MAX + 1) * sizeof *parser->enum_names);
    if (parser->in_enum) {
        /* Known already: this adds to it. */
        memcpy(parser->enum_names, parser->in_enum->names,
               parser->in_enum->n * sizeof *parser->enum_names);
    } else {
        const char *name = arena_strndup(&parser->table->arena, parser->p, len);
        parser->in_enum = arena_alloc(&parser->table->arena, sizeof *parser->in_enum);
        if (!name || !parser->in_enum ||
            map_put_str(&parser->table->enums, name, len, parser->in_enum) < 0)
            return no_memory(parser);
    }
    parser->p += len;
    skip_blanks(parser);
    return at_end(parser) ? 0 : complain(parser, "more stands behind the name of the enum");
}

static int parse_enum_value(struct parser *parser)
{
    uint32_t value;
    size_t len = read_number(parser->p, parser->end, &value);
    int r;

    if (len == 0 || value > ENUM_VALUE_MAX)
        return complain(parser, "a value from 0 to 4095 should stand here");
    parser->p += len;
    skip_blanks(parser);
    len = word_len(parser);
    r = check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    parser->enum_names[value] = arena_strndup(&parser->table->arena, parser->p, len);
    if (!parser->enum_names[value])
        return no_memory(parser);
    if (value >= parser->in_enum->n)
        parser->in_enum->n = value + 1;
    parser->p += len;
    skip_blanks(parser);
    return at_end(parser) ? 0 : complain(parser, "more stands behind the value's name");
}

static int parse_condition(struct parser *parser, struct xen_event *event)
{
    size_t len = word_len(parser);
    bool since = word_is(parser->p, len, "since");
    bool until = word_is(parser->p, len, "until");
    bool words = word_is(parser->p, len, "words");
    bool cpu = word_is(parser->p, len, "cpu");
    const char *p;

    if (!since && !until && !words && !cpu)
        return complain(parser, "a condition begins with 'since', 'until', 'cpu' or 'words'");
    parser->p += len;
    skip_blanks(parser);
    len = word_len(parser);
    p = parser->p;
    parser->p += len;
    if (words) {
        uint32_t n;
        size_t digits = read_number(p, p + len, &n);
        bool or_more = digits + 1 == len && p[digits] == '+';

        if (digits == 0 || n > 7 || (digits != len && !or_more))
            return complain(parser, "'words' takes a number from 0 to 7, with or without '+'");
        event->words_min = (uint8_t)n;
        event->words_max = or_more ? 7 : (uint8_t)n;
        return 0;
    }
    if (cpu) {
        event->cpu = word_is(p, len, "amd")     ? XEN_CPU_AMD
                     : word_is(p, len, "intel") ? XEN_CPU_INTEL
                                                : XEN_CPU_UNKNOWN;
        return event->cpu ? 0 : complain(parser, "'cpu' takes amd or intel");
    }
    if (xen_version_parse(p, len) == 0)
        return complain(parser, "a version such as 4.17 should stand here");
    if (since)
        event->since = xen_version_parse(p, len);
    else
        event->until = xen_version_parse(p, len);
    return 0;
}

static int parse_conditions(struct parser *parser, struct xen_event *event)
{
    for (;;) {
        int r;

        parser->p++; /* '[' or ',' */
        skip_blanks(parser);
        r = parse_condition(parser, event);
        if (r < 0)
            return r;
        skip_blanks(parser);
        if (parser->p < parser->end && *parser->p == ']') {
            parser->p++;
            return 0;
        }
        if (parser->p == parser->end || *parser->p != ',')
            return complain(parser, "',' or ']' should stand behind a condition");
    }
}

/* Puts a field of BITS bits at *BIT of the payload. */
static int place(const struct parser *parser, struct field *field, unsigned bits, unsigned *bit)
{
    field->place = PLACE_FIXED;
    if (bits >= 8 && (bits & (bits - 1)) == 0 && *bit % 8 == 0) {
        field->offset = *bit / 8;
        field->size = bits / 8;
    } else {
        /* A bit field: within its 32-bit word. */
        if (bits > 32 || *bit / 32 != (*bit + bits - 1) / 32)
            return complain(parser, "a field crosses the end of its 32-bit word");
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

static int parse_array(struct parser *parser, struct field *field, unsigned bits, unsigned *bit)
{
    uint32_t n;
    size_t len;

    parser->p++;
    if (field->bits || bits < 8)
        return complain(parser, "an array's elements have 8, 16, 32 or 64 bits");
    len = read_number(parser->p, parser->end, &n);
    parser->p += len;
    if (parser->p == parser->end || *parser->p != ']')
        return complain(parser, "an array's size or ']' should stand here");
    parser->p++;
    if (len > 0 && (n == 0 || n > (PAYLOAD_BITS - (*bit - bits)) / bits))
        return complain(parser, "the fields take more than a record's 7 words");
    field->type = FIELD_BYTES;
    field->element = (uint8_t)field->size;
    field->storage = len > 0 ? STORE_ARRAY : STORE_REST;
    if (len > 0) {
        field->size *= n;
        *bit += (n - 1) * bits;
    } else {
        field->size = 0;
        *bit = PAYLOAD_BITS;
    }
    return 0;
}

static int parse_type(struct parser *parser, struct field *field, bool gap, unsigned *bit)
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
        default: return complain(parser, "a type begins with u, s or x");
        }
    }
    len = read_number(parser->p, parser->end, &bits);
    parser->p += len;
    if (len == 0 || bits == 0 || bits > 64)
        return complain(parser, "a type's bits are a number from 1 to 64");
    if (*bit + bits > PAYLOAD_BITS)
        return complain(parser, "the fields take more than a record's 7 words");
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
        len = word_len(parser);
        field->names = map_get_str(&parser->table->enums, parser->p, len);
        if (!field->names)
            return complain(parser, "there is no enum of this name above");
        if (field->type == FIELD_BYTES)
            return complain(parser, "an array's elements have no names");
        parser->p += len;
    }
    return 0;
}

static int parse_field(struct parser *parser, struct field *fields, unsigned *n_fields,
                       unsigned *bit)
{
    struct field field = {.storage = STORE_SCALAR};
    size_t len = word_len(parser);
    int r = check_name(parser, parser->p, len);
    bool gap;

    if (r < 0)
        return r;
    gap = word_is(parser->p, len, "-");
    field.name = arena_strndup(&parser->table->arena, parser->p, len);
    if (!field.name)
        return no_memory(parser);
    parser->p += len;
    if (parser->p == parser->end || *parser->p != ':')
        return complain(parser, "':' and a type should stand behind a field's name");
    parser->p++;
    r = parse_type(parser, &field, gap, bit);
    if (r < 0)
        return r;
    if (parser->p < parser->end && !is_blank(*parser->p) && *parser->p != '#' && *parser->p != '"')
        return complain(parser, "a blank should stand behind a field");
    if (!gap)
        fields[(*n_fields)++] = field;
    return 0;
}

static int parse_format(struct parser *parser, struct xen_event *event)
{
    const char *close = memchr(parser->p + 1, '"', (size_t)(parser->end - parser->p - 1));

    if (!close)
        return complain(parser, "the format has no closing quote");
    event->format =
        arena_strndup(&parser->table->arena, parser->p + 1, (size_t)(close - parser->p - 1));
    if (!event->format)
        return no_memory(parser);
    parser->p = close + 1;
    skip_blanks(parser);
    return at_end(parser) ? 0 : complain(parser, "more stands behind the format");
}

int xen_table_add(struct xen_table *table, const struct xen_event *event)
{
    struct xen_event *copy = arena_memdup(&table->arena, event, sizeof *event);

    if (!copy)
        return -ENOMEM;
    copy->before = map_get(&table->events, event->id);
    copy->fields =
        arena_memdup(&table->arena, event->fields, event->n_fields * sizeof *event->fields);
    if ((!copy->fields && event->n_fields > 0) || map_put(&table->events, event->id, copy) < 0)
        return -ENOMEM;
    table->n_events++;
    return 0;
}

static int parse_event(struct parser *parser)
{
    struct field fields[PAYLOAD_BITS];
    struct xen_event event = {.words_max = 7, .file = parser->file, .line = parser->line};
    unsigned bit = 0;
    size_t len = read_number(parser->p, parser->end, &event.id);
    int r;

    if (len == 0 || event.id > 0x0fffffff)
        return complain(parser,
                        "a line begins with an event's number (at most 0x0fffffff) or 'enum'");
    parser->p += len;
    if (parser->p < parser->end && !is_blank(*parser->p))
        return complain(parser, "a blank should stand behind the event's number");
    skip_blanks(parser);
    len = word_len(parser);
    r = check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    event.name = arena_strndup(&parser->table->arena, parser->p, len);
    if (!event.name)
        return no_memory(parser);
    parser->p += len;

    skip_blanks(parser);
    if (parser->p < parser->end && *parser->p == '[') {
        r = parse_conditions(parser, &event);
        if (r < 0)
            return r;
        skip_blanks(parser);
    }
    while (!at_end(parser) && *parser->p != '"') {
        r = parse_field(parser, fields, &event.n_fields, &bit);
        if (r < 0)
            return r;
        skip_blanks(parser);
    }
    if (!at_end(parser)) {
        r = parse_format(parser, &event);
        if (r < 0)
            return r;
    }

    event.fields = fields;
    return xen_table_add(parser->table, &event) < 0 ? no_memory(parser) : 0;
}

static int parse_line(struct parser *parser)
{
    bool indented = parser->p < parser->end && is_blank(*parser->p);
    size_t len;
    int r;

    skip_blanks(parser);
    if (at_end(parser))
        return 0;
    if (indented)
        return parser->in_enum ? parse_enum_value(parser)
                               : complain(parser, "an indented line belongs to an enum, and none "
                                                  "stands above it");
    r = close_enum(parser);
    if (r < 0)
        return r;
    len = word_len(parser);
    if (word_is(parser->p, len, "enum")) {
        parser->p += len;
        return parse_enum(parser);
    }
    return parse_event(parser);
}

int xen_table_parse(struct xen_table *table, const char *file, const char *text, size_t len,
                    struct fault *fault)
{
    struct parser parser = {.table = table, .name = file ? file : "xen-events", .fault = fault};
    const char *end = text + len;
    int r = 0;

    if (file) {
        parser.file = arena_strdup(&table->arena, file);
        if (!parser.file)
            return no_memory(&parser);
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
        int closed = close_enum(&parser);
        r = r < 0 ? r : closed;
    }
    free(parser.enum_names);
    return r;
}

int xen_table_built_in(struct xen_table *table, struct fault *fault)
{
    return xen_table_parse(table, NULL, xen_events_text, xen_events_text_len, fault);
}

void xen_table_done(struct xen_table *table)
{
    map_done(&table->events);
    map_done(&table->enums);
    arena_done(&table->arena);
    *table = (struct xen_table){0};
}

const struct xen_event *xen_table_find(const struct xen_table *table, uint32_t id, unsigned words,
                                       xen_version version, enum xen_cpu cpu)
{
    const struct xen_event *event = map_get(&table->events, id);

    for (; event; event = event->before) {
        if (words < event->words_min || words > event->words_max)
            continue;
        if ((event->since || event->until) && version == 0)
            continue;
        if (event->cpu && event->cpu != cpu)
            continue;
        if (event->since && version < event->since)
            continue;
        if (event->until && version > event->until)
            continue;
        return event;
    }
    return NULL;
}
