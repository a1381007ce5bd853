/* SPDX-License-Identifier: MIT */
#include "export/timeline/span_styles.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "event/xen_vcpu.h"

_Static_assert(XEN_IDLE_DOMAIN == 32767, "a rule below has the number");

/* strata-export(1) lists them. */
/* clang-format off */
static const struct span_style styles[] = {
    /* What runs on a CPU. */
    {NULL, "running: sched:sched_switch{next_pid != 0} -> sched:sched_switch by cpu",
     "running", "{next_comm}", ON_CPU},
    {NULL, "running: hypervisor:switch_infnext{dom != 32767} -> hypervisor:switch_infnext by cpu",
     "running", "d{dom}v{unit}", ON_CPU},
    {NULL, "guest: hypervisor:vmentry -> hypervisor:vmexit by vcpu", "mode", "guest", ON_VCPU},
    {"vmexit", NULL, "mode", "hypervisor: {reason}", ON_VCPU},
    {NULL, "guest: kvm:kvm_entry -> kvm:kvm_exit by thread", "kvm", "in the guest", ON_THREAD},

    /* Interrupts, and what runs in them. */
    {"irq_handler_entry", NULL, "irq", "irq {name}", ON_INTERRUPTS},
    {"softirq_entry", NULL, "softirq", "softirq {vec}", ON_INTERRUPTS},
    {"tasklet_entry", NULL, "tasklet", "tasklet", ON_INTERRUPTS},
    {"*_entry", NULL, "*", "*", ON_INTERRUPTS},
    {"hrtimer_expire_entry", NULL, "hrtimer", "hrtimer", ON_INTERRUPTS},
    {"timer_expire_entry", NULL, "timer", "timer", ON_INTERRUPTS},

    /* What a thread does. */
    {"sys_enter_*", NULL, "syscall", "*", ON_THREAD},
    {"sys_enter", NULL, "syscall", "syscall {id}", ON_THREAD},
    {"workqueue_execute_start", NULL, "work", "work", ON_THREAD},
    {"qmp_enter_*", NULL, "qmp *", "qmp *", ON_THREAD},

    /* Requests: several at a time. */
    {"block_rq_issue", NULL, "block", "block {rwbs}", ON_LANES, {"sector", "nr_sector"}, "rwbs"},
    {"virtio_blk_handle_*", NULL, "virtio_blk", "*", ON_LANES, {"sector", "nsectors"}, "*"},
    {"dma_blk_io", NULL, "dma_blk", "dma_blk", ON_LANES},
    {"thread_pool_submit", NULL, "thread_pool", "thread_pool", ON_LANES},
    {"nvme_submit_command", NULL, "nvme_command", "nvme_command", ON_LANES},
};
/* clang-format on */

const struct span_style span_style_by_name = {.title = "*", .name = "*", .place = ON_THREAD};
const struct span_style span_style_by_address = {.title = "*", .name = "*", .place = ON_LANES};

int span_style_rule(unsigned number, struct arena *arena, struct span_rule *ret_rule,
                    const struct span_style **ret_style)
{
    const struct span_style *style;
    struct span_rule rule;
    int r;

    if (number >= ARRAY_SIZE(styles))
        return -ENOENT;
    style = &styles[number];
    *ret_style = style;
    if (style->rule)
        return span_rule_parse(style->rule, NULL, arena, ret_rule, NULL);
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        r = span_rule_parse(builtin->rule, NULL, arena, &rule, NULL);
        if (r < 0)
            return r;
        if (strcmp(rule.steps[0].event, style->begin) == 0) {
            *ret_rule = rule;
            return 0;
        }
    }
    return -ENOENT;
}
