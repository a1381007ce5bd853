/* SPDX-License-Identifier: MIT */
#include "schema/trace_events/qemu_class.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/spec.h"

static const struct declared_argument vcpu_argument = {
    .type = "void *",
    .name = "__cpu",
    .c = {.size = 8, .is_pointer = true},
};
#define VCPU_FORMAT "cpu=%p "

/* Name with a suffix, for the events that `tcg` stands for. */
static const char *name_part(struct arena *arena, const struct declared_event *event,
                             enum qemu_part part)
{
    const char *suffix = part == QEMU_TRANS ? "_trans" : "_exec";
    size_t len = strlen(event->name) + strlen(suffix);
    char *name;

    if (part == QEMU_WHOLE)
        return event->name;
    name = arena_alloc(arena, len + 1);
    if (name)
        snprintf(name, len + 1, "%s%s", event->name, suffix);
    return name;
}

static int add(struct qemu_events *events, const struct declared_event *declared,
               enum qemu_part part)
{
    struct qemu_event *event = &events->events[events->n_events];

    *event = (struct qemu_event){.declared = declared, .part = part};
    event->name = name_part(&events->arena, declared, part);
    if (!event->name)
        return -ENOMEM;
    events->n_events++;
    return map_put_str(&events->by_name, event->name, strlen(event->name), event);
}

int qemu_events_init(const struct declarations *declarations, struct qemu_events *ret_events)
{
    struct qemu_events events = {0};
    int r = 0;

    /* Every declaration is two at most. */
    events.events = calloc((size_t)declarations->n_events * 2 + 1, sizeof *events.events);
    if (!events.events)
        return -ENOMEM;
    for (unsigned i = 0; i < declarations->n_events && r >= 0; i++) {
        const struct declared_event *declared = &declarations->events[i];

        if (!(declared->properties & PROPERTY_TCG)) {
            r = add(&events, declared, QEMU_WHOLE);
            continue;
        }
        r = add(&events, declared, QEMU_TRANS);
        if (r >= 0)
            r = add(&events, declared, QEMU_EXEC);
    }
    if (r < 0) {
        qemu_events_done(&events);
        return r;
    }
    *ret_events = events;
    return 0;
}

void qemu_events_done(struct qemu_events *events)
{
    map_done(&events->by_name);
    free(events->events);
    arena_done(&events->arena);
    *events = (struct qemu_events){0};
}

const struct qemu_event *qemu_events_find(const struct qemu_events *events, const char *name,
                                          size_t len)
{
    return map_get_str(&events->by_name, name, len);
}

static bool is_tcg_type(const struct declared_argument *argument)
{
    return strncmp(argument->type, "TCGv", 4) == 0;
}

/* The arguments that are stored; their number. */
static unsigned stored_arguments(const struct qemu_event *event,
                                 const struct declared_argument *arguments[])
{
    const struct declared_event *declared = event->declared;
    unsigned n = 0;

    if (declared->properties & PROPERTY_VCPU)
        arguments[n++] = &vcpu_argument;
    for (unsigned i = 0; i < declared->n_arguments; i++)
        if (event->part != QEMU_TRANS || !is_tcg_type(&declared->arguments[i]))
            arguments[n++] = &declared->arguments[i];
    return n;
}

static struct field field_of(const struct declared_argument *argument, unsigned layout)
{
    const struct c_type *c = &argument->c;
    struct field field = {
        .type = FIELD_UINT,
        .size = 8,
        .c_size = c->size ? c->size : 8,
        .swap = layout & QEMU_SWAPPED,
    };

    if (c->is_string && !(layout & QEMU_WORDS)) {
        field.type = FIELD_STRING;
        field.storage = STORE_COUNTED;
        field.size = 0;
        field.c_size = 0;
    } else if (c->is_pointer) {
        field.type = FIELD_POINTER;
        field.hex = true;
    } else if (c->is_bool) {
        field.type = FIELD_BOOL;
    } else if (c->is_signed) {
        field.type = FIELD_INT;
    }
    return field;
}

/* People read a value as hexadecimal where its conversion writes it so. */
static void mark_hexadecimal(const char *format, struct field *fields, unsigned n)
{
    unsigned next = 0;

    for (const char *p = format; (p = strchr(p, '%'));) {
        struct spec spec;

        p = spec_parse(p, &spec);
        if (!p)
            return;
        if (spec.conversion == '%')
            continue;
        next += spec.width_star + spec.precision_star;
        if (next >= n)
            return;
        if (strchr("xXp", spec.conversion) && fields[next].type != FIELD_STRING)
            fields[next].hex = true;
        next++;
    }
}

static int class_format(struct arena *arena, const struct qemu_event *event, const char **ret)
{
    const struct declared_event *declared = event->declared;
    const char *format = event->part == QEMU_TRANS ? declared->format_trans : declared->format;
    const char *prefix = "";
    size_t len;
    char *copy;

    if (!format && declared->format_source)
        return 0; /* a macro that is not known */
    if (declared->properties & PROPERTY_VCPU)
        prefix = VCPU_FORMAT;
    else if (!format)
        return 0;
    len = strlen(prefix) + (format ? strlen(format) : 0);
    copy = arena_alloc(arena, len + 1);
    if (!copy)
        return -ENOMEM;
    snprintf(copy, len + 1, "%s%s", prefix, format ? format : "");
    *ret = copy;
    return 0;
}

int qemu_class_add(struct catalogue *catalogue, const struct qemu_event *event,
                   const struct origin *origin, uint64_t id, unsigned layout,
                   struct event_class **ret_class)
{
    const struct declared_argument *arguments[QEMU_ARGUMENTS_MAX];
    struct arena *arena = &catalogue->arena;
    struct event_class class = {
        .origin = origin,
        .id = id,
        .name = arena_strdup(arena, event->name),
        .declared_in = arena_strdup(arena, event->declared->file),
        .declared_line = event->declared->line,
        .disabled = event->declared->properties & PROPERTY_DISABLE,
    };
    struct field *fields;
    bool after_variable = false;
    uint32_t offset = 0;
    int r;

    class.n_fields = stored_arguments(event, arguments);
    fields = arena_alloc(arena, class.n_fields * sizeof *fields);
    if (!class.name || !class.declared_in || !fields)
        return -ENOMEM;
    for (unsigned i = 0; i < class.n_fields; i++) {
        fields[i] = field_of(arguments[i], layout);
        fields[i].name = arena_strdup(arena, arguments[i]->name);
        fields[i].c_type = arena_strdup(arena, arguments[i]->type);
        if (!fields[i].name || !fields[i].c_type)
            return -ENOMEM;
        fields[i].place = after_variable ? PLACE_AFTER_PREVIOUS : PLACE_FIXED;
        fields[i].offset = after_variable ? 0 : offset;
        offset += 8;
        after_variable = after_variable || fields[i].storage == STORE_COUNTED;
    }
    class.fields = fields;
    r = class_format(arena, event, &class.format);
    if (r < 0)
        return r;
    if (class.format)
        mark_hexadecimal(class.format, fields, class.n_fields);
    return catalogue_add(catalogue, &class, ret_class);
}
