/* SPDX-License-Identifier: MIT */
#include "format/ftrace/named_cpus.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "event/value.h"

/* As many events of a kernel are looked through. */
#define EVENTS_MAX (1u << 17)

/* Adds the CPUs that ITEM names to ONCE, or, if they are in it already, to NAMED. */
static void add_named(const struct item *item, struct cpu_set *once, struct cpu_set *named)
{
    static const char *const fields[] = {"target_cpu", "orig_cpu", "dest_cpu"};

    if (item->kind != ITEM_EVENT || !item->class->group || strcmp(item->class->group, "sched") != 0)
        return;
    for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
        int field = event_class_field(item->class, fields[i]);
        struct value value;

        if (field < 0)
            continue;
        value = item_value(item, (unsigned)field);
        if (!value.present || value.u >= FTRACE_NAMED_CPUS_MAX)
            continue;
        cpu_set_add(cpu_set_has(once, (uint32_t)value.u) ? named : once, (uint32_t)value.u);
    }
}

int ftrace_named_cpus(struct source **sources, unsigned n, struct cpu_set *named)
{
    struct cpu_set once = {0};
    int r = 0;

    for (unsigned i = 0; i < n && r != -ENOMEM; i++) {
        unsigned left = EVENTS_MAX / n;
        const struct item *items;

        while (left > 0 && (r = source_next(sources[i], &items)) > 0) {
            unsigned n_items = MIN((unsigned)r, left);

            for (unsigned j = 0; j < n_items; j++)
                add_named(&items[j], &once, named);
            left -= n_items;
        }
    }
    return r == -ENOMEM ? r : 0;
}
