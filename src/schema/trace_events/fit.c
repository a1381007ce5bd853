/* SPDX-License-Identifier: MIT */
/* trace-events files: whether a format fits its arguments, as a compiler's -Wformat has it. */
#include <stdio.h>

#include "event/spec.h"
#include "schema/trace_events/c_literal.h"
#include "schema/trace_events/parser.h"

struct fit {
    struct parser *parser;
    const struct declared_event *event;
    const char *format;
    const char *start; /* of the source */
    const char *end;
    bool translation; /* without the arguments of TCG's types */
    unsigned next;    /* argument */
};

static struct place place_of(const struct fit *fit, const char *p, const char *end)
{
    const char *start = c_literal_place(fit->start, fit->end, (size_t)(p - fit->format));
    const char *last = c_literal_place(fit->start, fit->end, (size_t)(end - 1 - fit->format));

    size_t len = 1;

    /* A macro is underlined as a whole, a literal's last character by itself. */
    if (fit->end - last >= 3 && memcmp(last, "PRI", 3) == 0)
        len = parser_word_length(last, fit->end);
    return (struct place){start, (size_t)(last - start) + len};
}

/* The next argument that this format is for; NULL: there are no more. */
static const struct declared_argument *next_argument(struct fit *fit)
{
    while (fit->next < fit->event->n_arguments) {
        const struct declared_argument *argument = &fit->event->arguments[fit->next++];

        if (!fit->translation || !argument->c.unknown)
            return argument;
    }
    return NULL;
}

/* An error if code that formats the event would read beyond its arguments; not for events that are compiled out, which
 * are never formatted. */
static int fatal(struct fit *fit, struct place place, const char *what)
{
    if (!(fit->parser->declarations->rules & DECLARE_FORMATS_FIT) ||
        (fit->event->properties & PROPERTY_DISABLE)) {
        parser_warn(fit->parser, place, "%s", what);
        return 0;
    }
    return parser_error(fit->parser, place, "%s", what);
}

/* True if a pointer is to characters; C has three kinds of them. */
static bool is_characters(const struct declared_argument *argument)
{
    const char *star = strchr(argument->type, '*');
    struct c_type pointed;

    if (!star || strchr(star + 1, '*'))
        return false;
    pointed = c_type_parse(argument->type, (size_t)(star - argument->type));
    return pointed.size == 1 && !pointed.is_bool;
}

static bool is_number(char conversion)
{
    return conversion && strchr("diouxX", conversion);
}

static bool fits(const struct spec *spec, const struct declared_argument *argument)
{
    const struct c_type *c = &argument->c;

    if (c->unknown)
        return true;
    if (is_number(spec->conversion))
        return !c->is_pointer && (spec->length == LENGTH_LONG) == (c->size == 8);
    switch (spec->conversion) {
    case 'c': return !c->is_pointer && c->size <= 4;
    case 's': return spec->length != LENGTH_LONG && is_characters(argument);
    case 'p': return c->is_pointer;
    default: return false; /* no argument is a floating point number */
    }
}

/* How an argument is written in a format; CONVERSION is what was tried. */
static void suggest(struct parser *parser, const struct declared_argument *argument,
                    char conversion)
{
    static const struct {
        const char *type;
        const char *macro;  /* after the "PRI" and the conversion, or */
        const char *length; /* the length in front of it */
    } types[] = {
        {"int64_t", "64", NULL},   {"uint64_t", "64", NULL}, {"uintptr_t", "PTR", NULL},
        {"ssize_t", NULL, "z"},    {"size_t", NULL, "z"},    {"ptrdiff_t", NULL, "t"},
        {"long long", NULL, "ll"}, {"long", NULL, "l"},
    };
    const struct c_type *c = &argument->c;

    if (is_characters(argument)) {
        parser_suggest(parser, "write '%%s', or '%%p' for the address");
        return;
    }
    if (c->is_pointer) {
        parser_suggest(parser, "write '%%p'");
        return;
    }
    if (!is_number(conversion) || strchr("diu", conversion))
        conversion = c->is_signed || c->is_bool ? 'd' : 'u';
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const char *found = strstr(argument->type, types[i].type);

        if (!found || (found > argument->type && c_char_is_word(found[-1])))
            continue;
        if (types[i].macro)
            parser_suggest(parser, "write '%%\" PRI%c%s \"'", conversion, types[i].macro);
        else
            parser_suggest(parser, "write '%%%s%c'", types[i].length, conversion);
        return;
    }
    parser_suggest(parser, "write '%%%c'", conversion);
}

static const char *taken_by(const struct spec *spec)
{
    if (is_number(spec->conversion))
        return spec->length == LENGTH_LONG ? "a long" : "an int";
    switch (spec->conversion) {
    case 'c': return "a character";
    case 's': return spec->length == LENGTH_LONG ? "a string of wchar_t" : "a string";
    case 'p': return "a pointer";
    default: return "a floating point number";
    }
}

static void star_does_not_fit(struct fit *fit, struct place place,
                              const struct declared_argument *argument)
{
    parser_warn(fit->parser, place, "the '*' of '%.*s' requires an int, but '%.80s' is '%.80s'",
                CUT(place.len), place.p, argument->name, argument->type);
}

static int no_argument(struct fit *fit, struct place place)
{
    char what[160];

    parser_suggest(fit->parser, "add an argument, or write '%%%%' for a percent sign");
    snprintf(what, sizeof what, "no argument for '%.*s'", CUT(place.len), place.p);
    return fatal(fit, place, what);
}

static int does_not_fit(struct fit *fit, struct place place, const struct spec *spec,
                        const struct declared_argument *argument)
{
    char what[320];

    suggest(fit->parser, argument, spec->conversion);
    snprintf(what, sizeof what, "'%.*s' requires %s, but '%.80s' is '%.80s'", CUT(place.len),
             place.p, taken_by(spec), argument->name, argument->type);
    if (spec->conversion == 's' && !argument->c.is_pointer)
        return fatal(fit, place, what);
    parser_warn(fit->parser, place, "%s", what);
    return 0;
}

/* One conversion, SPEC, from P to END of the format. 1: there are no arguments for what follows. */
static int check_conversion(struct fit *fit, const struct spec *spec, const char *p,
                            const char *end)
{
    const struct declared_argument *argument;

    for (int stars = spec->width_star + spec->precision_star; stars > 0; stars--) {
        argument = next_argument(fit);
        if (!argument)
            break;
        if (argument->c.is_pointer || (!argument->c.unknown && argument->c.size > 4))
            star_does_not_fit(fit, place_of(fit, p, end), argument);
    }
    argument = next_argument(fit);
    if (!argument)
        return no_argument(fit, place_of(fit, p, end)) < 0 ? -EINVAL : 1;
    return fits(spec, argument) ? 0 : does_not_fit(fit, place_of(fit, p, end), spec, argument);
}

/* A '%' at P that begins nothing which could be compared. */
static int strange_conversion(struct fit *fit, const char *p)
{
    const char *letter = p + 1 + strspn(p + 1, "-+ #'0123456789.*$hlqjztLI");
    struct place place = place_of(fit, p, *letter ? letter + 1 : letter);

    if (*letter == 'n') {
        parser_suggest(fit->parser, "leave it out");
        return fatal(fit, place, "'%n' writes into memory");
    }
    if (*letter == '\0')
        parser_suggest(fit->parser, "write '%%%%' for a percent sign");
    else if (strncmp(letter, "PRI", 3) == 0)
        parser_suggest(fit->parser, "a macro must be outside of the quotes: '\"%%\" PRIx64'");
    parser_warn(fit->parser, place, "unknown conversion '%.*s'", CUT(place.len), place.p);
    return 0;
}

int parser_check_fit(struct parser *parser, const struct declared_event *event, bool translation,
                     const char *format, const char *start, const char *end)
{
    struct fit fit = {
        .parser = parser,
        .event = event,
        .format = format,
        .start = start,
        .end = end,
        .translation = translation,
    };
    const struct declared_argument *argument;
    int r = 0;

    for (const char *p = format; (p = strchr(p, '%'));) {
        struct spec spec;
        const char *next = spec_parse(p, &spec);
        int k;

        if (!next) {
            k = strange_conversion(&fit, p);
            return MIN(r, k);
        }
        k = spec.conversion == '%' ? 0 : check_conversion(&fit, &spec, p, next);
        if (k > 0)
            return r;
        r = MIN(r, k);
        p = next;
    }
    argument = next_argument(&fit);
    if (argument && r >= 0) {
        parser_suggest(parser, "name it in the format, or leave it out");
        parser_warn(parser, (struct place){start, (size_t)(end - start)},
                    "the format has no conversion for the argument '%.80s'", argument->name);
    }
    return r;
}
