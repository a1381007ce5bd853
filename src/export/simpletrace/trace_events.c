/* SPDX-License-Identifier: MIT */
/* Writes the declarations of a trace's events as a trace-events file of QEMU, to read a file that
 * export/simpletrace/simpletrace.c made of the same trace. It has one line per event, written at the event's first
 * occurrence:
 *
 *     name(TYPE ARGUMENT, …) "FORMAT" */

#include <ctype.h>
#include <string.h>

#include "event/class_map.h"
#include "event/value.h"
#include "export/export.h"
#include "export/simpletrace/simpletrace.h"
#include "tables/names.h"

struct trace_events {
    struct sink sink;
    struct text *out;
    struct class_names names;
    bool *declared; /* by class->index */
    unsigned n;
};

/* The width of an integer's declared type, in bits. */
static unsigned bits_of(const struct field *field)
{
    unsigned size = field->c_size ? field->c_size : field->size;

    return size <= 1 ? 8 : size <= 2 ? 16 : size <= 4 ? 32 : 64;
}

static void put_type(struct text *out, const struct field *field)
{
    if (simpletrace_is_string(field))
        text_put_literal(out, "const char *");
    else if (field->type == FIELD_POINTER)
        text_put_literal(out, "void *");
    else if (field->type == FIELD_BOOL)
        text_put_literal(out, "bool ");
    else
        text_printf(out, "%sint%u_t ", field->type == FIELD_INT ? "" : "u", bits_of(field));
}

/* Puts a field's name as an identifier. NUMBER distinguishes names that become equal. */
static void put_argument_name(struct text *out, const struct event_class *class, unsigned number)
{
    const char *name = class->fields[number].name;
    bool changed = !isalpha((unsigned char)*name) && *name != '_';

    if (changed)
        text_put_literal(out, "a_");
    for (const char *p = name; *p; p++) {
        bool fine = isalnum((unsigned char)*p) || *p == '_';

        text_put_char(out, fine ? *p : '_');
        changed = changed || !fine;
    }
    if (changed)
        text_put_u64(out, number);
}

/* Puts `name=%PRI…` for each field, in the order of the arguments. PRI macros are between the quoted pieces. */
static void put_plain_format(struct text *out, const struct event_class *class)
{
    bool quoted = false;

    if (class->n_fields == 0)
        text_put_literal(out, "\"\"");
    for (unsigned i = 0; i < simpletrace_arguments(class); i++) {
        const struct field *field = &class->fields[i];
        bool word = field->type == FIELD_BOOL || field->type == FIELD_POINTER ||
                    simpletrace_is_string(field);

        text_put_str(out, quoted ? "" : i ? " \"" : "\"");
        text_put_str(out, i ? " " : "");
        put_argument_name(out, class, i);
        text_put_char(out, '=');
        quoted = word;
        if (word)
            text_put_str(out, field->type == FIELD_BOOL      ? "%d"
                              : field->type == FIELD_POINTER ? "%p"
                                                             : "%s");
        else
            text_printf(out, "%s%%\" PRI%c%u", field->hex ? "0x" : "",
                        field->hex                 ? 'x'
                        : field->type == FIELD_INT ? 'd'
                                                   : 'u',
                        bits_of(field));
    }
    if (simpletrace_has_rest(class)) {
        text_put_str(out, quoted ? " %s" : " \" %s");
        quoted = true;
    }
    if (quoted)
        text_put_char(out, '"');
}

/* True if the class has a format of its own over these arguments. */
static bool has_format(const struct event_class *class)
{
    if (!class->program || !class->format || class->put_text || simpletrace_has_rest(class))
        return false;
    for (unsigned i = 0; i < class->n_fields; i++)
        if (class->fields[i].type == FIELD_BYTES || class->fields[i].type == FIELD_FLOAT)
            return false;
    for (const char *p = class->format; *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
            return false;
    return true;
}

static void put_format(struct text *out, const struct event_class *class)
{
    if (!has_format(class)) {
        put_plain_format(out, class);
        return;
    }
    text_put_char(out, '"');
    for (const char *p = class->format; *p; p++) {
        if (*p == '"' || *p == '\\')
            text_put_char(out, '\\');
        text_put_char(out, *p);
    }
    text_put_char(out, '"');
}

static void put_declaration(struct text *out, const char *name, const struct event_class *class)
{
    text_put_str(out, name);
    text_put_char(out, '(');
    for (unsigned i = 0; i < simpletrace_arguments(class); i++) {
        if (i)
            text_put_literal(out, ", ");
        put_type(out, &class->fields[i]);
        put_argument_name(out, class, i);
    }
    if (simpletrace_has_rest(class))
        text_put_literal(out, ", const char *" SIMPLETRACE_REST_NAME);
    if (class->n_fields == 0)
        text_put_literal(out, "void");
    text_put_literal(out, ") ");
    put_format(out, class);
    text_put_char(out, '\n');
}

static _cold_ int declare(struct trace_events *events, const struct event_class *class)
{
    const char *name;
    bool is_new;

    if (class_map_grow(events->declared, events->n, class) < 0)
        return export_no_memory(&events->sink.error);
    name = class_names_get(&events->names, class, &is_new);
    if (!name)
        return export_no_memory(&events->sink.error);
    if (is_new)
        put_declaration(events->out, name, class);
    events->declared[class->index] = true;
    return 0;
}

static int trace_events_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct trace_events *events = container_of(sink, struct trace_events, sink);

    for (unsigned i = 0; i < n; i++) {
        const struct event_class *class = items[i].class;
        int r;

        if (items[i].kind != ITEM_EVENT ||
            likely(class->index < events->n && events->declared[class->index]))
            continue;
        r = declare(events, class);
        if (r < 0)
            return r;
    }
    return 0;
}

static int trace_events_finish(struct sink *sink)
{
    (void)sink;
    return 0;
}

static void trace_events_free(struct sink *sink)
{
    struct trace_events *events = container_of(sink, struct trace_events, sink);

    class_names_done(&events->names);
    free(events->declared);
    free(events);
}

int export_trace_events_open(const struct export_options *options, struct sink **ret_sink,
                             struct error *error)
{
    static const struct sink_ops ops = {
        .put = trace_events_put, .finish = trace_events_finish, .free = trace_events_free};
    struct trace_events *events = calloc(1, sizeof *events);

    if (!events)
        return export_no_memory(error);
    events->sink.ops = &ops;
    events->out = options->out;
    events->names.share = true;
    *ret_sink = &events->sink;
    return 0;
}
