/* SPDX-License-Identifier: MIT */
#include "gen/stap.h"

#include <string.h>

#include "event/spec.h"
#include "gen/probe.h"

/* Words that name no variable in stap: its keywords (`self` is said to become one), its printing
 * functions, which are part of the grammar, and what its own tapsets make global for every script. */
static const char *const reserved[] = {
    "argc",      "argv",    "break",    "catch",      "continue", "delete",   "else",
    "for",       "foreach", "function", "global",     "if",       "in",       "limit",
    "long",      "next",    "print",    "print_char", "printd",   "printdln", "printf",
    "println",   "private", "probe",    "return",     "self",     "sprint",   "sprintd",
    "sprintdln", "sprintf", "sprintln", "string",     "try",      "while",
};

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
        if (strcmp(reserved[i], name) == 0)
            return true;
    /* argv_1 and so on */
    return strncmp(name, "argv_", 5) == 0 && name[5] >= '0' && name[5] <= '9';
}

static void put_name(struct text *out, const struct gen_event *event,
                     const struct gen_argument *argument)
{
    gen_put_free_name(out, event, argument, is_reserved);
}

void gen_put_stap_arg(struct gen_state *state)
{
    put_name(state->out, state->event, state->argument);
}

/* ---- Formats ----
 *
 * A format is walked once for each thing that is asked of it; PUT_… says what. */

enum walk_for {
    PUT_FORMAT,
    PUT_VALUES,
    FIND_TEXT, /* of one argument */
};

struct walk {
    enum walk_for what;
    const struct gen_event *event;
    struct text *out;
    unsigned next; /* argument */
    const struct gen_argument *wanted;
    bool found;
};

static const char *source(const struct gen_event *event)
{
    const struct declared_event *declared = event->declared;

    return event->part == GEN_TRANS ? declared->format_trans_source : declared->format_source;
}

/* One byte of a literal, inside of quotes. */
static void put_literal(struct walk *walk, char c)
{
    if (walk->what != PUT_FORMAT)
        return;
    if (c == '"' || c == '\\') {
        text_put_char(walk->out, '\\');
        text_put_char(walk->out, c);
    } else if (c == '\n') {
        text_put_literal(walk->out, "\\n");
    } else if (c == '\t') {
        text_put_literal(walk->out, "\\t");
    } else if ((unsigned char)c < ' ' || c == 0x7f) {
        text_printf(walk->out, "\\%03o", (unsigned)c);
    } else {
        text_put_char(walk->out, c);
    }
}

static void put_format(struct walk *walk, const char *s)
{
    if (walk->what == PUT_FORMAT)
        text_put_str(walk->out, s);
}

static const struct gen_argument *take(struct walk *walk)
{
    return walk->next < walk->event->n_arguments ? &walk->event->arguments[walk->next++] : NULL;
}

static void put_value(struct walk *walk, const struct gen_argument *argument)
{
    if (walk->what != PUT_VALUES)
        return;
    text_put_literal(walk->out, ", ");
    put_name(walk->out, walk->event, argument);
}

/* A star, which takes a value of its own. */
static void walk_star(struct walk *walk)
{
    const struct gen_argument *argument = take(walk);

    if (!argument)
        return;
    put_format(walk, "*");
    put_value(walk, argument);
}

static void walk_flags(struct walk *walk, const struct spec *spec)
{
    put_format(walk, "%");
    if (spec->left)
        put_format(walk, "-");
    if (spec->plus)
        put_format(walk, "+");
    if (spec->space)
        put_format(walk, " ");
    if (spec->alternate)
        put_format(walk, "#");
    if (spec->zero)
        put_format(walk, "0");
    if (spec->width_star)
        walk_star(walk);
    else if (spec->width > 0 && walk->what == PUT_FORMAT)
        text_put_u64(walk->out, spec->width);
    if (!spec->has_precision)
        return;
    put_format(walk, ".");
    if (spec->precision_star)
        walk_star(walk);
    else if (walk->what == PUT_FORMAT)
        text_put_u64(walk->out, spec->precision);
}

static bool is_signed_conversion(char conversion)
{
    return conversion == 'd' || conversion == 'i';
}

/* In stap every number has 64 bits, so what C's printf cuts to the size that is asked for must be cut
 * here, unless the type already has no more values. */
static void walk_number(struct walk *walk, const struct spec *spec,
                        const struct gen_argument *argument)
{
    unsigned bits = spec_size(spec) * 8;
    unsigned type_bits = argument->c.size * 8U;
    bool type_signed = argument->c.is_signed && !argument->c.is_pointer;

    if (walk->what != PUT_VALUES)
        return;
    if (bits == 64 || type_bits == 0 || spec->conversion == 'c' || spec->conversion == 'p') {
        put_value(walk, argument);
    } else if (is_signed_conversion(spec->conversion)) {
        bool fits = type_signed ? type_bits <= bits : type_bits < bits;

        text_put_literal(walk->out, ", ");
        if (!fits)
            text_put_char(walk->out, '(');
        put_name(walk->out, walk->event, argument);
        if (!fits)
            text_printf(walk->out, " << %u) >> %u", 64 - bits, 64 - bits);
    } else {
        put_value(walk, argument);
        if (type_signed || type_bits > bits)
            text_printf(walk->out, " & 0x%llx", (1ULL << bits) - 1);
    }
}

static void walk_text(struct walk *walk, const struct gen_argument *argument)
{
    if (argument == walk->wanted)
        walk->found = true;
    if (walk->what == PUT_VALUES)
        text_printf(walk->out, ", __str%u", (unsigned)(argument - walk->event->arguments) + 1);
}

static void walk_conversion(struct walk *walk, const struct spec *spec)
{
    char conversion[2] = {spec->conversion, '\0'};
    const struct gen_argument *argument;

    if (spec->conversion == '%') {
        put_format(walk, "%%");
        return;
    }
    /* More conversions than arguments, which no compiler would take: as text. */
    if (walk->next + spec->width_star + spec->precision_star >= walk->event->n_arguments) {
        put_format(walk, "%%");
        put_format(walk, conversion);
        walk->next = walk->event->n_arguments;
        return;
    }
    walk_flags(walk, spec);
    argument = take(walk);
    if (spec->conversion == 's' && argument->c.is_pointer) {
        put_format(walk, "s");
        walk_text(walk, argument);
    } else if (strchr("diouxXcp", spec->conversion)) {
        put_format(walk, conversion);
        walk_number(walk, spec, argument);
    } else {
        /* What stap has no conversion for, and no probe an argument. */
        put_format(walk, "d");
        put_value(walk, argument);
    }
}

static void walk_meaning(struct walk *walk, const char *format)
{
    while (*format) {
        struct spec spec;
        const char *behind = *format == '%' ? spec_parse(format, &spec) : NULL;

        if (behind) {
            walk_conversion(walk, &spec);
            format = behind;
        } else if (*format == '%') {
            put_format(walk, "%%");
            format++;
        } else {
            put_literal(walk, *format++);
        }
    }
}

/* The format holds a macro that is not known here: names and values instead. */
static void walk_without(struct walk *walk)
{
    const struct gen_argument *argument;
    bool first = true;

    while ((argument = take(walk))) {
        const char *conversion = argument->c.is_string    ? "=%s"
                                 : argument->c.is_pointer ? "=%p"
                                                          : "=%d";

        if (!first)
            put_format(walk, " ");
        first = false;
        put_format(walk, argument->field);
        put_format(walk, conversion);
        if (argument->c.is_string)
            walk_text(walk, argument);
        else
            put_value(walk, argument);
    }
}

static void walk_event(struct walk *walk)
{
    const struct gen_event *event = walk->event;

    if (!gen_format_meaning(event) && source(event)) {
        walk_without(walk);
        return;
    }
    if (event->declared->properties & PROPERTY_VCPU)
        walk_meaning(walk, "cpu=%p ");
    if (gen_format_meaning(event))
        walk_meaning(walk, gen_format_meaning(event));
}

void gen_put_stap_format(struct gen_state *state)
{
    walk_event(&(struct walk){.what = PUT_FORMAT, .event = state->event, .out = state->out});
}

void gen_put_stap_values(struct gen_state *state)
{
    walk_event(&(struct walk){.what = PUT_VALUES, .event = state->event, .out = state->out});
}

bool gen_stap_text(const struct gen_state *state)
{
    struct walk walk = {.what = FIND_TEXT, .event = state->event, .wanted = state->argument};

    walk_event(&walk);
    return walk.found;
}

/* ---- Records ---- */

void gen_put_stap_size(struct gen_state *state)
{
    const struct gen_event *event = state->event;
    unsigned size = 24;

    for (unsigned i = 0; i < event->n_arguments; i++)
        size += event->arguments[i].c.is_string ? 4 : 8;
    text_put_u64(state->out, size);
    for (unsigned i = 0; i < event->n_arguments; i++)
        if (event->arguments[i].c.is_string)
            text_printf(state->out, " + __len%u", i + 1);
}
