/* SPDX-License-Identifier: MIT */
#include "format/simpletrace/ids.h"

#include <inttypes.h>
#include <stdio.h>

/* Ids beyond the plain tables, and names: QEMU has some 5,500. */
#define SPARSE_IDS_MAX 16384
#define NAMES_MAX 16384
/* Ids without a name that get a class of their own; the rest share one. */
#define NAMELESS_MAX 1024

/* Names go to terminals: only characters that a name can have. */
static char *clean_name(struct arena *arena, const char *name, size_t len)
{
    char *copy = arena_strndup(arena, name, len);

    for (size_t i = 0; copy && i < len; i++)
        if (copy[i] <= ' ' || copy[i] >= 0x7f)
            copy[i] = '?';
    return copy;
}

/* Creates a class for an event whose fields are unknown: raw words. */
static int add_undeclared(struct simpletrace_ids *ids, const struct named *named, uint64_t id,
                          struct event_class **ret)
{
    struct arena *arena = &ids->catalogue->arena;
    const struct field words = {
        .name = "words",
        .c_type = "uint64_t []",
        .type = FIELD_BYTES,
        .storage = STORE_TO_END,
        .element = 8,
        .swap = ids->swap,
        .hex = true,
    };
    struct event_class class = {
        .origin = ids->origin,
        .id = id,
        .name = clean_name(arena, named->name, named->len),
        .fields = arena_memdup(arena, &words, sizeof words),
        .n_fields = 1,
    };
    int r;

    if (!class.name || !class.fields)
        return -ENOMEM;
    r = catalogue_add(ids->catalogue, &class, ret);
    if (r < 0)
        return r;
    if (ids->n_undeclared++ < 16) {
        if (ids->n_undeclared > 1)
            text_put_literal(&ids->undeclared, ", ");
        text_put_str(&ids->undeclared, class.name);
    }
    return 0;
}

static int make_class(struct simpletrace_ids *ids, struct named *named, uint64_t id)
{
    const struct qemu_event *event =
        ids->events ? qemu_events_find(ids->events, named->name, named->len) : NULL;
    unsigned layout = (ids->swap ? QEMU_SWAPPED : 0) | (ids->version == 0 ? QEMU_WORDS : 0);
    struct event_class *class;
    int r;

    if (event)
        r = qemu_class_add(ids->catalogue, event, ids->origin, id, layout, &class);
    else
        r = add_undeclared(ids, named, id, &class);
    if (r < 0)
        return -ENOMEM;
    named->class = class;
    return 0;
}

static struct named *named_new(struct simpletrace_ids *ids, const char *name, size_t len)
{
    struct named *named = arena_alloc(&ids->catalogue->arena, sizeof *named);

    if (!named)
        return NULL;
    named->name = arena_strndup(&ids->catalogue->arena, name, len);
    named->len = len;
    return named->name ? named : NULL;
}

/* The one of this name, new or not. */
static int get_named(struct simpletrace_ids *ids, const char *name, size_t len, struct named **ret)
{
    struct named *named = map_get_str(&ids->by_name, name, len);

    if (!named) {
        if (ids->by_name.used >= NAMES_MAX)
            return -E2BIG;
        named = named_new(ids, name, len);
        if (!named || map_put_str(&ids->by_name, named->name, len, named) < 0)
            return -ENOMEM;
    }
    *ret = named;
    return 0;
}

static int grow_dense(struct simpletrace_ids *ids, uint64_t n)
{
    size_t capacity = 1024;
    const struct event_class **classes;
    struct named **names;

    while (capacity < n)
        capacity *= 2;
    classes = realloc(ids->classes, capacity * sizeof(struct event_class *));
    if (!classes)
        return -ENOMEM;
    ids->classes = classes;
    names = realloc(ids->names, capacity * sizeof(struct named *));
    if (!names)
        return -ENOMEM;
    ids->names = names;
    memset(classes + ids->n_dense, 0, (capacity - ids->n_dense) * sizeof(struct event_class *));
    memset(names + ids->n_dense, 0, (capacity - ids->n_dense) * sizeof(struct named *));
    ids->n_dense = capacity;
    return 0;
}

/* From here on ID stands for NAMED, whatever it stood for before. */
static int set_id(struct simpletrace_ids *ids, uint64_t id, struct named *named)
{
    if (id < SIMPLETRACE_DENSE_IDS) {
        if (id >= ids->n_dense) {
            int r = grow_dense(ids, id + 1);
            if (r < 0)
                return r;
        }
        ids->names[id] = named;
        ids->classes[id] = named->class;
        return 0;
    }
    if (ids->sparse.used >= SPARSE_IDS_MAX && !map_get(&ids->sparse, id))
        return -E2BIG;
    return map_put(&ids->sparse, id, named) < 0 ? -ENOMEM : 0;
}

static struct named *name_of_id(const struct simpletrace_ids *ids, uint64_t id)
{
    return id < ids->n_dense ? ids->names[id] : map_get(&ids->sparse, id);
}

/* The declaration that ID stands for by its position; NULL: there is none. */
static const struct qemu_event *event_at(const struct simpletrace_ids *ids, uint64_t id)
{
    return id < ids->n_positions ? ids->positions[id] : NULL;
}

/* An id that the file does not name. */
static int name_new_id(struct simpletrace_ids *ids, uint64_t id, struct named **ret)
{
    const struct qemu_event *event = event_at(ids, id);
    char name[32];
    int r;

    if (event) {
        r = get_named(ids, event->name, strlen(event->name), ret);
        return r < 0 ? r : set_id(ids, id, *ret);
    }
    if (ids->n_nameless < NAMELESS_MAX) {
        ids->n_nameless++;
        snprintf(name, sizeof name, "event-%" PRIu64, id);
        *ret = named_new(ids, name, strlen(name));
        return *ret ? set_id(ids, id, *ret) : -ENOMEM;
    }
    /* Not kept by id: there may be any number of them. */
    if (!ids->nameless)
        ids->nameless = named_new(ids, "event-of-unknown-id", 19);
    *ret = ids->nameless;
    return *ret ? 0 : -ENOMEM;
}

/* The class of an id that the plain table has none for. */
int simpletrace_ids_class(struct simpletrace_ids *ids, uint64_t id,
                          const struct event_class **ret_class)
{
    struct named *named = name_of_id(ids, id);
    int r;

    if (!named) {
        r = name_new_id(ids, id, &named);
        if (r < 0)
            return r;
    }
    if (!named->class) {
        r = make_class(ids, named, id);
        if (r < 0)
            return r;
    }
    if (id < ids->n_dense && ids->names[id] == named)
        ids->classes[id] = named->class;
    *ret_class = named->class;
    return 0;
}

int simpletrace_ids_name(struct simpletrace_ids *ids, uint64_t id, const char *name, size_t len)
{
    struct named *named;
    int r = get_named(ids, name, len, &named);

    return r < 0 ? r : set_id(ids, id, named);
}

bool simpletrace_ids_known(const struct simpletrace_ids *ids, uint64_t id,
                           const struct event_class **ret_class)
{
    const struct named *named = name_of_id(ids, id);

    *ret_class = named ? named->class : NULL;
    return named || event_at(ids, id);
}

/* Versions 0 and 2 do not count what is disabled. */
static int number_events(struct simpletrace_ids *ids)
{
    const struct qemu_events *events = ids->events;

    ids->positions = malloc((events->n_events + 1) * sizeof(struct qemu_event *));
    if (!ids->positions)
        return -ENOMEM;
    for (unsigned i = 0; i < events->n_events; i++) {
        bool disabled = events->events[i].declared->properties & PROPERTY_DISABLE;

        if (ids->version >= 3 || !disabled)
            ids->positions[ids->n_positions++] = &events->events[i];
    }
    return 0;
}

int simpletrace_ids_init(struct simpletrace_ids *ids, bool by_position)
{
    int r = grow_dense(ids, 1);

    ids->undeclared = TEXT_IN_MEMORY;
    return r < 0 || !by_position ? r : number_events(ids);
}

void simpletrace_ids_done(struct simpletrace_ids *ids)
{
    free(ids->classes);
    free(ids->names);
    free(ids->positions);
    map_done(&ids->sparse);
    map_done(&ids->by_name);
    text_done(&ids->undeclared);
}
