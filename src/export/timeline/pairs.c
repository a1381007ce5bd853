/* SPDX-License-Identifier: MIT */
#include "export/timeline/pairs.h"

#include <string.h>

#include "base/glob.h"
#include "base/macro.h"
#include "event/xen_vcpu.h"

#define VMM (1u << LAYER_VMM)
#define XEN (1u << LAYER_HYPERVISOR)
#define KERNEL (1u << LAYER_GUEST | 1u << LAYER_HOST)
#define ANY (~0u)

/* The first one that matches a class counts. strata-export(1) tells of them. */
/* clang-format off */
static const struct pair_rule rules[] = {
    /* What runs on a CPU. */
    {KERNEL, "sched", "sched_switch", NULL, "running", "{next_comm}",
     .idle = "next_pid", .place = ON_CPU},
    {XEN, NULL, "switch_infnext", NULL, "running", "d{dom}v{unit}", .idle = "dom",
     .idle_value = XEN_IDLE_DOMAIN, .place = ON_CPU},
    {XEN, NULL, "vmentry", NULL, "mode", "guest", .place = ON_VCPU},
    {XEN, NULL, "vmexit", NULL, "mode", "hypervisor: {reason}", .place = ON_VCPU},
    {KERNEL, "kvm", "kvm_entry", "kvm_exit", "kvm", "in the guest", .place = ON_THREAD},

    /* Interrupts, and what runs in them. */
    {KERNEL, "irq", "irq_handler_entry", "irq_handler_exit", "irq", "irq {name}",
     .id = {"irq"}, .place = ON_INTERRUPTS},
    {KERNEL, "irq", "softirq_entry", "softirq_exit", "softirq", "softirq {vec}",
     .id = {"vec"}, .place = ON_INTERRUPTS},
    {KERNEL, "irq", "tasklet_entry", "tasklet_exit", "tasklet", "tasklet", .place = ON_INTERRUPTS},
    {KERNEL, "irq_vectors", "*_entry", "*_exit", "*", "*", .id = {"vector"}, .place = ON_INTERRUPTS},
    {KERNEL, "timer", "hrtimer_expire_entry", "hrtimer_expire_exit", "hrtimer", "hrtimer",
     .id = {"hrtimer"}, .place = ON_INTERRUPTS},
    {KERNEL, "timer", "timer_expire_entry", "timer_expire_exit", "timer", "timer", .id = {"timer"},
     .place = ON_INTERRUPTS},

    /* What a thread does. */
    /* The kernel tells raw_syscalls first at both ends: where both are traced, each ends what the other began. */
    {KERNEL, "syscalls", "sys_enter_*", "sys_exit_*", "syscall", "*", .id = {"__syscall_nr"},
     .place = ON_THREAD, .alone = true},
    {KERNEL, "raw_syscalls", "sys_enter", "sys_exit", "syscall", "syscall {id}", .id = {"id"},
     .place = ON_THREAD, .alone = true},
    {KERNEL, "workqueue", "workqueue_execute_start", "workqueue_execute_end", "work", "work",
     .id = {"work"}, .place = ON_THREAD},
    {VMM, NULL, "qmp_enter_*", "qmp_exit_*", "qmp *", "qmp *", .place = ON_THREAD},

    /* Requests: several at a time. */
    {KERNEL, "block", "block_rq_issue", "block_rq_complete", "block", "block {rwbs}",
     .id = {"dev", "sector"}, .place = ON_LANES, .flow = {"sector", "nr_sector"},
     .flow_kind = "rwbs"},
    {VMM, NULL, "virtio_blk_handle_write", "virtio_blk_rw_complete", "virtio_blk", "write",
     .id = {"vdev", "req"}, .place = ON_LANES, .flow = {"sector", "nsectors"}, .flow_kind = "W"},
    {VMM, NULL, "virtio_blk_handle_read", "virtio_blk_rw_complete", "virtio_blk", "read",
     .id = {"vdev", "req"}, .place = ON_LANES, .flow = {"sector", "nsectors"}, .flow_kind = "R"},
    {VMM, NULL, "dma_blk_io", "dma_complete", "dma_blk", "dma_blk", .id = {"dbs"}, .place = ON_LANES},
    {VMM, NULL, "thread_pool_submit", "thread_pool_complete", "thread_pool", "thread_pool",
     .id = {"pool", "req"}, .place = ON_LANES},
    {VMM, NULL, "nvme_submit_command", "nvme_complete_command", "nvme_command", "nvme_command",
     .id = {"s", "cid"}, .place = ON_LANES},

    /* By their names. */
    {ANY, NULL, "*_begin", "*_end", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_enter", "*_exit", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_enter", "*_return", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_entry", "*_exit", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_entry", "*_return", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_start", "*_end", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_start", "*_done", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_start", "*_finish", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
    {ANY, NULL, "*_start", "*_complete", "*", "*", .place = ON_THREAD, .by_name = true, .nests = true},
};

static const struct counter_rule counters[] = {
    {KERNEL, "power", "cpu_frequency", "state", "cpu_id", "frequency of CPU", "kHz"},
    {VMM, NULL, "virtio_balloon_set_config", "actual", NULL, "balloon", "pages"},
    {VMM, NULL, "migration_bitmap_sync_end", "dirty_pages", NULL, "dirty memory", "pages"},
    {XEN, NULL, "csched2_update_runq_load", "load", "runq", "load of runqueue", NULL},
};
/* clang-format on */

static const struct event_class *find_class(const struct catalogue *catalogue,
                                            const struct event_class *like, const char *name)
{
    for (unsigned i = 0; i < catalogue->n_classes; i++) {
        const struct event_class *class = catalogue->classes[i];

        if (class->origin->layer == like->origin->layer && strcmp(class->name, name) == 0 &&
            (!class->group || !like->group || strcmp(class->group, like->group) == 0))
            return class;
    }
    return NULL;
}

static bool applies(const struct pair_rule *rule, const struct event_class *class)
{
    return (rule->layers >> class->origin->layer & 1) &&
           (!rule->group || (class->group && strcmp(rule->group, class->group) == 0));
}

static void find_fields(const struct event_class *class, struct pair_match *match)
{
    const struct pair_rule *rule = match->rule;

    for (unsigned i = 0; i < PAIR_IDS; i++) {
        if (!rule->by_name)
            match->id[i] = event_class_field(class, rule->id[i]);
        match->flow[i] = event_class_field(class, rule->flow[i]);
    }
    match->idle = event_class_field(class, rule->idle);
    match->flow_kind = event_class_field(class, rule->flow_kind);
}

/* Of pairs that are known by their names alone: the addresses that both begin with are what they are about.
 * Outside of kernels, whose functions end in the thread in which they began, such pairs may end in any
 * order. */
static void find_addresses(const struct event_class *class, const struct event_class *other,
                           struct pair_match *match)
{
    match->id[0] = match->id[1] = -1;
    if (KERNEL >> class->origin->layer & 1)
        return;
    for (unsigned i = 0; i < PAIR_IDS && i < class->n_fields && i < other->n_fields; i++) {
        const struct field *a = &class->fields[i];
        const struct field *b = &other->fields[i];

        if (a->type != FIELD_POINTER || b->type != FIELD_POINTER || strcmp(a->name, b->name) != 0)
            break;
        match->id[i] = (int)i;
        match->place = ON_LANES;
    }
}

/* Whether RULE holds for CLASS, whose name matches its begin or end. */
static int try_rule(const struct catalogue *catalogue, const struct pair_rule *rule,
                    const struct event_class *class, struct arena *arena, struct pair_match *match)
{
    const char *mine[] = {rule->begin, rule->end};
    const char *others[] = {rule->end, rule->begin};
    bool matched = false;

    for (unsigned i = 0; i < 2 && mine[i] && !matched; i++) {
        size_t len;
        const char *star = glob_match_star(mine[i], class->name, &len);

        if (!star)
            continue;
        match->place = rule->place;
        if (rule->by_name) {
            const char *name = glob_fill_star(arena, others[i], star, len);
            const struct event_class *other = NULL;

            if (!name)
                return -ENOMEM;
            if (len > 0)
                other = find_class(catalogue, class, name);
            if (!other) {
                match->partner_missing = true;
                continue;
            }
            find_addresses(class, other, match);
        }
        match->role = i == 0 ? PAIR_BEGINS : PAIR_ENDS;
        match->rule = rule;
        match->pair = glob_fill_star(arena, rule->pair, star, len);
        match->name = glob_fill_star(arena, rule->name, star, len);
        if (!match->pair || !match->name)
            return -ENOMEM;
        matched = true;
    }
    return matched;
}

int pair_find(const struct catalogue *catalogue, const struct event_class *class,
              struct arena *arena, struct pair_match *ret_match)
{
    struct pair_match match = {.role = PAIR_NONE};

    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        int r;

        if (!applies(&rules[i], class))
            continue;
        r = try_rule(catalogue, &rules[i], class, arena, &match);
        if (r < 0)
            return r;
        if (r > 0) {
            find_fields(class, &match);
            match.partner_missing = false;
            break;
        }
    }
    *ret_match = match;
    return 0;
}

unsigned counter_number(const struct counter_rule *rule)
{
    return (unsigned)(rule - counters);
}

const struct counter_rule *counter_find(const struct event_class *class)
{
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        const struct counter_rule *rule = &counters[i];

        if ((rule->layers >> class->origin->layer & 1) && strcmp(rule->event, class->name) == 0 &&
            (!rule->group || (class->group && strcmp(rule->group, class->group) == 0)) &&
            event_class_field(class, rule->value) >= 0)
            return rule;
    }
    return NULL;
}
