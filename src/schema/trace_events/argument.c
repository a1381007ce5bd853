/* SPDX-License-Identifier: MIT */
/* trace-events files: the arguments. */
#include <stdio.h>

#include "schema/trace_events/parser.h"
#include "schema/trace_events/suggest_type.h"

/* An argument, taken apart by where its parts are. */
struct parts {
    const char *start;
    const char *end;
    const char *type_end;
    const char *name;
    size_t type_len;
    size_t name_len;
};

static struct parts take_apart(const char *start, const char *end)
{
    struct parts parts = {.start = start, .end = end, .name = end};

    /* The last word (after the last star, if any) is the name. */
    while (parts.name > start && c_char_is_word(parts.name[-1]))
        parts.name--;
    for (parts.type_end = parts.name;
         parts.type_end > start && c_char_is_blank(parts.type_end[-1]);)
        parts.type_end--;
    parts.type_len = (size_t)(parts.type_end - start);
    parts.name_len = (size_t)(end - parts.name);
    return parts;
}

/* TCG's own type, which only the events of translated code may have. */
static bool is_tcg_type(const struct declared_event *event, const struct parts *parts)
{
    return (event->properties & PROPERTY_TCG) && parts->type_len == 4 &&
           memcmp(parts->start, "TCGv", 4) == 0;
}

/* What stands in an argument and is neither word, blank nor star. */
static int stray(struct parser *parser, const char *at, const struct parts *parts)
{
    size_t left = (size_t)(parts->end - at);
    size_t n = 1;

    switch (*at) {
    case '[':
        if (suggest_type_is_char(parts->start, parts->type_len))
            parser_suggest(parser, "pass a string as 'const char *'");
        else
            parser_suggest(
                parser,
                "pass a pointer, 'void *', to trace its address, or pass the elements one by one");
        return parser_error(parser, (struct place){at, left}, "an array cannot be an argument");
    case '(':
        parser_suggest(parser, "pass a pointer to a function as 'void *'");
        return parser_error(parser, (struct place){at, n}, "a '(' among the arguments");
    case '.':
        if (left >= 3 && memcmp(at, "...", 3) == 0) {
            parser_suggest(parser, "an event has arguments that are fixed: name each");
            return parser_error(parser, (struct place){at, 3}, "'...' cannot be traced");
        }
        break;
    case ';':
        parser_suggest(parser, "write ','");
        return parser_error(parser, (struct place){at, n}, "a ';' between arguments");
    case '=':
        parser_suggest(parser, "remove it: arguments have no defaults");
        return parser_error(parser, (struct place){at, left}, "a value for an argument");
    case '&': parser_suggest(parser, "C has no references: pass a pointer"); break;
    default: break;
    }
    while (n < left && ((unsigned char)at[n] & 0xc0) == 0x80)
        n++;
    return parser_error(parser, (struct place){at, n}, "'%.*s' has no place in an argument", (int)n,
                        at);
}

static int find_stray(struct parser *parser, const struct parts *parts)
{
    for (const char *p = parts->start; p < parts->end; p++)
        if (!c_char_is_word(*p) && !c_char_is_blank(*p) && *p != '*')
            return stray(parser, p, parts);
    return 0;
}

/* Words that are C's own, or macros of <stdbool.h>. */
static bool is_keyword(const char *s, size_t len)
{
    /* By their lengths. */
    static const char *const words[] = {
        [2] = "do if",
        [3] = "asm for int",
        [4] = "auto bool case char else enum goto long true void",
        [5] = "_Bool break const false float short union while",
        [6] = "double extern inline return signed sizeof static struct switch typeof",
        [7] = "_Atomic default typedef",
        [8] = "_Alignas _Alignof _Complex _Generic continue register restrict unsigned volatile",
        [9] = "_Noreturn",
        [10] = "_Imaginary",
        [13] = "_Thread_local",
        [14] = "_Static_assert",
    };
    const char *word = len < ARRAY_SIZE(words) ? words[len] : NULL;

    for (; word; word = word[len] ? word + len + 1 : NULL)
        if (word[0] == *s && memcmp(word, s, len) == 0)
            return true;
    return false;
}

static int no_name(struct parser *parser, const struct parts *parts)
{
    size_t len = (size_t)(parts->end - parts->start);

    parser_suggest(parser, "write '%.*s%sNAME'", CUT(len), parts->start,
                   parts->end[-1] == '*' ? "" : " ");
    return parser_error(parser, (struct place){parts->end, 0}, "the argument '%.*s' has no name",
                        CUT(len), parts->start);
}

/* Neither type nor name, or only one of both. */
static int incomplete(struct parser *parser, const struct parts *parts)
{
    size_t len = (size_t)(parts->end - parts->start);
    struct place all = {parts->start, len};

    if (parts->name_len == 0 ||
        (parts->type_end == parts->start && c_type_is_word(parts->name, parts->name_len)))
        return no_name(parser, parts);
    if (*parts->name >= '0' && *parts->name <= '9')
        return parser_error(parser, (struct place){parts->name, parts->name_len},
                            "invalid name '%.*s': it begins with a digit", CUT(parts->name_len),
                            parts->name);
    if (!suggest_type_suggest(parts->start, len, parser->instead, sizeof parser->instead))
        parser_suggest(parser, "write 'int %.*s', or which type it has", CUT(len), parts->start);
    return parser_error(parser, all, "expected a type and a name in the argument '%.*s'", CUT(len),
                        parts->start);
}

static int wrong_type(struct parser *parser, const struct parts *parts)
{
    const char *gap;
    size_t len = parts->type_len;

    if (suggest_type_gap(parts->start, (size_t)(parts->end - parts->start), &gap)) {
        parser_suggest(parser, "write ','");
        return parser_error(parser, (struct place){gap, 0}, "a ',' is missing between arguments");
    }
    if (!suggest_type_suggest(parts->start, len, parser->instead, sizeof parser->instead))
        parser_suggest(parser,
                       "use C's own types, types of fixed width, or 'void *' for other pointers");
    return parser_error(parser, (struct place){parts->start, len},
                        "the argument type '%.*s' is not allowed", CUT(len), parts->start);
}

static int wrong_mix(struct parser *parser, const struct parts *parts)
{
    size_t len = parts->type_len;

    if (memchr(parts->start, '*', len) == NULL && len >= 4 &&
        memcmp(parts->type_end - 4, "void", 4) == 0)
        parser_suggest(parser, "write 'void *%.*s' for a pointer", CUT(parts->name_len),
                       parts->name);
    else
        suggest_type_suggest(parts->start, len, parser->instead, sizeof parser->instead);
    return parser_error(parser, (struct place){parts->start, len}, "'%.*s' is not a C type",
                        CUT(len), parts->start);
}

/* QEMU's tracetool looks at what stands between blanks, and knows no blank but ' '. */
static int check_type_blanks(struct parser *parser, const struct parts *parts)
{
    for (const char *p = parts->start; p < parts->type_end; p++) {
        const char *stars = p;

        if (c_char_is_blank(*p) && *p != ' ') {
            parser_suggest(parser, "write a blank");
            return parser_error(parser, (struct place){p, 1}, "a tab or its like inside of a type");
        }
        while (p < parts->type_end && *p == '*')
            p++;
        if (p > stars && stars > parts->start && c_char_is_word(stars[-1]) && p < parts->type_end &&
            c_char_is_word(*p)) {
            parser_suggest(parser, "put a blank in front of the '*'");
            return parser_error(parser, (struct place){stars, (size_t)(p - stars)},
                                "a '*' right between two words");
        }
        p = p > stars ? p - 1 : p;
    }
    return 0;
}

static int check_name(struct parser *parser, const struct parts *parts,
                      const struct declared_event *event, const struct declared_argument *arguments)
{
    struct place name = {parts->name, parts->name_len};

    if (is_keyword(parts->name, parts->name_len)) {
        if (c_type_is_word(parts->name, parts->name_len))
            return no_name(parser, parts);
        parser_suggest(parser, "choose another name");
        return parser_error(parser, name, "'%.*s' is a word of C's own", CUT(name.len), name.p);
    }
    for (unsigned i = 0; i < event->n_arguments; i++)
        if (strlen(arguments[i].name) == name.len &&
            memcmp(arguments[i].name, name.p, name.len) == 0)
            return parser_error(parser, name, "a second argument of the name '%.*s'", CUT(name.len),
                                name.p);
    if ((event->properties & PROPERTY_VCPU) && name.len == 5 && memcmp(name.p, "__cpu", 5) == 0)
        return parser_error(parser, name,
                            "an event with the property 'vcpu' has an argument of "
                            "the name '__cpu' already");
    return 0;
}

/* All that is wrong beyond words that are not known; only of what code is made from. */
static int check_for_code(struct parser *parser, const struct parts *parts,
                          const struct declared_event *event,
                          const struct declared_argument *arguments)
{
    const char *star = memchr(parts->start, '*', parts->type_len);
    int r;

    r = check_name(parser, parts, event, arguments);
    if (r < 0)
        return r;
    if (star && parts->type_end[-1] != '*') {
        const char *after = parts->type_end;

        while (after[-1] != '*')
            after--;
        while (c_char_is_blank(*after))
            after++;
        parser_suggest(parser, "remove it: the name follows the '*'");
        return parser_error(parser, (struct place){after, (size_t)(parts->type_end - after)},
                            "'%.*s' after the last '*'", CUT(parts->type_end - after), after);
    }
    return check_type_blanks(parser, parts);
}

static int parse_argument(struct parser *parser, const char *start, const char *end,
                          struct declared_event *event, struct declared_argument *arguments)
{
    struct arena *arena = &parser->declarations->arena;
    unsigned rules = parser->declarations->rules;
    struct declared_argument *argument;
    struct parts parts;
    char *type;

    while (start < end && c_char_is_blank(*start))
        start++;
    while (end > start && c_char_is_blank(end[-1]))
        end--;
    if (start == end) {
        parser_suggest(parser, event->n_arguments || *end == ','
                                   ? "leave the ',' out"
                                   : "without arguments it is (void)");
        return parser_error(parser, (struct place){start, 0}, "an argument is missing");
    }
    if (end - start == 4 && memcmp(start, "void", 4) == 0)
        return 0;

    parts = take_apart(start, end);
    if (!(rules & DECLARE_ANY_TYPE) && find_stray(parser, &parts) < 0)
        return -EINVAL;
    if (parts.name_len == 0 || parts.type_len == 0 ||
        (parts.type_end == parts.name && parts.type_end[-1] != '*') ||
        (*parts.name >= '0' && *parts.name <= '9'))
        return incomplete(parser, &parts);
    if (event->n_arguments == DECLARED_ARGUMENTS_MAX) {
        parser_suggest(parser, "pass what belongs together as one, or declare two events");
        return parser_error(parser, (struct place){start, (size_t)(end - start)},
                            "the event '%.*s' has more than %d arguments", CUT(strlen(event->name)),
                            event->name, DECLARED_ARGUMENTS_MAX);
    }

    argument = &arguments[event->n_arguments];
    argument->c = c_type_parse(start, parts.type_len);
    if (!(rules & DECLARE_ANY_TYPE)) {
        if (argument->c.unknown && !is_tcg_type(event, &parts))
            return wrong_type(parser, &parts);
        if ((rules & DECLARE_GENERATE) && check_for_code(parser, &parts, event, arguments) < 0)
            return -EINVAL;
        if (argument->c.invalid)
            return wrong_mix(parser, &parts);
    }
    type = arena_alloc(arena, 2 * parts.type_len + 1);
    argument->name = arena_strndup(arena, parts.name, parts.name_len);
    if (!type || !argument->name)
        return -ENOMEM;
    c_type_normalise(start, parts.type_len, type);
    argument->type = type;
    event->n_arguments++;
    return 0;
}

/* The ')' after the arguments; NULL: it is missing. */
static const char *find_close(const char *p, const char *end)
{
    const char *close = memchr(p, ')', (size_t)(end - p));
    const char *quote = close ? memchr(p, '"', (size_t)(close - p)) : NULL;

    return quote ? NULL : close;
}

static int no_close(struct parser *parser)
{
    const char *at = memchr(parser->p, '"', (size_t)(parser->end - parser->p));

    if (!at)
        at = parser->end;
    while (at > parser->p && c_char_is_blank(at[-1]))
        at--;
    parser_suggest(parser, "write ')' after the arguments");
    return parser_error(parser, (struct place){at, 0}, "a ')' is missing");
}

int parser_arguments(struct parser *parser, struct declared_event *event)
{
    struct declared_argument arguments[DECLARED_ARGUMENTS_MAX];
    const char *close = find_close(parser->p, parser->end);
    int r = 0;

    if (!close)
        return no_close(parser);
    for (;;) {
        const char *comma = memchr(parser->p, ',', (size_t)(close - parser->p));
        int k = parse_argument(parser, parser->p, comma ? comma : close, event, arguments);

        if (k == -ENOMEM)
            return k;
        r = MIN(r, k);
        if (!comma)
            break;
        parser->p = comma + 1;
    }
    parser->p = close + 1;
    event->arguments = arena_memdup(&parser->declarations->arena, arguments,
                                    event->n_arguments * sizeof *arguments);
    return event->arguments ? r : -ENOMEM;
}
