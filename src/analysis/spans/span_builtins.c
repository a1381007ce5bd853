/* SPDX-License-Identifier: MIT */
#include "analysis/spans/span_rule.h"

#include <string.h>

#include "event/kernel_event.h"
#include "event/vmm_event.h"

/* clang-format off */
const struct span_builtin span_builtins[] = {
    {"irq: irq:irq_handler_entry(irq) -> irq:irq_handler_exit(irq) by cpu", "handlers of interrupts"},
    {"softirq: irq:softirq_entry(vec) -> irq:softirq_exit(vec) by cpu", "softirqs"},
    {"softirq-raise: irq:softirq_raise(vec) -> irq:softirq_entry(vec) by cpu again=first",
     "from the raising of a softirq to its start"},
    {"tasklet: irq:tasklet_entry -> irq:tasklet_exit by cpu", "tasklets"},
    {"vector: irq_vectors:*_entry(vector) -> irq_vectors:*_exit(vector) by cpu", "interrupt vectors of x86"},
    {"hrtimer: timer:hrtimer_expire_entry(hrtimer) -> timer:hrtimer_expire_exit(hrtimer) by cpu",
     "handlers of high-resolution timers"},
    {"hrtimer-start: timer:hrtimer_start(hrtimer) -> timer:hrtimer_expire_entry(hrtimer)",
     "from the start of a high-resolution timer to its end"},
    {"timer: timer:timer_expire_entry(timer) -> timer:timer_expire_exit(timer) by cpu", "handlers of timers"},
    {"syscall: raw_syscalls:sys_enter(id) -> raw_syscalls:sys_exit(id) by thread again=replace", "system calls"},
    {"syscall-*: syscalls:sys_enter_* -> syscalls:sys_exit_* by thread again=replace",
     "system calls, each kind by itself"},
    {"syscall-*: syscall_entry_* -> syscall_exit_* by thread again=replace",
     "system calls of LTTng, each kind by itself"},
    {"function: ftrace:funcgraph_entry|fgraph_retaddr_entry(func) -> ftrace:funcgraph_exit(func) by thread again=nest",
     "functions of the kernel, by its tracer function_graph"},
    {"marker: ftrace:print{buf == \"B|*\"} -> ftrace:print{buf == \"E\" || buf == \"E\\n\" || buf == \"E|*\"} by thread again=nest",
     "what programs write into trace_marker, B and E"},
    {"marker-async: ftrace:print(buf>>1){buf == \"S|*\"} -> ftrace:print(buf>>1){buf == \"F|*\"}",
     "the same, S and F"},
    {"workqueue: workqueue:workqueue_execute_start(work) -> workqueue:workqueue_execute_end(work) by thread",
     "work items"},
    /* A flush completes once more, at no sector. */
    /* A flush has no sectors, and the completions of several cannot be told apart: strata io knows them. */
    {"block: block:block_rq_issue(dev,sector){nr_sector > 0} -> block:block_rq_complete(dev,sector){nr_sector > 0}",
     "requests at block devices"},
    /* Where the kernel accounts a request, which may end in any thread. */
    {"block-io: block:block_io_start(dev,sector) -> block:block_io_done(dev,sector)",
     "requests at block devices, as the kernel accounts them"},
    {"block-queue: block:block_bio_queue(dev,sector) -> block:block_rq_issue(dev,sector)",
     "from the queueing of a request to its issue"},
    {"exit: " KERNEL_GUEST_GROUP ":" KERNEL_GUEST_EXIT " -> " KERNEL_GUEST_GROUP ":" KERNEL_GUEST_ENTRY " by thread", "exits of KVM's vCPUs: strata exits says more"},
    {"exit: hypervisor:vmexit|nested_vmexit -> hypervisor:vmentry|nested_vmentry by vcpu", "exits of Xen's vCPUs: strata exits says more"},
    {"virtio-blk: vmm:virtio_blk_handle_read|virtio_blk_handle_write(vdev,req) -> vmm:virtio_blk_rw_complete(vdev,req)",
     "requests at QEMU's virtio-blk devices"},
    {"thread-pool: vmm:" VMM_POOL_SUBMIT "(pool,req) -> vmm:" VMM_POOL_COMPLETE "(pool,req)",
     "requests to QEMU's thread pool"},
    {"dma-blk: vmm:dma_blk_io(dbs) -> vmm:dma_complete(dbs)", "QEMU's DMA from and to block devices"},
    {"nvme: vmm:nvme_submit_command(s,cid) -> vmm:nvme_complete_command(s,cid)", "requests of QEMU to an NVMe disk"},
    {"qmp: vmm:qmp_enter_* -> vmm:qmp_exit_* by thread", "QEMU's monitor commands"},
    {0},
};
/* clang-format on */

const char *span_builtin_find(const char *start)
{
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++)
        if (strncmp(builtin->rule, start, strlen(start)) == 0)
            return builtin->rule;
    return NULL;
}
