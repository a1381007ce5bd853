/* SPDX-License-Identifier: MIT */
#include "gen/variables.h"

#include "gen/probe.h"
#include "gen/rust.h"
#include "gen/stap.h"
#include "gen/tcg.h"

#include "event/spec.h"

/* ---- Values ---- */

/* As an identifier in capitals. */
static void put_upper(struct text *out, const char *s)
{
    size_t len = strlen(s);

    while (len > 0) {
        size_t n = MIN(len, (size_t)TEXT_ROOM_MAX);
        char *p = text_room(out, n);

        for (size_t i = 0; i < n; i++)
            p[i] = (char)(s[i] >= 'a' && s[i] <= 'z' ? s[i] - 'a' + 'A' : s[i]);
        out->next = p + n;
        s += n;
        len -= n;
    }
}

/* As the inside of a C string. */
static void put_escaped(struct text *out, const char *s)
{
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\') {
            text_put_char(out, '\\');
            text_put_char(out, *p);
        } else if (c < ' ' || c == 0x7f) {
            text_printf(out, "\\%03o", c);
        } else {
            text_put_char(out, *p);
        }
    }
}

static void put_optional(struct text *out, const char *s)
{
    if (s)
        text_put_str(out, s);
}

/* "int a", "const char *b" */
static void put_declarator(struct text *out, const struct gen_argument *argument)
{
    size_t len = strlen(argument->type);

    text_put(out, argument->type, len);
    if (len > 0 && argument->type[len - 1] != '*')
        text_put_char(out, ' ');
    text_put_str(out, argument->name);
}

static void value_name(struct gen_state *state)
{
    text_put_str(state->out, state->event->name);
}

static void value_name_upper(struct gen_state *state)
{
    put_upper(state->out, state->event->name);
}

static void value_declared_name(struct gen_state *state)
{
    text_put_str(state->out, state->event->declared->name);
}

static void value_declared_name_upper(struct gen_state *state)
{
    put_upper(state->out, state->event->declared->name);
}

static void value_params(struct gen_state *state)
{
    const struct gen_event *event = state->event;

    if (event->n_arguments == 0)
        text_put_literal(state->out, "void");
    for (unsigned i = 0; i < event->n_arguments; i++) {
        if (i > 0)
            text_put_literal(state->out, ", ");
        put_declarator(state->out, &event->arguments[i]);
    }
}

static void value_names(struct gen_state *state)
{
    const struct gen_event *event = state->event;

    for (unsigned i = 0; i < event->n_arguments; i++) {
        if (i > 0)
            text_put_literal(state->out, ", ");
        text_put_str(state->out, event->arguments[i].name);
    }
}

static void value_comma_names(struct gen_state *state)
{
    if (state->event->n_arguments > 0)
        text_put_literal(state->out, ", ");
    value_names(state);
}

static const char *format_source(const struct gen_event *event)
{
    return event->part == GEN_TRANS ? event->declared->format_trans_source
                                    : event->declared->format_source;
}

static void value_format(struct gen_state *state)
{
    const char *source = format_source(state->event);
    bool vcpu = state->event->declared->properties & PROPERTY_VCPU;

    if (vcpu)
        text_put_literal(state->out, "\"cpu=%p \"");
    if (vcpu && source)
        text_put_char(state->out, ' ');
    if (source)
        text_put_str(state->out, source);
    else if (!vcpu)
        text_put_literal(state->out, "\"\"");
}

/* Which arguments the format prints with "%p", a bit each: those are pointers to void for printf. */
static uint32_t printed_as_pointers(const struct gen_event *event)
{
    const char *format =
        event->part == GEN_TRANS ? event->declared->format_trans : event->declared->format;
    unsigned next = 0;
    uint32_t mask = 0;

    if (event->declared->properties & PROPERTY_VCPU)
        mask |= 1u << next++;
    while (format && (format = strchr(format, '%'))) {
        struct spec spec;

        format = spec_parse(format, &spec);
        if (!format)
            break;
        if (spec.conversion == '%')
            continue;
        next += (unsigned)spec.width_star + spec.precision_star;
        if (next >= event->n_arguments)
            break;
        if (spec.conversion == 'p')
            mask |= 1u << next;
        next++;
    }
    return mask;
}

/* What ${format} prints: without one, nothing is printed but the vCPU. */
static void value_comma_printed(struct gen_state *state)
{
    const struct gen_event *event = state->event;
    uint32_t pointers = printed_as_pointers(event);
    bool vcpu = event->declared->properties & PROPERTY_VCPU;
    unsigned n = format_source(event) ? event->n_arguments : vcpu;

    for (unsigned i = 0; i < n; i++) {
        const struct gen_argument *argument = &event->arguments[i];

        text_put_literal(state->out, ", ");
        if ((pointers & (1u << i)) && argument->c.is_pointer &&
            strcmp(argument->type, "void *") != 0 && strcmp(argument->type, "const void *") != 0) {
            /* C++ includes the header, and may be compiled with -Wold-style-cast. */
            if (state->job->target == GEN_STRATA) {
                text_put_literal(state->out, "strata_pointer(");
                text_put_str(state->out, argument->name);
                text_put_literal(state->out, ")");
                continue;
            }
            text_put_literal(state->out, "(const void *)");
        }
        text_put_str(state->out, argument->name);
    }
}

static void value_line(struct gen_state *state)
{
    text_put_u64(state->out, state->event->declared->line);
}

static void value_file(struct gen_state *state)
{
    put_escaped(state->out, state->event->declared->file);
}

static void value_id(struct gen_state *state)
{
    text_put_u64(state->out, state->event->id);
}

static void value_n_arguments(struct gen_state *state)
{
    text_put_u64(state->out, state->event->n_arguments);
}

static void value_arg(struct gen_state *state)
{
    text_put_str(state->out, state->argument->name);
}

static void value_field(struct gen_state *state)
{
    text_put_str(state->out, state->argument->field);
}

static void value_type(struct gen_state *state)
{
    text_put_str(state->out, state->argument->type);
}

static void value_param(struct gen_state *state)
{
    put_declarator(state->out, state->argument);
}

static unsigned argument_index(const struct gen_state *state)
{
    return (unsigned)(state->argument - state->event->arguments);
}

static bool is_last_argument(const struct gen_state *state)
{
    return argument_index(state) + 1 == state->event->n_arguments;
}

static void value_index(struct gen_state *state)
{
    text_put_u64(state->out, argument_index(state) + 1);
}

static void value_size(struct gen_state *state)
{
    const struct gen_argument *argument = state->argument;

    text_put_u64(state->out, argument->c.is_string ? 0 : argument->c.size);
}

static void value_kind(struct gen_state *state)
{
    const struct c_type *c = &state->argument->c;

    text_put_str(state->out, c->is_string    ? "STRATA_FIELD_STRING"
                             : c->is_pointer ? "STRATA_FIELD_POINTER"
                             : c->is_bool    ? "STRATA_FIELD_BOOL"
                             : c->is_signed  ? "STRATA_FIELD_SIGNED"
                                             : "STRATA_FIELD_UNSIGNED");
}

static void value_comma(struct gen_state *state)
{
    if (!is_last_argument(state))
        text_put_char(state->out, ',');
}

static void value_group(struct gen_state *state)
{
    text_put_str(state->out, state->group);
}

static void value_group_upper(struct gen_state *state)
{
    put_upper(state->out, state->group);
}

static void value_group_as_given(struct gen_state *state)
{
    put_escaped(state->out, state->job->group ? state->job->group : "");
}

static void value_header(struct gen_state *state)
{
    if (state->job->header) {
        put_escaped(state->out, state->job->header);
        return;
    }
    text_put_literal(state->out, "trace-");
    value_group_as_given(state);
    text_put_literal(state->out, ".h");
}

static void value_prefix(struct gen_state *state)
{
    put_optional(state->out, state->job->probe_prefix);
}

static void value_binary(struct gen_state *state)
{
    put_optional(state->out, state->job->binary);
}

static void value_n_events(struct gen_state *state)
{
    text_put_u64(state->out, state->events->n);
}

static void value_output(struct gen_state *state)
{
    put_escaped(state->out, state->job->output_name);
}

/* For "#line": the number of the line after the one that has it. */
static void value_next_line(struct gen_state *state)
{
    const char *p = state->out->start + state->counted;
    const char *end = state->out->next;
    uint32_t n = 0;

    if (state->out->error)
        return;
    for (; p < end; p++)
        n += *p == '\n';
    state->n_lines += n;
    state->counted = text_len(state->out);
    text_put_u64(state->out, state->n_lines + 2);
}

/* Sorted by name. */
static const struct gen_value values[] = {
    {"DECLARED_NAME", GEN_EVENT, value_declared_name_upper}, /* without _TRANS, _EXEC */
    {"GROUP", GEN_FILE, value_group_upper},
    {"NAME", GEN_EVENT, value_name_upper},
    {"PROVIDER", GEN_FILE, gen_put_provider_upper},
    {"arg", GEN_ARGUMENT, value_arg}, /* how the code calls it: no C++ keyword */
    {"binary", GEN_FILE, value_binary},
    {"comma", GEN_ARGUMENT, value_comma},              /* "," but for the last */
    {"comma_names", GEN_EVENT, value_comma_names},     /* ", a, b" */
    {"comma_printed", GEN_EVENT, value_comma_printed}, /* the same for printf with ${format} */
    {"d_params", GEN_EVENT, gen_put_d_params},         /* in dtrace's language */
    {"declared_name", GEN_EVENT, value_declared_name},
    {"field", GEN_ARGUMENT, value_field}, /* the name as declared */
    {"file", GEN_EVENT, value_file},      /* of the declaration, inside of a C string */
    {"format", GEN_EVENT, value_format},  /* C source, with the quotes */
    {"group", GEN_FILE, value_group},     /* an identifier */
    {"group_as_given", GEN_FILE, value_group_as_given},
    {"header", GEN_FILE, value_header},   /* what the c format includes */
    {"id", GEN_EVENT, value_id},          /* position in the run, from 0 */
    {"index", GEN_ARGUMENT, value_index}, /* from 1 */
    {"kind", GEN_ARGUMENT, value_kind},   /* enum strata_field_kind */
    {"line", GEN_EVENT, value_line},      /* of the declaration */
    {"n_arguments", GEN_EVENT, value_n_arguments},
    {"n_events", GEN_FILE, value_n_events},
    {"name", GEN_EVENT, value_name},
    {"names", GEN_EVENT, value_names},              /* "a, b" */
    {"next_line", GEN_FILE, value_next_line},       /* of the output, for #line */
    {"output", GEN_FILE, value_output},             /* its name, inside of a C string */
    {"param", GEN_ARGUMENT, value_param},           /* "const char *b" */
    {"params", GEN_EVENT, value_params},            /* "int a, const char *b", "void" */
    {"prefix", GEN_FILE, value_prefix},             /* --probe-prefix */
    {"probe_NAME", GEN_EVENT, gen_put_probe_macro}, /* in the macros of dtrace -h */
    {"provider", GEN_FILE, gen_put_provider},
    {"rust_extern_params", GEN_EVENT, gen_put_rust_extern_params}, /* see gen/rust.h */
    {"rust_params", GEN_EVENT, gen_put_rust_params},
    {"rust_values", GEN_EVENT, gen_put_rust_values},
    {"size", GEN_ARGUMENT, value_size},           /* bytes; 0: a string */
    {"stap_arg", GEN_ARGUMENT, gen_put_stap_arg}, /* no word of stap's */
    {"stap_format", GEN_EVENT, gen_put_stap_format},
    {"stap_size", GEN_EVENT, gen_put_stap_size},             /* of a simpletrace record */
    {"stap_values", GEN_EVENT, gen_put_stap_values},         /* for stap_format */
    {"tcg_comma_kinds", GEN_EVENT, gen_put_tcg_comma_kinds}, /* see gen/tcg.h */
    {"tcg_kind", GEN_ARGUMENT, gen_put_tcg_kind},
    {"tcg_params", GEN_EVENT, gen_put_tcg_params},
    {"tcg_proxy_names", GEN_EVENT, gen_put_tcg_proxy_names},
    {"tcg_proxy_params", GEN_EVENT, gen_put_tcg_proxy_params},
    {"tcg_proxy_values", GEN_EVENT, gen_put_tcg_proxy_values},
    {"tcg_trans_names", GEN_EVENT, gen_put_tcg_trans_names},
    {"tcg_wrapper_names", GEN_EVENT, gen_put_tcg_wrapper_names},
    {"tcg_wrapper_params", GEN_EVENT, gen_put_tcg_wrapper_params},
    {"type", GEN_ARGUMENT, value_type},
    {"ust_args", GEN_EVENT, gen_put_ust_args}, /* "int, a, long, b" */
    {"ust_field", GEN_ARGUMENT, gen_put_ust_field},
    {"ust_header", GEN_FILE, gen_put_ust_header},
};

/* ---- Flags ---- */

static bool flag_disabled(const struct gen_state *state)
{
    return state->event->declared->properties & PROPERTY_DISABLE;
}

static bool flag_vcpu(const struct gen_state *state)
{
    return state->event->declared->properties & PROPERTY_VCPU;
}

static bool flag_tcg(const struct gen_state *state)
{
    return state->event->part != GEN_WHOLE;
}

static bool flag_tcg_trans(const struct gen_state *state)
{
    return state->event->part == GEN_TRANS;
}

static bool flag_tcg_exec(const struct gen_state *state)
{
    return state->event->part == GEN_EXEC;
}

static bool flag_no_arguments(const struct gen_state *state)
{
    return state->event->n_arguments == 0;
}

static bool flag_has_format(const struct gen_state *state)
{
    return format_source(state->event) ||
           (state->event->declared->properties & PROPERTY_VCPU && state->event->n_arguments == 1);
}

static bool flag_any_event_section(const struct gen_state *state)
{
    return state->any_event_section;
}

static bool flag_goes_by_state(const struct gen_state *state)
{
    return state->goes_by_state;
}

static bool flag_any_backend(const struct gen_state *state)
{
    return state->any_backend;
}

/* Calls of it generate code: it is not disabled and there is a backend for it. */
static bool flag_compiled_in(const struct gen_state *state)
{
    return state->any_backend && !flag_disabled(state);
}

static bool flag_any_vcpu(const struct gen_state *state)
{
    for (unsigned i = 0; i < state->events->n; i++)
        if (state->events->items[i].declared->properties & PROPERTY_VCPU)
            return true;
    return false;
}

static bool flag_no_events(const struct gen_state *state)
{
    return state->events->n == 0;
}

static bool flag_output_named(const struct gen_state *state)
{
    return state->job->output_name && strcmp(state->job->output_name, "-") != 0;
}

static bool flag_ring_asked(const struct gen_state *state)
{
    return state->ring_asked;
}

static bool flag_root_group(const struct gen_state *state)
{
    return state->job->group && strcmp(state->job->group, "root") == 0;
}

static bool flag_string(const struct gen_state *state)
{
    return state->argument->c.is_string;
}

static bool flag_pointer(const struct gen_state *state)
{
    return state->argument->c.is_pointer && !state->argument->c.is_string;
}

static bool flag_bool(const struct gen_state *state)
{
    return state->argument->c.is_bool && !state->argument->c.is_pointer;
}

static bool flag_signed(const struct gen_state *state)
{
    return state->argument->c.is_signed && !state->argument->c.is_pointer;
}

static bool flag_first(const struct gen_state *state)
{
    return argument_index(state) == 0;
}

static bool flag_log_stamps(const struct gen_state *state)
{
    return state->job->tree.log_stamps;
}

static bool flag_log_asks(const struct gen_state *state)
{
    return state->job->tree.log_asks;
}

/* Sorted by name. */
static const struct gen_flag flags[] = {
    {"all_disabled", GEN_FILE, gen_all_disabled},
    {"any_backend", GEN_FILE, flag_any_backend}, /* one that is not nop */
    {"any_event_section", GEN_FILE, flag_any_event_section},
    {"any_vcpu", GEN_FILE, flag_any_vcpu}, /* an event of a vCPU */
    {"bool", GEN_ARGUMENT, flag_bool},
    {"compiled_in", GEN_EVENT, flag_compiled_in},
    {"disabled", GEN_EVENT, flag_disabled},
    {"first", GEN_ARGUMENT, flag_first},
    {"goes_by_state", GEN_FILE, flag_goes_by_state}, /* calls record if the state says so */
    {"has_format", GEN_EVENT, flag_has_format},
    {"in_hex", GEN_ARGUMENT, gen_in_hex}, /* so the format shows it */
    {"last", GEN_ARGUMENT, is_last_argument},
    {"log_asks", GEN_FILE, flag_log_asks}, /* struct gen_qemu_tree */
    {"log_stamps", GEN_FILE, flag_log_stamps},
    {"name_is_macro", GEN_EVENT, gen_name_is_macro},
    {"no_arguments", GEN_EVENT, flag_no_arguments},
    {"no_events", GEN_FILE, flag_no_events},
    {"output_named", GEN_FILE, flag_output_named}, /* not standard output: #line can name it */
    {"pointer", GEN_ARGUMENT, flag_pointer},       /* but no string */
    {"ring_asked", GEN_FILE, flag_ring_asked},
    {"root_group", GEN_FILE, flag_root_group},
    {"signed", GEN_ARGUMENT, flag_signed},
    {"stap_text", GEN_ARGUMENT, gen_stap_text}, /* the format takes it as text */
    {"string", GEN_ARGUMENT, flag_string},
    {"tcg", GEN_EVENT, flag_tcg},                        /* one of the two of a `tcg` declaration */
    {"tcg_constant", GEN_ARGUMENT, gen_is_tcg_constant}, /* known when code is translated */
    {"tcg_exec", GEN_EVENT, flag_tcg_exec},
    {"tcg_trans", GEN_EVENT, flag_tcg_trans},
    {"vcpu", GEN_EVENT, flag_vcpu},
};

static bool is(const char *name, const char *s, size_t len)
{
    return strncmp(name, s, len) == 0 && name[len] == '\0';
}

const struct gen_value *gen_value_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        if (is(values[i].name, name, len))
            return &values[i];
    return NULL;
}

const struct gen_flag *gen_flag_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (is(flags[i].name, name, len))
            return &flags[i];
    return NULL;
}
