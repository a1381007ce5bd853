/* SPDX-License-Identifier: MIT */
#include "analysis/states/switch_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/kernel_event.h"
#include "event/switches.h"
#include "event/value.h"

/* The number of a field that is a number; -1: none. */
static int find_field(const struct event_class *class, const char *name)
{
    int i = kernel_event_field(class, name);

    return i >= 0 && class->fields[i].storage == STORE_SCALAR ? i : -1;
}

static _cold_ void look_at_class(struct switch_check *check, const struct event_class *class)
{
    enum layer layer = class->origin->layer;

    check->class = class;
    check->prev = check->next = -1;
    if ((layer != LAYER_GUEST && layer != LAYER_HOST) ||
        !kernel_event_is(class, "sched", "sched_switch"))
        return;
    check->prev = find_field(class, "prev_pid");
    check->next = find_field(class, "next_pid");
}

static struct cpu_switches *get_cpu(struct switch_check *check, const struct item *item)
{
    uint64_t key = (uint64_t)(uintptr_t)item->origin * 65536 + (uint16_t)item->cpu;
    struct cpu_switches *cpu = map_get(&check->cpus, key);

    if (cpu)
        return cpu;
    cpu = calloc(1, sizeof *cpu);
    if (cpu && map_put(&check->cpus, key, cpu) < 0) {
        free(cpu);
        return NULL;
    }
    return cpu;
}

/* Nothing is known of what runs on the CPU of LOSS, or on any where that is not known. */
static int forget(struct switch_check *check, const struct item *loss)
{
    struct cpu_switches *cpu;
    size_t iter = 0;
    uint64_t key;
    void *value;

    if (loss->cpu != CPU_UNKNOWN) {
        cpu = get_cpu(check, loss);
        if (!cpu)
            return -ENOMEM;
        cpu->known = false;
        return 0;
    }
    while (map_next(&check->cpus, &iter, &key, &value)) {
        cpu = value;
        cpu->known = false;
    }
    return 0;
}

int switch_check_add(struct switch_check *check, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        struct cpu_switches *cpu;

        if (unlikely(item->kind != ITEM_EVENT)) {
            if (forget(check, item) < 0)
                return -ENOMEM;
            continue;
        }
        if (item->class != check->class)
            look_at_class(check, item->class);
        if (likely(check->prev < 0 || check->next < 0) || item->cpu == CPU_UNKNOWN)
            continue;
        cpu = get_cpu(check, item);
        if (!cpu)
            return -ENOMEM;
        check->n++;
        check->broken += !cpu_switch(cpu, item_value(item, (unsigned)check->prev).u,
                                     item_value(item, (unsigned)check->next).u);
    }
    return 0;
}

void switch_check_done(struct switch_check *check)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&check->cpus, &iter, &key, &value))
        free(value);
    map_done(&check->cpus);
}
