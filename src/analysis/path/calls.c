/* SPDX-License-Identifier: MIT */
#include "analysis/path/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/class_map.h"
#include "event/kernel_event.h"
#include "event/value.h"

enum call_role {
    CALL_NONE,
    CALL_BEGINS,
    CALL_ENDS,
    LOCK_BEGINS,
    LOCK_ENDS,
};

struct call_class {
    bool known;
    uint8_t role;           /* enum call_role */
    int16_t number;         /* the field of the call's number, or of the lock's flags; -1: none */
    struct call_name *name; /* of a call with an event of its own; NULL: it has none */
    const struct value_names *names; /* of numbers; NULL: none */
};

struct call_thread {
    const struct call_name *call, *lock; /* NULL: it is in none */
};

struct call_source {
    struct map threads; /* struct call_thread */
    struct map names;   /* struct call_name, of calls with events of their own */
    struct map numbers; /* ... and of others */
    bool has_ends;      /* of these */
};

static struct call_source *get_source(struct calls *calls, const struct origin *origin)
{
    struct call_source *source = map_get(&calls->sources, origin->number);

    if (likely(source != NULL))
        return source;
    source = calloc(1, sizeof *source);
    if (!source || map_put(&calls->sources, origin->number, source) < 0) {
        free(source);
        return NULL;
    }
    return source;
}

/* 0: *RET_THREAD is NULL if there are too many. -ENOMEM. */
static int get_thread(struct call_source *source, int32_t pid, struct call_thread **ret_thread)
{
    struct call_thread *thread = map_get(&source->threads, (uint32_t)pid);

    *ret_thread = thread;
    if (likely(thread != NULL) || source->threads.used >= CALLS_THREADS_MAX)
        return 0;
    thread = calloc(1, sizeof *thread);
    if (!thread || map_put(&source->threads, (uint32_t)pid, thread) < 0) {
        free(thread);
        return -ENOMEM;
    }
    *ret_thread = thread;
    return 0;
}

static struct call_name *make_name(struct calls *calls, const char *phrase)
{
    struct call_name *name = arena_alloc(&calls->arena, sizeof *name);

    if (!name)
        return NULL;
    *name = (struct call_name){.phrase = arena_strdup(&calls->arena, phrase),
                               .has_ends = &name->own_ends};
    return name->phrase ? name : NULL;
}

/* The call of sys_enter_NAME or sys_exit_NAME; NULL: memory is out. */
static struct call_name *get_name(struct calls *calls, struct call_source *source, const char *of)
{
    /* Its group is "syscalls" and its name matches one of these. */
    const char *from = strchr(of + strlen("sys_e"), '_');
    const char *called = from ? from + 1 : of;
    struct call_name *name = map_get_str(&source->names, called, strlen(called));
    char phrase[128];

    if (name)
        return name;
    snprintf(phrase, sizeof phrase, "in %s", called);
    name = make_name(calls, phrase);
    return name && map_put_str(&source->names, called, strlen(called), name) == 0 ? name : NULL;
}

static _cold_ int add_class(struct calls *calls, const struct item *item)
{
    static const struct {
        const char *group, *name;
        enum call_role role;
        const char *number;
    } events[] = {
        {"raw_syscalls", "sys_enter", CALL_BEGINS, "id"},
        {"raw_syscalls", "sys_exit", CALL_ENDS, NULL},
        {"syscalls", "sys_enter_*", CALL_BEGINS, NULL},
        {"syscalls", "sys_exit_*", CALL_ENDS, NULL},
        {"lock", "contention_begin", LOCK_BEGINS, "flags"},
        {"lock", "contention_end", LOCK_ENDS, NULL},
    };
    const struct event_class *class = item->class;
    struct call_class found = {.known = true, .number = -1};

    if (class_map_grow(calls->classes, calls->n_classes, class) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < ARRAY_SIZE(events) && found.role == CALL_NONE; i++) {
        if ((item->origin->layer != LAYER_GUEST && item->origin->layer != LAYER_HOST) ||
            !kernel_event_is(class, events[i].group, events[i].name))
            continue;
        found.role = (uint8_t)events[i].role;
        found.number = (int16_t)kernel_event_field(class, events[i].number);
        if (found.number >= 0)
            found.names = kernel_event_value_names(class, &class->fields[found.number]);
        if (strcmp(events[i].group, "syscalls") == 0) {
            struct call_source *source = get_source(calls, item->origin);

            found.name = source ? get_name(calls, source, class->name) : NULL;
            if (!found.name)
                return -ENOMEM;
        }
    }
    calls->classes[class->index] = found;
    return 0;
}

/* The call that ITEM begins; NULL: it has no number. 0, -ENOMEM. */
static int find_call(struct calls *calls, struct call_source *source, const struct item *item,
                     const struct call_class *class, const struct call_name **ret_name)
{
    struct value number;
    struct call_name *made;
    const char *called;
    char phrase[128];

    *ret_name = class->name;
    if (class->name || class->number < 0)
        return 0;
    number = item_value(item, (unsigned)class->number);
    if (!number.present)
        return 0;
    *ret_name = map_get(&source->numbers, (uint32_t)number.u);
    if (likely(*ret_name != NULL))
        return 0;
    called = class->names ? value_name(class->names, number.u) : NULL;
    if (called)
        snprintf(phrase, sizeof phrase, "in %s", called);
    else
        snprintf(phrase, sizeof phrase, "in system call %" PRId64, number.i);
    made = make_name(calls, phrase);
    if (!made)
        return -ENOMEM;
    made->has_ends = &source->has_ends;
    *ret_name = made;
    return map_put(&source->numbers, (uint32_t)number.u, made);
}

/* By the flags of lock:contention_begin, as the kernel defines them (include/trace/events/lock.h). */
static const struct call_name *find_lock(const struct item *item, const struct call_class *class)
{
    static const struct {
        uint32_t flag;
        struct call_name name;
    } locks[] = {
        {0x20, {.phrase = "for a mutex"}},         {0x01, {.phrase = "for a spinlock"}},
        {0x08, {.phrase = "for an rtmutex"}},      {0x02, {.phrase = "for a lock to read"}},
        {0x04, {.phrase = "for a lock to write"}}, {0, {.phrase = "for a lock of the kernel"}},
    };
    struct value flags = {0};
    unsigned i = 0;

    if (class->number >= 0)
        flags = item_value(item, (unsigned)class->number);
    while (locks[i].flag != 0 && !(flags.present && (flags.u & locks[i].flag)))
        i++;
    return &locks[i].name;
}

static void forget_source(struct calls *calls, const struct origin *origin)
{
    struct call_source *source = map_get(&calls->sources, origin->number);
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (source && map_next(&source->threads, &iter, &key, &value))
        *(struct call_thread *)value = (struct call_thread){0};
}

int calls_put(struct calls *calls, const struct item *item)
{
    const struct call_class *class;
    struct call_source *source;
    struct call_thread *thread;
    int r;

    if (unlikely(item->kind != ITEM_EVENT)) {
        forget_source(calls, item->origin);
        return 0;
    }
    if (unlikely(item->class->index >= calls->n_classes ||
                 !calls->classes[item->class->index].known) &&
        add_class(calls, item) < 0)
        return -ENOMEM;
    class = &calls->classes[item->class->index];
    if (likely(class->role == CALL_NONE) || item->pid <= 0)
        return 0;
    source = get_source(calls, item->origin);
    if (!source)
        return -ENOMEM;
    r = get_thread(source, item->pid, &thread);
    if (r < 0 || !thread)
        return r;
    switch ((enum call_role) class->role) {
    case CALL_BEGINS:
        thread->lock = NULL;
        return find_call(calls, source, item, class, &thread->call);
    case CALL_ENDS:
        if (class->name)
            class->name->own_ends = true;
        else
            source->has_ends = true;
        *thread = (struct call_thread){0};
        return 0;
    case LOCK_BEGINS: thread->lock = find_lock(item, class); return 0;
    default: thread->lock = NULL; return 0;
    }
}

const struct call_name *calls_find(const struct calls *calls, const struct origin *origin,
                                   int32_t pid)
{
    const struct call_source *source = map_get(&calls->sources, origin->number);
    const struct call_thread *thread = source ? map_get(&source->threads, (uint32_t)pid) : NULL;

    if (!thread)
        return NULL;
    return thread->lock ? thread->lock : thread->call;
}

void calls_done(struct calls *calls)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&calls->sources, &iter, &key, &value)) {
        struct call_source *source = value;
        size_t of_source = 0;
        void *thread;

        while (map_next(&source->threads, &of_source, &key, &thread))
            free(thread);
        map_done(&source->threads);
        map_done(&source->names);
        map_done(&source->numbers);
        free(source);
    }
    map_done(&calls->sources);
    arena_done(&calls->arena);
    free(calls->classes);
    *calls = (struct calls){0};
}
