/* SPDX-License-Identifier: MIT */
#include "tracks/counter_tracks.h"

#include <string.h>

#include "base/macro.h"
#include "event/kernel_event.h"

#define VMM (1u << LAYER_VMM)
#define XEN (1u << LAYER_HYPERVISOR)
#define KERNEL (1u << LAYER_GUEST | 1u << LAYER_HOST)

/* clang-format off */
static const struct counter_rule counters[] = {
    {KERNEL, "power", "cpu_frequency", "state", "cpu_id", "frequency of CPU", "kHz"},
    {VMM, NULL, "virtio_balloon_set_config", "actual", NULL, "balloon", "pages"},
    {VMM, NULL, "migration_bitmap_sync_end", "dirty_pages", NULL, "dirty memory", "pages"},
    {XEN, NULL, "csched2_update_runq_load", "load", "runq", "load of runqueue", NULL},
};
/* clang-format on */

unsigned counter_number(const struct counter_rule *rule)
{
    return (unsigned)(rule - counters);
}

const struct counter_rule *counter_find(const struct event_class *class)
{
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        const struct counter_rule *rule = &counters[i];

        if ((rule->layers >> class->origin->layer & 1) &&
            (rule->group ? kernel_event_is(class, rule->group, rule->event)
                         : event_class_is_named(class, rule->event)) &&
            event_class_field(class, rule->value) >= 0)
            return rule;
    }
    return NULL;
}
