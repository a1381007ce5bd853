/* SPDX-License-Identifier: MIT */
#include "tracks/span_styles.h"

#include "base/macro.h"
#include "event/kernel_event.h"
#include "event/xen_vcpu.h"
#include <errno.h>

_Static_assert(XEN_IDLE_DOMAIN == 32767, "a rule below has the number");

/* strata-export(1) lists them. */
/* clang-format off */
static const struct span_style styles[] = {
    /* What runs on a CPU. */
    {NULL, "running: sched:sched_switch{next_pid != 0} -> sched:sched_switch by cpu",
     "running", "{next_comm}", ON_CPU},
    {NULL, "running: hypervisor:switch_infnext{dom != 32767} -> hypervisor:switch_infnext by cpu",
     "running", "d{dom}v{unit}", ON_CPU},
    {NULL, "guest: hypervisor:vmentry|nested_vmentry -> hypervisor:vmexit|nested_vmexit by vcpu", "mode", "guest", ON_VCPU},
    {"exit: hypervisor:", NULL, "mode", "hypervisor: {" STYLE_EXIT_REASON "}", ON_VCPU},
    {NULL, "guest: " KERNEL_GUEST_GROUP ":" KERNEL_GUEST_ENTRY " -> " KERNEL_GUEST_GROUP ":" KERNEL_GUEST_EXIT " by thread", "kvm", "in the guest", ON_THREAD},
    {"exit: " KERNEL_GUEST_GROUP ":", NULL, "exit", "exit: {" STYLE_EXIT_REASON "}", ON_EXITS},

    /* Interrupts, and what runs in them. */
    {"irq:", NULL, "irq", "irq {name}", ON_INTERRUPTS},
    {"softirq:", NULL, "softirq", "softirq {name|vec}", ON_INTERRUPTS},
    {"tasklet:", NULL, "tasklet", "tasklet", ON_INTERRUPTS},
    {"vector:", NULL, "*", "*", ON_INTERRUPTS},
    {"hrtimer:", NULL, "hrtimer", "hrtimer", ON_INTERRUPTS},
    {"timer:", NULL, "timer", "timer", ON_INTERRUPTS},

    /* What a thread does. */
    {"syscall-*: syscalls:", NULL, "syscall", "*", ON_THREAD},
    {"syscall-*: syscall_", NULL, "syscall", "*", ON_THREAD},
    {"syscall:", NULL, "syscall", "syscall {id}", ON_THREAD},
    {"function:", NULL, "function", "{func}", ON_THREAD},
    {"marker:", NULL, "marker", "{" STYLE_MARKER "}", ON_THREAD},
    {"marker-async:", NULL, "marker", "{" STYLE_MARKER "}", ON_LANES},
    {"workqueue:", NULL, "work", "work", ON_THREAD},
    {"qmp:", NULL, "qmp *", "qmp *", ON_THREAD},

    /* Requests: several at a time. */
    {"block:", NULL, "block", "block {rwbs}", ON_LANES, {"sector", "nr_sector"}, "rwbs"},
    {"block-io:", NULL, "block io", "block io {rwbs}", ON_LANES},
    {"virtio-blk:", NULL, "virtio_blk", "*", ON_LANES, {"sector", "nsectors"}, "*"},
    {"dma-blk:", NULL, "dma_blk", "dma_blk", ON_LANES},
    {"thread-pool:", NULL, "thread_pool", "thread_pool", ON_LANES},
    {"nvme:", NULL, "nvme_command", "nvme_command", ON_LANES},
};
/* clang-format on */

const struct span_style span_style_by_name = {.title = "*", .name = "*", .place = ON_THREAD};
const struct span_style span_style_by_address = {.title = "*", .name = "*", .place = ON_LANES};

int span_style_rule(unsigned number, struct arena *arena, struct span_rule *ret_rule,
                    const struct span_style **ret_style)
{
    const struct span_style *style;
    const char *text;

    if (number >= ARRAY_SIZE(styles))
        return -ENOENT;
    style = &styles[number];
    text = style->rule ? style->rule : span_builtin_find(style->builtin);
    *ret_style = style;
    return span_rule_parse(text, NULL, arena, ret_rule, NULL);
}
