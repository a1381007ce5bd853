/* SPDX-License-Identifier: MIT */
#include "runtime/events.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/control/pattern.h"

#define CHUNK 1024 /* classes per piece of the table of ids, which never moves */

static struct {
    pthread_mutex_t lock;
    struct strata_group *first;
    struct strata_group **end;
    struct trace_class **buckets;
    size_t n_buckets; /* a power of two */
    _Atomic(struct trace_class **) chunks[CLASS_ID_MAX / CHUNK + 1];
    atomic_uint n_classes;
    atomic_ullong refused;
} registry = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .end = &registry.first,
};

void registry_lock(void)
{
    pthread_mutex_lock(&registry.lock);
}

void registry_unlock(void)
{
    pthread_mutex_unlock(&registry.lock);
}

struct strata_group *registry_groups(void)
{
    return registry.first;
}

uint64_t registry_refused(void)
{
    return atomic_load_explicit(&registry.refused, memory_order_relaxed);
}

uint32_t class_count(void)
{
    return atomic_load_explicit(&registry.n_classes, memory_order_acquire);
}

struct trace_class *class_by_id(uint32_t id)
{
    if (id == 0 || id > class_count())
        return NULL;
    return atomic_load_explicit(&registry.chunks[id / CHUNK], memory_order_relaxed)[id % CHUNK];
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* True if CLASS describes the records of EVENT. */
static bool class_describes(const struct trace_class *class, const struct strata_event *event)
{
    if (class->n_fields != event->n_fields || strcmp(class->name, event->name) != 0 ||
        !same_text(class->format, event->format))
        return false;
    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct strata_field *a = &class->fields[i];
        const struct strata_field *b = &event->fields[i];

        if (a->kind != b->kind || a->size != b->size || !same_text(a->name, b->name) ||
            !same_text(a->type, b->type))
            return false;
    }
    return true;
}

static struct trace_class *bucket_of(uint32_t hash)
{
    return registry.n_buckets ? registry.buckets[hash & (registry.n_buckets - 1)] : NULL;
}

struct trace_class *class_named(const char *name, const struct trace_class *behind)
{
    uint32_t hash = behind ? behind->hash : hash_name(name);

    for (struct trace_class *class = behind ? behind->next : bucket_of(hash); class;
         class = class->next)
        if (class->hash == hash && strcmp(class->name, name) == 0)
            return class;
    return NULL;
}

int registry_reserve(size_t n)
{
    size_t n_buckets = registry.n_buckets ? registry.n_buckets : 64;
    struct trace_class **buckets;

    while (n_buckets < class_count() + n)
        n_buckets *= 2;
    if (n_buckets == registry.n_buckets)
        return 0;
    buckets = calloc(n_buckets, sizeof(*buckets));
    if (!buckets)
        return -ENOMEM;
    for (uint32_t id = class_count(); id > 0; id--) { /* so that older ones come first */
        struct trace_class *class = class_by_id(id);
        struct trace_class **bucket = &buckets[class->hash & (n_buckets - 1)];

        class->next = *bucket;
        *bucket = class;
    }
    free(registry.buckets);
    registry.buckets = buckets;
    registry.n_buckets = n_buckets;
    return 0;
}

int registry_add_class(struct trace_class *class)
{
    uint32_t id = class_count() + 1;
    struct trace_class **chunk;
    struct trace_class **end;

    if (id > CLASS_ID_MAX)
        return -ENOSPC;
    chunk = atomic_load_explicit(&registry.chunks[id / CHUNK], memory_order_relaxed);
    if (!chunk) {
        chunk = calloc(CHUNK, sizeof(struct trace_class *));
        if (!chunk)
            return -ENOMEM;
        atomic_store_explicit(&registry.chunks[id / CHUNK], chunk, memory_order_relaxed);
    }
    end = &registry.buckets[class->hash & (registry.n_buckets - 1)];
    while (*end)
        end = &(*end)->next;
    *end = class;
    class->id = id;
    chunk[id % CHUNK] = class;
    /* Release: a thread that sees the count also sees the class. */
    atomic_store_explicit(&registry.n_classes, id, memory_order_release);
    return 0;
}

struct trace_class *class_declared(const struct strata_event *event, uint32_t *ret_hash)
{
    uint32_t hash = hash_name(event->name);
    struct trace_class *class = bucket_of(hash);

    while (class && !(class->hash == hash && class_describes(class, event)))
        class = class->next;
    *ret_hash = hash;
    return class;
}

void registry_refuse(uint64_t n)
{
    atomic_fetch_add_explicit(&registry.refused, n, memory_order_relaxed);
}

void registry_add_group(struct strata_group *group)
{
    group->next = NULL;
    *registry.end = group;
    registry.end = &group->next;
}

bool registry_remove_group(struct strata_group *group)
{
    struct strata_group **link;

    for (link = &registry.first; *link && *link != group; link = &(*link)->next)
        ;
    if (!*link)
        return false;
    *link = group->next;
    if (registry.end == &group->next)
        registry.end = link;
    return true;
}

const struct strata_event *strata_event_find(const char *name)
{
    struct trace_class *class;
    const struct strata_event *event;

    registry_lock();
    class = class_named(name, NULL);
    while (class && !class->n_attached)
        class = class_named(name, class);
    event = class ? class->event : NULL;
    registry_unlock();
    return event;
}

int strata_event_foreach(const char *pattern,
                         int (*function)(const struct strata_event *event, void *userdata),
                         void *userdata)
{
    int r = 0;

    registry_lock();
    for (struct strata_group *group = registry.first; group && r == 0; group = group->next)
        for (uint32_t i = 0; i < group->n_events && r == 0; i++)
            if (!pattern || pattern_match(pattern, group->events[i].name))
                r = function(&group->events[i], userdata);
    registry_unlock();
    return r;
}
