/* SPDX-License-Identifier: MIT */

/* Groups of events come, when a program or one of its libraries starts, and go, when a library is unloaded. The
 * registry (runtime/events.h), the rules, the options and the control socket hear of it from here, and none of
 * them knows this file. */

#include <inttypes.h>
#include <string.h>

#include "runtime/control/control.h"
#include "runtime/control/event_rules.h"
#include "runtime/control/options.h"
#include "runtime/events.h"
#include "runtime/message.h"
#include "runtime/ring/process_dir.h"

static void class_attach(struct trace_class *class, struct strata_event *event)
{
    event->id = class->id;
    class->event = event;
    class->n_attached++;
    class->compiled_in |= event->compiled_in;
}

/* Attaches the classes of a group's events. New classes are allocated in one piece, because thousands of events are
 * registered while a program starts. Returns the number of events for which there is no memory. */
static uint32_t group_attach(struct strata_group *group)
{
    uint32_t n_refused = 0;
    struct trace_class *classes =
        registry_reserve(group->n_events) < 0 ? NULL : calloc(group->n_events, sizeof(*classes));
    struct trace_class *fresh = classes;

    for (uint32_t i = 0; i < group->n_events; i++) {
        struct strata_event *event = &group->events[i];
        uint32_t hash;
        struct trace_class *class = class_declared(event, &hash);

        if (!class && fresh) {
            *fresh = (struct trace_class){
                .name = event->name,
                .format = event->format,
                .fields = event->fields,
                .file = event->file,
                .line = event->line,
                .hash = hash,
                .n_fields = event->n_fields,
            };
            if (registry_add_class(fresh) >= 0) {
                class = fresh++;
                event_rules_of_new(class);
            }
        }
        /* What switches itself on is described before: no record comes that nothing could decode. */
        if (!class || (event->own_state && !process_dir_describe(class))) {
            event->id = 0;
            n_refused++;
            continue;
        }
        class_attach(class, event);
        if (class->on || !event->own_state)
            event_switch(event, class);
    }
    if (fresh == classes)
        free(classes);
    registry_refuse(n_refused);
    return n_refused;
}

/* Gives CLASS strings and fields of its own. Without memory the description is emptied:
 * the class's records then cannot be decoded and count as lost. */
static void class_keep(struct trace_class *class)
{
    size_t size = strlen(class->name) + 1 + (class->format ? strlen(class->format) + 1 : 0) +
                  (class->file ? strlen(class->file) + 1 : 0);
    struct strata_field *fields;
    char *at;

    for (unsigned i = 0; i < class->n_fields; i++)
        size += strlen(class->fields[i].name) + strlen(class->fields[i].type) + 2;
    fields = malloc(class->n_fields * sizeof(*fields) + size);
    if (!fields) {
        class->name = "";
        class->format = NULL;
        class->file = NULL;
        class->fields = NULL;
        class->n_fields = 0;
        class->copied = true;
        return;
    }
    at = (char *)(fields + class->n_fields);
#define KEEP(text)                   \
    ({                               \
        char *kept_ = at;            \
        at = stpcpy(at, (text)) + 1; \
        kept_;                       \
    })
    class->name = KEEP(class->name);
    if (class->format)
        class->format = KEEP(class->format);
    if (class->file)
        class->file = KEEP(class->file);
    for (unsigned i = 0; i < class->n_fields; i++) {
        fields[i] = class->fields[i];
        fields[i].name = KEEP(class->fields[i].name);
        fields[i].type = KEEP(class->fields[i].type);
    }
#undef KEEP
    class->fields = fields;
    class->copied = true;
}

void strata_group_register(struct strata_group *group)
{
    uint32_t n_refused;

    if (group->abi != STRATA_TRACE_ABI) {
        registry_refuse(group->n_events);
        return;
    }
    registry_lock();
    registry_add_group(group);
    n_refused = group_attach(group);
    event_rules_report();
    registry_unlock();
    if (n_refused)
        trace_message("%" PRIu32 " of the %" PRIu32 " events of %s cannot be traced: out of memory",
                      n_refused, group->n_events, group->name);
    options_group_came(group);
    control_start(&control_requests);
}

/* Another registered event of CLASS, not in LEAVING. */
static struct strata_event *other_of(const struct trace_class *class)
{
    for (struct strata_group *group = registry_groups(); group; group = group->next)
        for (uint32_t i = 0; i < group->n_events; i++)
            if (group->events[i].id == class->id)
                return &group->events[i];
    return NULL;
}

void strata_group_unregister(struct strata_group *group)
{
    registry_lock();
    if (!registry_remove_group(group)) { /* was refused, or never came */
        registry_unlock();
        return;
    }
    for (uint32_t i = 0; i < group->n_events; i++) {
        struct strata_event *event = &group->events[i];
        struct trace_class *class = class_by_id(event->id);

        if (!class)
            continue;
        event_switch_off(event);
        class->n_attached--;
        if (class->event == event)
            class->event = class->n_attached ? other_of(class) : NULL;
        /* The texts may be this event's even when others of the class stay. */
        if (!class->copied)
            class_keep(class);
    }
    registry_unlock();
}
