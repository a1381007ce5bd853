/* SPDX-License-Identifier: MIT */
/* trace-events files: the formats. */
#include "schema/trace_events/c_literal.h"
#include "schema/trace_events/parser.h"

/* A format as it is read. */
struct format {
    const char *start; /* its source, of which `len` bytes */
    size_t len;
    char *meaning;
    struct c_literal literal;
};

static int percent_m(struct parser *parser, struct place place)
{
    parser_suggest(parser, "pass the error as an argument");
    return parser_error(parser, place, "'%%m' is not allowed in a format");
}

static int newline(struct parser *parser, struct place place, bool at_end)
{
    if (at_end) {
        parser_suggest(parser, "leave it out: backends end their lines themselves");
        return parser_error(parser, place, "the format must not end with a newline");
    }
    parser_suggest(parser, "declare one event for each line");
    return parser_error(parser, place, "the format must not hold a newline");
}

/* QEMU's tracetool looks at the source, not at what it means: at "%m" in "%%m", at "\n" in "\\n". */
static int check_source(struct parser *parser, const struct format *format)
{
    const char *end = format->start + format->len;
    const char *p = format->start;

    p = memmem(p, format->len, "%m", 2);
    if (p)
        return percent_m(parser, (struct place){p, 2});
    for (p = format->start; (p = memchr(p, '\\', (size_t)(end - p))); p++) {
        bool at_end = end - p == 3 && p[2] == '"';

        if (p[1] == 'n' && (at_end || (parser->declarations->rules & DECLARE_NO_NEWLINE)))
            return newline(parser, (struct place){p, 2}, at_end);
    }
    return 0;
}

/* Where tracetool finds two formats in one, which it has no use for: 7.2 for events of a vCPU, older
 * ones for all but those of translated code. */
static int check_comma(struct parser *parser, const struct declared_event *event,
                       const struct format *format)
{
    unsigned rules = parser->declarations->rules;
    const char *end = format->start + format->len;
    const char *p = format->start + 2;

    if (!(rules & DECLARE_COMMA_PARTS) || (event->properties & PROPERTY_TCG) ||
        ((rules & DECLARE_NO_TCG) && !(event->properties & PROPERTY_VCPU)))
        return 0;
    for (; p < end && (p = memchr(p, ',', (size_t)(end - p))); p++) {
        const char *quote = p + 1;

        while (quote < end && c_char_is_blank(*quote))
            quote++;
        if (quote < end && *quote == '"' && quote + 1 < parser->end) {
            parser_suggest(parser, "let the next string begin with the ','");
            return parser_error(
                parser, (struct place){p, 1},
                "a ',' and then a '\"', which QEMU's tracetool parses as two formats");
        }
    }
    return 0;
}

/* Where LEN bytes of the meaning, OFFSET into it, stand in the source. */
static struct place place_of(const struct format *format, size_t offset, size_t len)
{
    const char *end = format->start + format->len;
    const char *p = c_literal_place(format->start, end, offset);

    return (struct place){p, (size_t)(c_literal_place(format->start, end, offset + len) - p)};
}

/* Refuses what would break a log line by line, and "%m", whose errno is gone when it is read. */
static int check_meaning(struct parser *parser, const struct format *format)
{
    const char *meaning = format->meaning;
    const char *found;
    size_t len = format->literal.len;

    for (const char *p = meaning; (p = strchr(p, '%'));) {
        const char *percent = p++;

        if (*p == '%') {
            p++;
            continue;
        }
        while (*p && strchr("-+ #0123456789.*hlqjzt", *p))
            p++;
        if (*p == 'm')
            return percent_m(
                parser, place_of(format, (size_t)(percent - meaning), (size_t)(p + 1 - percent)));
    }
    if (len > 0 && meaning[len - 1] == '\n')
        return newline(parser, place_of(format, len - 1, 1), true);
    if ((parser->declarations->rules & DECLARE_NO_NEWLINE) && (found = strchr(meaning, '\n')))
        return newline(parser, place_of(format, (size_t)(found - meaning), 1), false);
    return 0;
}

/* Where a '"' should be and is not. */
static int no_quote(struct parser *parser)
{
    const char *p = parser->p;
    size_t left = (size_t)(parser->end - p);
    size_t word = parser_word_length(p, parser->end);
    struct place place = {p, word ? word : MIN(left, (size_t)1)};

    if (left >= 3 && (unsigned char)p[0] == 0xe2 && (unsigned char)p[1] == 0x80 &&
        ((unsigned char)p[2] & 0xf8) == 0x98) {
        place.len = 3;
        parser_suggest(parser, "write '\"'");
    } else if (left > 0 && *p == '\'') {
        parser_suggest(parser, "strings of C are in double quotes");
    } else if (left > 0 && (*p == ',' || *p == ':' || *p == ';')) {
        parser_suggest(parser, "leave the '%c' out", *p);
    } else if (left > 0 && (*p == '/' || *p == '#')) {
        parser_suggest(parser, "a comment is a line of its own that begins with '#'");
    } else if (word > 3 && memcmp(p, "PRI", 3) == 0) {
        parser_suggest(parser, "write '\"%%\" %.*s'", CUT(word), p);
    } else if (left > 0 && parser->end[-1] == '"' && memchr(p, '"', left - 1) == NULL) {
        place.len = 0;
        parser_suggest(parser, "the opening '\"' is missing");
    }
    return parser_error(parser, place, "expected a format in double quotes");
}

/* What c_literal_parse() found at parser->p; START is where the format begins. */
static int wrong_literal(struct parser *parser, const char *start, const char *message)
{
    const char *p = parser->p;
    size_t left = (size_t)(parser->end - p);
    size_t word = parser_word_length(p, parser->end);
    struct place place = {p, word ? word : MIN(left, (size_t)1)};
    char macro[C_MACRO_MAX];

    if (word >= 3 && memcmp(p, "PRI", 3) == 0) {
        if (c_literal_near_macro(p, word, macro))
            parser_suggest(parser, "write '%s'", macro);
    } else if (word) {
        parser_suggest(parser, "leave the prefix out");
    } else if (left > 0 && *p == '"') {
        place.len = left; /* that is not ended */
        parser_suggest(parser, p == start ? "end the line with '\"'"
                                          : "a '\"' inside of the format is written '\\\"'");
    } else if (left > 0 && *p == '\\') {
        place.len = MIN(left, (size_t)2);
        if (strstr(message, "NUL"))
            parser_suggest(parser, "text would end there");
        else
            parser_suggest(parser, "a backslash by itself is written '\\\\'");
    } else if (left > 1 && (*p == '/' || *p == '#')) {
        parser_suggest(parser, "a comment is a line of its own that begins with '#'");
    } else if (left > 0 && (*p == ';' || *p == ')')) {
        parser_suggest(parser, "leave the '%c' out", *p);
    } else if (p > start && left > 0) {
        parser_suggest(parser, "a '\"' inside of the format is written '\\\"'");
    }
    return parser_error(parser, place, "%s", message);
}

/* Macros belong to the code that is compiled; these look like typing errors. */
static void check_macro(struct parser *parser, const struct c_literal *literal)
{
    struct place place = {literal->unknown_macro, literal->unknown_macro_len};
    char macro[C_MACRO_MAX];

    if (c_literal_near_macro(place.p, place.len, macro)) {
        parser_suggest(parser, "write '%s'", macro);
        parser_warn(parser, place, "unknown macro '%.*s'", CUT(place.len), place.p);
        return;
    }
    for (size_t i = 0; i < place.len; i++)
        if (place.p[i] >= 'A' && place.p[i] <= 'Z')
            return;
    parser_suggest(parser, "a '\"' inside of the format is written '\\\"'");
    parser_warn(parser, place, "'%.*s' outside of the quotes", CUT(place.len), place.p);
}

static int parse_format(struct parser *parser, const struct declared_event *event,
                        struct format *ret_format)
{
    struct format format = {0};
    const char *message;
    int r = 0;

    parser_skip_blanks(parser);
    format.start = parser->p;
    if (format.start == parser->end || *format.start != '"')
        return no_quote(parser);
    format.meaning =
        arena_alloc(&parser->declarations->arena, (size_t)(parser->end - format.start) + 1);
    if (!format.meaning)
        return -ENOMEM;
    message = c_literal_parse(&parser->p, parser->end, format.meaning, &format.literal);
    if (message)
        return wrong_literal(parser, format.start, message);
    format.len = (size_t)(parser->p - format.start);
    if (parser->declarations->rules & DECLARE_GENERATE) {
        if (format.literal.unknown_macro)
            check_macro(parser, &format.literal);
        r = check_source(parser, &format);
        if (r >= 0)
            r = check_comma(parser, event, &format);
    }
    if (r >= 0)
        r = check_meaning(parser, &format);
    if (r >= 0)
        *ret_format = format;
    return r;
}

static int keep(struct parser *parser, const struct format *format, const char **ret_format,
                const char **ret_source)
{
    struct arena *arena = &parser->declarations->arena;
    char *source;

    source = format->literal.n_pieces == 1 ? arena_strndup(arena, format->start, format->len)
                                           : arena_alloc(arena, 2 * format->len + 1);
    if (!source)
        return -ENOMEM;
    if (format->literal.n_pieces > 1)
        c_literal_normalise(format->start, format->len, source);
    *ret_source = source;
    *ret_format = format->literal.unknown_macro ? NULL : format->meaning;
    return 0;
}

static int check_fit(struct parser *parser, const struct declared_event *event, bool translation,
                     const struct format *format)
{
    if (!(parser->declarations->rules & DECLARE_GENERATE) || format->literal.unknown_macro)
        return 0;
    return parser_check_fit(parser, event, translation, format->meaning, format->start,
                            format->start + format->len);
}

int parser_formats(struct parser *parser, struct declared_event *event, bool fine)
{
    struct format first, second;
    bool tcg = event->properties & PROPERTY_TCG;
    const char *comma;
    int r, k;

    parser_skip_blanks(parser);
    comma = parser->p;
    if (parser->p < parser->end) {
        if (!fine && *parser->p != '"')
            return 0; /* after arguments that were misread */
        r = parse_format(parser, event, &first);
        if (r < 0)
            return r;
        r = keep(parser, &first, &event->format, &event->format_source);
        if (r < 0)
            return r;
        parser_skip_blanks(parser);
        comma = parser->p;
    }
    if (parser->p == parser->end || *parser->p != ',') {
        if (parser->p < parser->end)
            return parser_error(parser, (struct place){comma, 1}, "expected the end of the line");
        if (tcg && fine) {
            parser_suggest(parser, "it has one at translation and one at execution");
            return parser_error(parser, (struct place){comma, 0},
                                "an event with the property 'tcg' has two formats");
        }
        return fine && event->format_source ? check_fit(parser, event, false, &first) : 0;
    }

    parser->p++;
    parser_skip_blanks(parser);
    if (!tcg) {
        parser_suggest(parser, parser->p == parser->end
                                   ? "leave it out"
                                   : "only an event with the property 'tcg' has two formats");
        return parser_error(parser, (struct place){comma, 1}, "a ',' after the format");
    }
    r = parse_format(parser, event, &second);
    if (r < 0)
        return r;
    event->format_trans = event->format;
    event->format_trans_source = event->format_source;
    r = keep(parser, &second, &event->format, &event->format_source);
    if (r < 0)
        return r;
    parser_skip_blanks(parser);
    if (parser->p < parser->end)
        return parser_error(parser, (struct place){parser->p, 1}, "expected the end of the line");
    if (!fine)
        return 0;
    r = check_fit(parser, event, true, &first);
    k = check_fit(parser, event, false, &second);
    return MIN(r, k);
}
