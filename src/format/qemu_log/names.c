/* SPDX-License-Identifier: MIT */
#include "format/qemu_log/names.h"

#define UNDECLARED_MAX 4096

/* What every event of free text has. */
static const struct field message_field = {
    .name = "message",
    .c_type = "const char *",
    .type = FIELD_STRING,
    .place = PLACE_FIXED,
    .storage = STORE_COUNTED,
};

static struct log_name *add_name(struct log_names *names, const char *name, size_t len)
{
    struct log_name *added = arena_alloc(&names->arena, sizeof *added);

    if (!added)
        return NULL;
    added->name = arena_strndup(&names->catalogue->arena, name, len);
    added->len = len;
    if (!added->name || map_put_str(&names->by_name, added->name, len, added) < 0)
        return NULL;
    return added;
}

int log_names_declare(struct log_names *names, const struct qemu_events *events)
{
    for (unsigned i = 0; events && i < events->n_events; i++) {
        const struct qemu_event *event = &events->events[i];
        size_t len = strlen(event->name);
        struct log_name *name = map_get_str(&names->by_name, event->name, len);
        struct candidate *candidate = arena_alloc(&names->arena, sizeof *candidate);

        if (!name)
            name = add_name(names, event->name, len);
        if (!name || !candidate)
            return -ENOMEM;
        candidate->declared = event;
        if (name->last)
            name->last->next = candidate;
        else
            name->candidates = candidate;
        name->last = candidate;
    }
    return 0;
}

int log_names_add_undeclared(struct log_names *names, const char *name, size_t len,
                             struct log_name **ret_name)
{
    *ret_name = NULL;
    if (names->n_undeclared == UNDECLARED_MAX)
        return 0;
    *ret_name = add_name(names, name, len);
    if (!*ret_name)
        return -ENOMEM;
    names->n_undeclared++;
    return 0;
}

int log_names_compile(struct log_names *names, struct log_name *name)
{
    for (struct candidate *c = name->candidates; c; c = c->next) {
        struct event_class *class;
        int r = qemu_class_add(names->catalogue, c->declared, names->origin, 0, 0, &class);

        if (r < 0)
            return r;
        c->class = class;
        r = log_pattern_compile(&names->catalogue->arena, class, &c->pattern);
        if (r < 0 && r != -EINVAL)
            return r;
    }
    name->compiled = true;
    return 0;
}

int log_names_add_message_class(struct log_names *names, const char *name,
                                const struct event_class **ret_class)
{
    struct event_class class = {
        .name = name,
        .origin = names->origin,
        .fields = &message_field,
        .n_fields = 1,
        .format = "%s",
    };
    struct event_class *added;
    int r = catalogue_add(names->catalogue, &class, &added);

    if (r == 0)
        *ret_class = added;
    return r;
}

void log_names_done(struct log_names *names)
{
    arena_done(&names->arena);
    map_done(&names->by_name);
}
