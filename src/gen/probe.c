/* SPDX-License-Identifier: MIT */
#include "gen/probe.h"

#include <string.h>

#include "event/spec.h"

const char *gen_format_meaning(const struct gen_event *event)
{
    const struct declared_event *declared = event->declared;

    return event->part == GEN_TRANS ? declared->format_trans : declared->format;
}

static bool is_field(const struct gen_event *event, const char *name, size_t len, unsigned n_bars)
{
    for (unsigned i = 0; i < event->n_arguments; i++) {
        const char *field = event->arguments[i].field;

        if (strncmp(field, name, len) == 0 && strspn(field + len, "_") == n_bars &&
            field[len + n_bars] == '\0')
            return true;
    }
    return false;
}

void gen_put_free_name(struct text *out, const struct gen_event *event,
                       const struct gen_argument *argument, bool (*reserved)(const char *name))
{
    const char *name = argument->field;
    size_t len = strlen(name);
    unsigned n_bars = 0;

    text_put(out, name, len);
    if (!reserved(name))
        return;
    do {
        text_put_char(out, '_');
        n_bars++;
    } while (is_field(event, name, len, n_bars));
}

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* ---- Names ---- */

/* True for macros of gcc and clang without a standard option (-std=c11), and macros of libc. */
static bool is_macro(const char *name)
{
    static const char *const macros[] = {
        "EOF",    "NULL",  "errno",  "false", "i386", "linux",
        "stderr", "stdin", "stdout", "true",  "unix",
    };

    for (size_t i = 0; i < ARRAY_SIZE(macros); i++)
        if (strcmp(macros[i], name) == 0)
            return true;
    return false;
}

bool gen_name_is_macro(const struct gen_state *state)
{
    return is_macro(state->event->name);
}

static const char *provider(struct gen_state *state)
{
    const char *name = state->job->provider             ? state->job->provider
                       : state->job->target == GEN_QEMU ? "qemu"
                                                        : state->group;

    if (is_macro(name))
        gen_state_fail(state, NULL, 0,
                       "'%s' cannot be the provider of probes: compilers define a macro of that "
                       "name; use --provider=NAME",
                       name);
    return name;
}

void gen_put_provider(struct gen_state *state)
{
    text_put_str(state->out, provider(state));
}

void gen_put_provider_upper(struct gen_state *state)
{
    for (const char *p = provider(state); *p; p++)
        text_put_char(state->out, upper(*p));
}

void gen_put_probe_macro(struct gen_state *state)
{
    for (const char *p = state->event->name; *p; p++) {
        text_put_char(state->out, upper(*p));
        if (p[0] == '_' && p[1] == '_')
            p++;
    }
}

/* ---- dtrace's language ---- */

static bool is_reserved_in_d(const char *name)
{
    static const char *const words[] = {
        "auto",     "break",    "case",     "char",   "const",  "continue",   "counter", "default",
        "do",       "double",   "else",     "enum",   "extern", "float",      "for",     "goto",
        "if",       "import",   "inline",   "int",    "long",   "offsetof",   "probe",   "provider",
        "register", "restrict", "return",   "self",   "short",  "signed",     "sizeof",  "static",
        "string",   "stringof", "struct",   "switch", "this",   "translator", "typedef", "union",
        "unsigned", "void",     "volatile", "while",  "xlate",
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static bool begins(const char *s, const char *word)
{
    return strncmp(s, word, strlen(word)) == 0;
}

/* The dtrace of SystemTap knows "[const|unsigned|struct] WORD [const] [stars]", and warns about, and
 * then guesses, what goes beyond that. TYPE has one blank between words and in front of stars. */
static bool d_knows(const char *type)
{
    static const char *const first[] = {"const ", "struct ", "unsigned "};
    const char *rest = type;

    for (size_t i = 0; i < ARRAY_SIZE(first) && rest == type; i++)
        if (begins(type, first[i]))
            rest += strlen(first[i]);
    if (rest == type && (strcmp(type, "unsigned") == 0 || strcmp(type, "signed") == 0))
        return false;
    if (*rest == '*')
        return false;
    rest += strcspn(rest, " *");
    if (begins(rest, " const") && (rest[6] == ' ' || rest[6] == '*' || rest[6] == '\0'))
        rest += 6;
    rest += strspn(rest, " ");
    rest += strspn(rest, "*");
    return *rest == '\0';
}

/* TYPE, or one of the same size and sign that dtrace knows. */
static const char *d_type(const struct gen_argument *argument)
{
    static const struct {
        uint8_t size;
        const char *of_unsigned;
        const char *of_signed;
    } numbers[] = {
        {1, "uint8_t", "int8_t"},
        {2, "uint16_t", "int16_t"},
        {4, "uint32_t", "int32_t"},
        {8, "uint64_t", "int64_t"},
    };

    if (d_knows(argument->type))
        return argument->type;
    if (argument->c.is_pointer)
        return strstr(argument->type, "const") ? "const void *" : "void *";
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (numbers[i].size == argument->c.size)
            return argument->c.is_signed ? numbers[i].of_signed : numbers[i].of_unsigned;
    return argument->type;
}

void gen_put_d_params(struct gen_state *state)
{
    const struct gen_event *event = state->event;

    for (unsigned i = 0; i < event->n_arguments; i++) {
        const char *type = d_type(&event->arguments[i]);

        if (i > 0)
            text_put_literal(state->out, ", ");
        text_put_str(state->out, type);
        if (type[strlen(type) - 1] != '*')
            text_put_char(state->out, ' ');
        gen_put_free_name(state->out, event, &event->arguments[i], is_reserved_in_d);
    }
}

bool gen_all_disabled(const struct gen_state *state)
{
    for (unsigned i = 0; i < state->events->n; i++)
        if (!(state->events->items[i].declared->properties & PROPERTY_DISABLE))
            return false;
    return true;
}

/* ---- LTTng ---- */

#define UST_ARGUMENTS_MAX 10

void gen_put_ust_args(struct gen_state *state)
{
    const struct gen_event *event = state->event;

    if (event->n_arguments > UST_ARGUMENTS_MAX)
        gen_state_fail(state, event->declared->file, event->declared->line,
                       "a tracepoint of LTTng has %d arguments at most, '%s' has %u with the vCPU",
                       UST_ARGUMENTS_MAX, event->name, event->n_arguments);
    for (unsigned i = 0; i < event->n_arguments; i++)
        text_printf(state->out, "%s%s, %s", i > 0 ? ", " : "", event->arguments[i].type,
                    event->arguments[i].name);
}

/* The name goes through macros on its way. */
void gen_put_ust_field(struct gen_state *state)
{
    const struct gen_argument *argument = state->argument;

    text_put_str(state->out, is_macro(argument->field) ? argument->name : argument->field);
}

/* Uses the output's own name, if it has one; for the C file, with ".h". */
void gen_put_ust_header(struct gen_state *state)
{
    const char *output = state->job->output_name;
    const char *name;
    size_t len;

    if (!output || strcmp(output, "-") == 0) {
        text_put_literal(state->out, "trace-ust-");
        text_put_str(state->out, state->job->group ? state->job->group : "all");
        text_put_literal(state->out, ".h");
        return;
    }
    name = strrchr(output, '/');
    name = name ? name + 1 : output;
    len = strlen(name);
    if (len > 2 && strcmp(name + len - 2, ".c") == 0)
        len -= 2;
    else if (len > 2 && strcmp(name + len - 2, ".h") == 0)
        len -= 2;
    text_put(state->out, name, len);
    text_put_literal(state->out, ".h");
}

bool gen_in_hex(const struct gen_state *state)
{
    const struct gen_event *event = state->event;
    unsigned wanted = (unsigned)(state->argument - event->arguments);
    unsigned next = event->declared->properties & PROPERTY_VCPU ? 1 : 0;
    const char *format = gen_format_meaning(event);

    if (!format || wanted < next)
        return false;
    while (*format) {
        struct spec spec;
        const char *behind = *format == '%' ? spec_parse(format, &spec) : NULL;

        if (!behind) {
            format++;
            continue;
        }
        format = behind;
        if (spec.conversion == '%')
            continue;
        next += spec.width_star + spec.precision_star;
        if (next++ == wanted)
            return strchr("xXp", spec.conversion) != NULL;
    }
    return false;
}
