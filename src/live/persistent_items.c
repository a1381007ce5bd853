/* SPDX-License-Identifier: MIT */
#include "live/persistent_items.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "event/kernel.h"
#include "tracedir/manifest.h"

/* Items that are bound at a time. */
#define PIECE 256u
/* Limits of origins that have gone, and of all classes. */
#define GONE_MAX 16u
#define CLASSES_MAX 32768u

struct bound_class {
    struct bound_class *next; /* with the same name */
    const struct event_class *class;
};

struct persistent_items {
    struct catalogue catalogue;
    struct bound_origin **origins;
    unsigned n_origins;
    /* For the present opening. */
    const struct trace *trace;
    const struct event_class **classes; /* by class->index; NULL if not bound yet */
    unsigned n_classes;
    const struct origin *recent_origin;
    struct bound_origin *recent;
    struct item items[PIECE];
};

int persistent_items_new(struct persistent_items **ret)
{
    struct persistent_items *persistent = calloc(1, sizeof *persistent);

    if (!persistent)
        return -ENOMEM;
    *ret = persistent;
    return 0;
}

void persistent_items_free(struct persistent_items *persistent)
{
    if (!persistent)
        return;
    persistent_items_close(persistent);
    for (unsigned i = 0; i < persistent->n_origins; i++)
        map_done(&persistent->origins[i]->classes);
    free(persistent->origins);
    free(persistent->classes);
    catalogue_done(&persistent->catalogue);
    free(persistent);
}

/* ---- Origins ---- */

static const char *task_name(const struct origin *origin, int32_t pid)
{
    const struct origin *live = bound_origin_of(origin)->live;

    return live ? origin_task_name(live, pid) : NULL;
}

static const char *comm(const struct origin *origin, uint32_t number)
{
    const struct origin *live = bound_origin_of(origin)->live;

    return live && live->comm ? live->comm(live, number) : NULL;
}

static const char *vm_name(const struct origin *origin, int32_t pid)
{
    const struct origin *live = bound_origin_of(origin)->live;

    return live && live->vm_name ? live->vm_name(live, pid) : NULL;
}

/* Copies all that the present opening knows, except pointers into it. Some facts become known later, as monitors'
 * threads. */
static void set_live(struct bound_origin *bound, const struct origin *live)
{
    const struct origin before = bound->origin;
    struct origin *origin = &bound->origin;

    bound->live = live;
    *origin = *live;
    origin->number = before.number;
    origin->format = origin->path = "";
    origin->clock.name = NULL;
    origin->host_name = before.host_name;
    origin->machine = before.machine;
    origin->clock_uuid = NULL;
    origin->task_name = live->task_name ? task_name : NULL;
    origin->comm = live->comm ? comm : NULL;
    origin->thread_names = NULL;
    origin->vm_name = live->vm_name ? vm_name : NULL;
    origin->vm = NULL;
    origin->vm_of = NULL;
    origin->vm_threads = NULL;
    origin->kernel = before.kernel;
    origin->n_cpus = MAX(before.n_cpus, live->n_cpus);
}

static int copy_str(struct arena *arena, const char *s, const char **ret)
{
    *ret = s ? arena_strdup(arena, s) : NULL;
    return s && !*ret ? -ENOMEM : 0;
}

static struct bound_origin *add_origin(struct persistent_items *persistent,
                                       const struct origin *live, const char *key)
{
    static const struct origin_kernel kernel;
    struct arena *arena = &persistent->catalogue.arena;
    struct bound_origin *bound = arena_alloc(arena, sizeof *bound);
    struct bound_origin **bigger =
        realloc(persistent->origins, (persistent->n_origins + 1) * sizeof(struct bound_origin *));

    if (bigger)
        persistent->origins = bigger;
    if (!bigger || !bound)
        return NULL;
    bound->origin = (struct origin){.number = persistent->n_origins,
                                    .layer = live->layer,
                                    .kernel = live->kernel ? &kernel : NULL};
    if (copy_str(arena, key, &bound->key) < 0 ||
        copy_str(arena, live->host_name, &bound->origin.host_name) < 0 ||
        copy_str(arena, live->machine, &bound->origin.machine) < 0 ||
        catalogue_list_origin(&persistent->catalogue, &bound->origin) < 0)
        return NULL;
    persistent->origins[persistent->n_origins++] = bound;
    return bound;
}

static struct bound_origin *bind_origin(struct persistent_items *persistent,
                                        const struct origin *live, const char *key)
{
    struct bound_origin *bound = NULL;

    for (unsigned i = 0; i < persistent->n_origins && !bound; i++)
        if (strcmp(persistent->origins[i]->key, key) == 0 &&
            persistent->origins[i]->origin.layer == live->layer)
            bound = persistent->origins[i];
    if (!bound)
        bound = add_origin(persistent, live, key);
    if (bound)
        set_live(bound, live);
    return bound;
}

int persistent_items_open(struct persistent_items *persistent, const struct trace *trace)
{
    unsigned n = trace->catalogue.n_origins;

    persistent_items_close(persistent);
    persistent->trace = trace;
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        for (unsigned j = 0; j < input->n_origins && input->first_origin + j < n; j++) {
            char key[512];

            snprintf(key, sizeof key, "%u %s", j,
                     input->recorded ? input->recorded->name : input->path);
            if (!bind_origin(persistent, trace->catalogue.origins[input->first_origin + j], key)) {
                persistent_items_close(persistent);
                return -ENOMEM;
            }
        }
    }
    return 0;
}

void persistent_items_close(struct persistent_items *persistent)
{
    for (unsigned i = 0; i < persistent->n_origins; i++)
        persistent->origins[i]->live = NULL;
    persistent->trace = NULL;
    persistent->n_classes = 0;
    persistent->recent_origin = NULL;
    persistent->recent = NULL;
}

/* An origin that came after the opening is numbered after the others. */
struct bound_origin *persistent_items_origin(struct persistent_items *persistent,
                                             const struct origin *origin)
{
    const struct catalogue *live = &persistent->trace->catalogue;

    if (likely(origin == persistent->recent_origin))
        return persistent->recent;
    persistent->recent = NULL;
    for (unsigned i = 0; i < live->n_origins; i++) {
        if (live->origins[i] != origin)
            continue;
        for (unsigned j = 0; j < persistent->n_origins; j++)
            if (persistent->origins[j]->live == origin)
                persistent->recent = persistent->origins[j];
        if (!persistent->recent) {
            char key[32];

            snprintf(key, sizeof key, "%u", i);
            persistent->recent = bind_origin(persistent, origin, key);
        }
        persistent->recent_origin = persistent->recent ? origin : NULL;
        return persistent->recent;
    }
    return NULL;
}

/* ---- Classes ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_class(const struct event_class *a, const struct event_class *b)
{
    if (a->id != b->id || a->n_fields != b->n_fields || !is_same_text(a->group, b->group))
        return false;
    for (unsigned i = 0; i < a->n_fields; i++) {
        const struct field *x = &a->fields[i], *y = &b->fields[i];

        if (x->type != y->type || x->place != y->place || x->storage != y->storage ||
            x->offset != y->offset || x->size != y->size || x->element != y->element ||
            x->shift != y->shift || x->bits != y->bits || x->swap != y->swap ||
            x->optional != y->optional || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

static int copy_names(struct arena *arena, const struct value_names *names,
                      const struct value_names **ret)
{
    struct value_names *copy = arena_memdup(arena, names, sizeof *names);
    const char **by_value = arena_alloc(arena, (names->n + 1) * sizeof(char *));
    struct value_name *more = arena_alloc(arena, (names->n_more + 1) * sizeof *more);

    if (!copy || !by_value || !more)
        return -ENOMEM;
    for (uint32_t i = 0; i < names->n; i++)
        if (copy_str(arena, names->names[i], &by_value[i]) < 0)
            return -ENOMEM;
    for (uint32_t i = 0; i < names->n_more; i++) {
        more[i].value = names->more[i].value;
        if (copy_str(arena, names->more[i].name, &more[i].name) < 0)
            return -ENOMEM;
    }
    copy->names = by_value;
    copy->more = more;
    *ret = copy;
    return 0;
}

static int copy_fields(struct arena *arena, const struct event_class *live,
                       const struct field **ret)
{
    struct field *fields = arena_alloc(arena, (live->n_fields + 1) * sizeof *fields);

    if (!fields)
        return -ENOMEM;
    for (unsigned i = 0; i < live->n_fields; i++) {
        fields[i] = live->fields[i];
        fields[i].c_type = "";
        if (copy_str(arena, live->fields[i].name, &fields[i].name) < 0 ||
            (fields[i].names && copy_names(arena, live->fields[i].names, &fields[i].names) < 0))
            return -ENOMEM;
    }
    *ret = fields;
    return 0;
}

static int add_class(struct persistent_items *persistent, struct bound_origin *origin,
                     const struct event_class *live, struct bound_class *first,
                     const struct event_class **ret)
{
    struct arena *arena = &persistent->catalogue.arena;
    struct event_class class = {
        .origin = &origin->origin, .n_fields = live->n_fields, .id = live->id};
    struct bound_class *bound = arena_alloc(arena, sizeof *bound);
    struct event_class *added;
    int r;

    if (!bound || copy_str(arena, live->name, &class.name) < 0 ||
        copy_str(arena, live->group, &class.group) < 0 ||
        copy_fields(arena, live, &class.fields) < 0)
        return -ENOMEM;
    r = catalogue_add(&persistent->catalogue, &class, &added);
    if (r < 0)
        return r;
    *bound = (struct bound_class){.class = added};
    if (first) {
        bound->next = first->next;
        first->next = bound;
    } else {
        r = map_put_str(&origin->classes, class.name, strlen(class.name), bound);
    }
    *ret = added;
    return r;
}

/* -ENOMEM, -E2BIG. */
static int bind_class(struct persistent_items *persistent, struct bound_origin *origin,
                      const struct event_class *live)
{
    struct bound_class *first = map_get_str(&origin->classes, live->name, strlen(live->name));

    for (struct bound_class *bound = first; bound; bound = bound->next)
        if (is_same_class(bound->class, live)) {
            persistent->classes[live->index] = bound->class;
            return 0;
        }
    return add_class(persistent, origin, live, first, &persistent->classes[live->index]);
}

/* Binds all classes of the group of CLASS, because rules of spans look for classes of the other ends. */
static _cold_ int bind_group(struct persistent_items *persistent, const struct event_class *class)
{
    const struct catalogue *live = &persistent->trace->catalogue;
    struct bound_origin *origin = persistent_items_origin(persistent, class->origin);
    const struct event_class **bigger;
    unsigned n = live->n_classes;

    if (!origin)
        return -ENOMEM;
    if (persistent->n_classes < n) {
        bigger = realloc(persistent->classes, n * sizeof(struct event_class *));
        if (!bigger)
            return -ENOMEM;
        memset(bigger + persistent->n_classes, 0,
               (n - persistent->n_classes) * sizeof(struct event_class *));
        persistent->classes = bigger;
        persistent->n_classes = n;
    }
    for (unsigned i = 0; i < n; i++) {
        const struct event_class *other = live->classes[i];
        int r;

        if (other->origin != class->origin || !is_same_text(other->group, class->group) ||
            persistent->classes[i])
            continue;
        r = bind_class(persistent, origin, other);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Items ---- */

static int bind_item(struct persistent_items *persistent, const struct item *item, struct item *ret)
{
    *ret = *item;
    if (unlikely(!item->class)) {
        const struct bound_origin *origin = persistent_items_origin(persistent, item->origin);

        if (!origin)
            return -ENOMEM;
        ret->origin = &origin->origin;
        return 0;
    }
    if (unlikely(item->class->index >= persistent->n_classes ||
                 !persistent->classes[item->class->index])) {
        int r = bind_group(persistent, item->class);

        if (r < 0)
            return r;
    }
    ret->class = persistent->classes[item->class->index];
    ret->origin = ret->class->origin;
    return 0;
}

int persistent_items_put(struct persistent_items *persistent, const struct item *items, unsigned n,
                         struct sink *sink)
{
    while (n > 0) {
        unsigned piece = MIN(n, PIECE);
        int r = 0;

        for (unsigned i = 0; i < piece && r >= 0; i++)
            r = bind_item(persistent, &items[i], &persistent->items[i]);
        if (r >= 0)
            r = sink_put(sink, persistent->items, piece);
        if (r < 0)
            return r;
        items += piece;
        n -= piece;
    }
    return 0;
}

struct catalogue *persistent_items_catalogue(struct persistent_items *persistent)
{
    return &persistent->catalogue;
}

bool persistent_items_is_worn(const struct persistent_items *persistent)
{
    unsigned n_gone = 0;

    for (unsigned i = 0; i < persistent->n_origins; i++)
        n_gone += !persistent->origins[i]->live;
    return n_gone > GONE_MAX || persistent->catalogue.n_classes > CLASSES_MAX;
}
