/* SPDX-License-Identifier: MIT */
#include "runtime/switches.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/describe.h"
#include "runtime/events.h"
#include "runtime/pattern.h"
#include "runtime/writer.h"

struct rule {
    struct rule *next;
    bool on;
    char pattern[];
};

/* Patterns, and names of events that never were there: a class remembers by itself. In the order in
 * which they hold: of two that match, the last. */
static struct rule *rules;

bool switches_of_new(const char *name)
{
    bool on = false;

    for (const struct rule *rule = rules; rule; rule = rule->next)
        if (pattern_match(rule->pattern, name))
            on = rule->on;
    return on;
}

/* Appends a rule. An older one of the same pattern goes, as it cannot hold any more: so the list is no
 * longer than there are patterns, however often they are switched. */
static int rule_add(const char *pattern, bool on)
{
    struct rule **link = &rules;
    struct rule *rule = NULL;

    while (*link) {
        if (strcmp((*link)->pattern, pattern) == 0) {
            rule = *link;
            *link = rule->next;
        } else {
            link = &(*link)->next;
        }
    }
    if (!rule) {
        size_t size = strlen(pattern) + 1;

        rule = malloc(sizeof(*rule) + size);
        if (!rule)
            return -ENOMEM;
        memcpy(rule->pattern, pattern, size);
    }
    rule->next = NULL;
    rule->on = on;
    *link = rule;
    return 0;
}

static atomic_int n_on;

bool switches_any_on(void)
{
    return atomic_load_explicit(&n_on, memory_order_relaxed) > 0;
}

void event_switch(struct strata_event *event, bool on)
{
    if (!event->compiled_in || !event->state || event->id == 0 ||
        on == (__atomic_load_n(event->state, __ATOMIC_RELAXED) != 0))
        return;
    if (on)
        describe_class(class_by_id(event->id)); /* before its first record comes */
    __atomic_store_n(event->state, on, __ATOMIC_RELAXED);
    if (atomic_fetch_add_explicit(&n_on, on ? 1 : -1, memory_order_relaxed) == 0 && on)
        writer_wake();
}

/* Of a class that several libraries have, all events. */
static void class_switch(struct trace_class *class, bool on)
{
    class->on = on;
    if (class->n_attached == 0)
        return;
    if (class->n_attached == 1) {
        event_switch(class->event, on);
        return;
    }
    for (struct strata_group *group = registry_groups(); group; group = group->next)
        for (uint32_t i = 0; i < group->n_events; i++)
            if (group->events[i].id == class->id)
                event_switch(&group->events[i], on);
}

static int switch_glob(const char *pattern, bool on)
{
    int n = 0;
    int r;

    r = rule_add(pattern, on);
    if (r < 0)
        return r;
    for (uint32_t id = 1; id <= class_count(); id++) {
        struct trace_class *class = class_by_id(id);

        /* Also those whose library is away: it may come back. */
        if (!pattern_match(pattern, class->name))
            continue;
        class_switch(class, on);
        n += class->n_attached && class->compiled_in;
    }
    return n;
}

static int switch_name(const char *name, bool on)
{
    int n = 0;
    bool found = false;

    if (!class_named(name, NULL)) {
        int r = rule_add(name, on);

        return r < 0 ? r : -ENOENT;
    }
    for (struct trace_class *class = class_named(name, NULL); class;
         class = class_named(name, class)) {
        class_switch(class, on);
        found |= class->n_attached;
        n += class->n_attached && class->compiled_in;
    }
    return n ? n : found ? -EPERM : -ENOENT;
}

int strata_event_set_state(const char *pattern, bool on)
{
    int r;

    if (!pattern || !*pattern)
        return -EINVAL;
    registry_lock();
    r = pattern_is_glob(pattern) ? switch_glob(pattern, on) : switch_name(pattern, on);
    registry_unlock();
    return r;
}
