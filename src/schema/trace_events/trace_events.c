/* SPDX-License-Identifier: MIT */
/* trace-events files: a line, its properties and its name. */
#include "schema/trace_events/trace_events.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/suggest.h"
#include "schema/trace_events/parser.h"

void parser_suggest(struct parser *parser, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(parser->instead, sizeof parser->instead, format, args);
    va_end(args);
}

static void report_problem(struct parser *parser, struct declaration_problem *problem,
                           struct place place)
{
    problem->file = parser->file;
    problem->line = parser->number;
    problem->column = (uint32_t)(place.p - parser->line) + 1;
    problem->length = (uint32_t)place.len;
    problem->instead = *parser->instead ? parser->instead : NULL;
    problem->text = parser->line;
    problem->text_len = (size_t)(parser->end - parser->line);
    if (!problem->warning) {
        parser->errors++;
        error_on_line(parser->error, -EINVAL, parser->file, parser->number, "column %u: %s%s%s",
                      problem->column, problem->what, problem->instead ? "; " : "",
                      parser->instead);
    }
    if (parser->report)
        parser->report(parser->arg, problem);
    *parser->instead = '\0';
}

int parser_error(struct parser *parser, struct place place, const char *format, ...)
{
    char what[sizeof parser->error->what];
    struct declaration_problem problem = {.what = what};
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    report_problem(parser, &problem, place);
    return -EINVAL;
}

void parser_warn(struct parser *parser, struct place place, const char *format, ...)
{
    char what[sizeof parser->error->what];
    struct declaration_problem problem = {.what = what, .warning = true};
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    report_problem(parser, &problem, place);
}

unsigned declaration_rules_of_qemu(unsigned major, unsigned minor)
{
    unsigned version = major * 100 + minor;
    unsigned rules = DECLARE_GENERATE;

    if (version >= 702)
        rules |= DECLARE_NO_TCG;
    if (version >= 1000)
        rules |= DECLARE_NO_NEWLINE;
    if (version >= 1002)
        rules |= DECLARE_NO_VCPU;
    if (version > 0 && version < 1000)
        rules |= DECLARE_COMMA_PARTS;
    return rules;
}

static const struct {
    const char *name;
    enum declared_property property;
    enum declaration_rules forbidden_by;
    const char *past; /* what is said where it is forbidden */
} properties[] = {
    {"disable", PROPERTY_DISABLE, 0, NULL},
    {"vcpu", PROPERTY_VCPU, DECLARE_NO_VCPU, "is one of QEMU 10.0 and older"},
    {"tcg", PROPERTY_TCG, DECLARE_NO_TCG, "is one of QEMU before 7.2"},
};

/* Suggests a property for words of C, for "disabled", and for its opposite. */
static void suggest_property(struct parser *parser, const char *word, size_t len)
{
    static const char *const c_words[] = {"void", "static", "inline",   "extern", "int",
                                          "bool", "char",   "unsigned", "long",   NULL};
    static const char *const nothing[] = {"enable", "enabled", "event", "trace", "on", NULL};
    const char *candidates[ARRAY_SIZE(properties) + 1] = {NULL};
    char lower[16] = "";
    unsigned n = 0;
    const char *meant;

    for (size_t i = 0; c_words[i]; i++)
        if (suggest_distance(word, len, c_words[i], strlen(c_words[i])) == 0) {
            parser_suggest(parser, "remove it: an event returns nothing");
            return;
        }
    for (size_t i = 0; nothing[i]; i++)
        if (suggest_distance(word, len, nothing[i], strlen(nothing[i])) == 0) {
            parser_suggest(parser, "leave it out: only what is off is marked, by 'disable'");
            return;
        }
    for (size_t i = 0; i < ARRAY_SIZE(properties); i++)
        if (!(parser->declarations->rules & properties[i].forbidden_by))
            candidates[n++] = properties[i].name;
    for (size_t i = 0; i < len && i < sizeof lower - 1; i++)
        lower[i] = (char)(word[i] | 0x20);
    meant = suggest_find(lower, MIN(len, sizeof lower - 1), candidates);
    if (len >= 7 && memcmp(lower, "disable", 7) == 0)
        meant = "disable";
    if (meant)
        parser_suggest(parser, "write '%s'", meant);
    else if (n == 1)
        parser_suggest(parser, "the only property is 'disable'");
    else
        parser_suggest(parser, "there are 'disable'%s%s%s", n == 3 ? ", 'vcpu'" : "", " and ",
                       n == 3 ? "'tcg'" : "'vcpu'");
}

static int parse_property(struct parser *parser, const char *word, size_t len, unsigned *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
        if (strlen(properties[i].name) != len || memcmp(word, properties[i].name, len) != 0)
            continue;
        *ret |= properties[i].property;
        if (!(parser->declarations->rules & properties[i].forbidden_by))
            return 0;
        parser_suggest(parser, properties[i].property == PROPERTY_VCPU
                                   ? "leave it out and pass the vCPU as an argument"
                                   : "leave it out");
        return parser_error(parser, (struct place){word, len}, "the property '%s' %s",
                            properties[i].name, properties[i].past);
    }
    suggest_property(parser, word, len);
    return parser_error(parser, (struct place){word, len}, "unknown property '%.*s'", CUT(len),
                        word);
}

/* Whether the LEN bytes at WORD and what follows, up to a parenthesis, look like a misspelled name. */
static bool is_bad_name(struct parser *parser, const char *word, size_t len)
{
    const char *end = word + len;

    while (end < parser->end && !c_char_is_blank(*end) && *end != '(' && *end != '"')
        end++;
    if (end == parser->end || *end != '(' || end == word + len)
        return false;
    parser_suggest(parser, "a name is made of A-Z, a-z, 0-9 and '_'");
    len = (size_t)(end - word);
    parser_error(parser, (struct place){word, len}, "invalid name '%.*s'", CUT(len), word);
    return true;
}

/* Where a name should be and is not. */
static int no_name(struct parser *parser)
{
    const char *p = parser->p;
    size_t left = (size_t)(parser->end - p);

    if (left > 1 && *p == '/' && (p[1] == '/' || p[1] == '*')) {
        parser_suggest(parser, "write '#'");
        return parser_error(parser, (struct place){p, 2}, "a comment begins with '#'");
    }
    if (is_bad_name(parser, p, 0))
        return -EINVAL;
    if (left > 0 && *p == '"')
        parser_suggest(parser, "write an event and its format in one line");
    return parser_error(parser, (struct place){p, 0}, "expected the name of an event");
}

/* Reports that the '(' is missing after the LEN bytes at WORD. */
static int no_parenthesis(struct parser *parser, const char *word, size_t len)
{
    const char *end = word + len;

    if (parser->p > end && parser->p < parser->end && *parser->p == '(') {
        parser_suggest(parser, "write '%.*s('", CUT(len), word);
        return parser_error(parser, (struct place){end, (size_t)(parser->p - end)},
                            "a blank between the event's name and the '('");
    }
    if (is_bad_name(parser, word, len) || (parser->p > end && is_bad_name(parser, parser->p, 0)))
        return -EINVAL;
    if (end == parser->end)
        parser_suggest(parser, "without arguments it is '%.*s(void)'", CUT(len), word);
    return parser_error(parser, (struct place){end, 0},
                        "expected '(' directly after the event's name '%.*s'", CUT(len), word);
}

/* Checks what tracetool does not accept, and where names that begin with a digit would end. */
static int check_head(struct parser *parser, struct place name)
{
    if (name.p == parser->line + 1) {
        parser_suggest(parser, "begin the line with '%.*s('", CUT(name.len), name.p);
        return parser_error(parser, (struct place){parser->line, 1},
                            "one blank in front of the name, which QEMU's tracetool rejects");
    }
    if (*name.p >= '0' && *name.p <= '9') {
        parser_suggest(parser, "begin it with a letter");
        return parser_error(parser, name, "invalid name '%.*s': it begins with a digit",
                            CUT(name.len), name.p);
    }
    return 0;
}

/* [property …] name, including the '('. */
static int parse_head(struct parser *parser, struct declared_event *event)
{
    int r = 0, k;

    for (;;) {
        const char *word;
        size_t len;

        parser_skip_blanks(parser);
        word = parser->p;
        len = parser_word_length(word, parser->end);
        if (len == 0)
            return no_name(parser);
        parser->p += len;
        if (parser->p < parser->end && *parser->p == '(') {
            struct place name = {word, len};

            event->name = arena_strndup(&parser->declarations->arena, word, len);
            parser->p++;
            if (!event->name)
                return -ENOMEM;
            if (!(parser->declarations->rules & DECLARE_GENERATE))
                return r;
            if (check_head(parser, name) < 0)
                return -EINVAL;
            k = parser_check_name(parser, name, event);
            return MIN(r, k);
        }

        parser_skip_blanks(parser);
        if (parser->p == parser->end || !c_char_is_word(*parser->p))
            return no_parenthesis(parser, word, len);
        if (parse_property(parser, word, len, &event->properties) < 0)
            r = -EINVAL;
    }
}

/* What the map of names points to. */
struct first {
    const char *name;
    const char *file;
    uint32_t line;
};

static int second(struct parser *parser, struct place name, const char *suffix,
                  const struct declared_event *event, const struct first *first)
{
    char what[160];
    struct declaration_problem problem = {
        .what = what,
        .first_file = first->file,
        .first_line = first->line,
    };

    snprintf(what, sizeof what, "the event '%.*s%s' is declared a second time", CUT(name.len),
             name.p, suffix);
    if (strcmp(first->name, event->name) != 0)
        parser_suggest(parser, "upper and lower case are one: '%.80s'", first->name);
    report_problem(parser, &problem, name);
    return -EINVAL;
}

static int check_key(struct parser *parser, struct place name, const char *suffix,
                     const struct declared_event *event)
{
    struct declarations *declarations = parser->declarations;
    size_t len = name.len + strlen(suffix);
    char *key = arena_alloc(&declarations->arena, len + 1);
    struct first *first;

    if (!key)
        return -ENOMEM;
    memcpy(key, name.p, name.len);
    memcpy(key + name.len, suffix, strlen(suffix));
    for (size_t i = 0; i < len; i++)
        if (key[i] >= 'a' && key[i] <= 'z')
            key[i] = (char)(key[i] - 'a' + 'A');
    first = map_get_str(&declarations->names, key, len);
    if (first)
        return second(parser, name, suffix, event, first);
    first = arena_alloc(&declarations->arena, sizeof *first);
    if (!first)
        return -ENOMEM;
    *first = (struct first){event->name, parser->file, parser->number};
    return map_put_str(&declarations->names, key, len, first);
}

/* Each event has a macro TRACE_NAME_ENABLED, so that upper and lower case are one. */
int parser_check_name(struct parser *parser, struct place name, const struct declared_event *event)
{
    int r;

    if (!(event->properties & PROPERTY_TCG))
        return check_key(parser, name, "", event);
    r = check_key(parser, name, "_trans", event);
    return r < 0 ? r : check_key(parser, name, "_exec", event);
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

/* Reports all problems of a line together, of arguments and of formats.
 *
 * Additions to the language would be comments to QEMU's tracetool, so that one file does for both: a
 * line that begins with "#:" says more about the event after it ("#: limit name 32"). It would be
 * parsed where check_bytes() (file.c) skips comments, kept in the parser until the
 * event is there, and put into members of `declared_argument` at the end of this function. */
int parser_line(struct parser *parser)
{
    struct declared_event event = {.file = parser->file, .line = parser->number};
    int r, k;

    r = parse_head(parser, &event);
    if (r == -ENOMEM || !event.name || (r < 0 && !parser->report))
        return r;
    k = parser_arguments(parser, &event);
    if (k == -ENOMEM || !event.arguments || (k < 0 && !parser->report))
        return k;
    r = MIN(r, k);
    k = parser_formats(parser, &event, r >= 0);
    r = MIN(r, k);
    return r < 0 ? r : add_event(parser->declarations, &event);
}
