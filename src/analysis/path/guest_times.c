/* SPDX-License-Identifier: MIT */
#include "analysis/path/guest_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_events.h"
#include "analysis/path/origin_key.h"
#include "base/hash.h"
#include "base/macro.h"
#include "event/class_map.h"

struct guest_class {
    bool known, is_step;
    struct exit_class class;
};

static struct guest_log *get_log(struct guest_times *times, const struct item *item)
{
    uint64_t key = origin_key(item->origin, item->pid);
    struct guest_log *log = map_get(&times->logs, key);

    if (likely(log != NULL))
        return log;
    log = calloc(1, sizeof *log);
    if (!log || map_put(&times->logs, key, log) < 0) {
        free(log);
        return NULL;
    }
    return log;
}

static int add(struct guest_times *times, struct guest_log *log, const struct guest_time *time)
{
    if (time->begin >= time->end)
        return 0;
    if (log->n == log->room) {
        unsigned room = MAX(log->room + log->room / 2, 16u);
        struct guest_time *more = realloc(log->times, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        log->times = more;
        log->room = room;
    }
    log->times[log->n++] = *time;
    times->n++;
    return 0;
}

/* Why ITEM left the guest, which is kept. */
static int get_reason(struct guest_times *times, const struct guest_class *class,
                      const struct item *item, const char **ret_reason)
{
    struct exit_reason reason;
    uint64_t key;

    exit_reason_of(&class->class, item, &reason);
    key =
        hash_mix(hash_mix((uint64_t)reason.isa + 1, reason.number), (uint64_t)reason.is_nested + 1);
    *ret_reason = map_get(&times->reasons, key);
    if (likely(*ret_reason != NULL))
        return 0;
    times->text.next = times->text.start;
    exit_reason_put(&class->class, item, &reason, &times->text);
    if (times->text.error)
        return -ENOMEM;
    *ret_reason = arena_strndup(&times->arena, times->text.start, text_len(&times->text));
    return *ret_reason ? map_put(&times->reasons, key, (void *)(uintptr_t)*ret_reason) : -ENOMEM;
}

static int put_step(struct guest_times *times, const struct guest_class *class,
                    const struct item *item)
{
    struct guest_log *log = get_log(times, item);
    struct guest_time time = {.end = item->time};
    int r = 0;

    if (!log)
        return -ENOMEM;
    time.begin = log->has_entered ? log->entered
                 : log->n > 0     ? log->times[log->n - 1].end
                                  : INT64_MIN;
    time.begin_is_missing = !log->has_entered;
    time.end_is_missing = !class->class.begins;
    if (class->class.begins)
        r = get_reason(times, class, item, &time.reason);
    if (r == 0 && (class->class.begins || log->has_entered))
        r = add(times, log, &time);
    log->has_entered = !class->class.begins;
    log->entered = item->time;
    return r;
}

/* Threads that are inside of a guest may have left it. */
static _cold_ int lose(struct guest_times *times, const struct item *loss)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&times->logs, &iter, &key, &value)) {
        struct guest_log *log = value;
        struct guest_time time = {.begin = log->entered, .end = loss->time, .end_is_missing = true};

        if (key >> 32 != loss->origin->number || !log->has_entered)
            continue;
        log->has_entered = false;
        if (add(times, log, &time) < 0)
            return -ENOMEM;
    }
    return 0;
}

static _cold_ int add_class(struct guest_times *times, const struct item *item)
{
    struct guest_class *class;

    if (class_map_grow(times->classes, times->n_classes, item->class) < 0)
        return -ENOMEM;
    class = &times->classes[item->class->index];
    class->known = true;
    if (item->origin->layer != LAYER_HOST)
        return 0;
    exit_class_find(item->class, &class->class);
    class->is_step = class->class.role == EXIT_STEP && class->class.tracer == EXITS_OF_KVM;
    return 0;
}

int guest_times_put(struct guest_times *times, const struct item *item)
{
    if (unlikely(item->kind != ITEM_EVENT))
        return lose(times, item);
    if (unlikely(item->class->index >= times->n_classes ||
                 !times->classes[item->class->index].known) &&
        add_class(times, item) < 0)
        return -ENOMEM;
    if (likely(!times->classes[item->class->index].is_step) || item->pid <= 0 ||
        exit_is_unused(&times->classes[item->class->index].class, item))
        return 0;
    return put_step(times, &times->classes[item->class->index], item);
}

unsigned guest_log_first(const struct guest_log *log, int64_t time)
{
    unsigned low = 0, high = log->n;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (log->times[middle].end > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void guest_times_drop(struct guest_times *times, int64_t until)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&times->logs, &iter, &key, &value)) {
        struct guest_log *log = value;
        unsigned gone = guest_log_first(log, until);

        if (gone > 0)
            memmove(log->times, log->times + gone, (log->n - gone) * sizeof *log->times);
        log->n -= gone;
        times->n -= gone;
    }
}

const struct guest_log *guest_times_find(const struct guest_times *times,
                                         const struct origin *origin, int32_t pid)
{
    return map_get(&times->logs, origin_key(origin, pid));
}

void guest_times_done(struct guest_times *times)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&times->logs, &iter, &key, &value)) {
        free(((struct guest_log *)value)->times);
        free(value);
    }
    map_done(&times->logs);
    map_done(&times->reasons);
    arena_done(&times->arena);
    text_done(&times->text);
    free(times->classes);
    *times = (struct guest_times){0};
}
