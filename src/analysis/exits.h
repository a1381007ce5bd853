/* SPDX-License-Identifier: MIT */
#pragma once

/* Analyses VM exits: how often vCPUs leave their guest, why, and how long until they enter it again. The exits are
 * recorded by Xen (vmexit, vmentry), by KVM (kvm_exit, kvm_entry), or by QEMU with KVM (kvm_run_exit, and the next
 * ioctl KVM_RUN). KVM's exits include QEMU's, so QEMU's are not counted if the same host's KVM was traced. Without any
 * of these, rows count how often paravirtualised guests of Xen enter it (analysis/exit_pv.h).
 *
 * Rows are by reason; with `detail`, also by what the guest requested: a port, an address, an MSR, a CPUID leaf, a
 * hypercall. The time of an exit is from the exit to the entry. With `handled`, it ends at the entry, the vCPU's first
 * preemption, or the end of its first sleep, whichever is first.
 *
 * A vCPU's thread (on Xen: the vCPU) runs when it leaves the guest and when it enters it. Scheduler events of the same
 * source tell what it does in between: it runs, waits for a CPU, or sleeps. If these events do not follow from one
 * another in an exit, its state is unknown since the last one that did. It is always unknown in a source without such
 * events.
 *
 * KVM passes exits that it does not handle to the VMM. An exit is with the VMM from kvm_userspace_exit to the entry,
 * also while the thread sleeps there. This is unknown in a source without such events. How long the thread ran there is
 * unknown without scheduler events. */

#include "analysis/analysis.h"
#include "analysis/exit_pv.h"
#include "analysis/exit_spans.h"
#include "analysis/result/result_rows.h"
#include "analysis/result/rows.h"
#include "analysis/spans/spans.h"

struct exits_settings {
    bool detail;  /* rows are also by what the guest requested */
    bool handled; /* count the time until the exit was handled, not until the entry */
    bool no_idle; /* without exits of idle guests */
};

struct open_exit;

/* The parts of the exits of a row, in ticks. */
struct exit_times {
    uint64_t states[EXIT_STATES];
    uint64_t vmm;         /* with the VMM */
    uint64_t vmm_run;     /* … part of it in which the thread ran */
    uint64_t vmm_unknown; /* … part of it in which its state is unknown */
    uint64_t vmm_n;       /* exits that were passed to the VMM */
};

struct exits {
    struct analysis analysis; /* first */
    struct exits_settings settings;
    struct spans spans;
    struct rows rows;
    struct exit_pv pv;
    struct arena arena;
    struct open_exit *free;
    struct exit_classes classes;
    struct exit_times *times; /* of each row */
    unsigned n_times;
    struct map state_sources; /* by origin: sources whose events tell when a thread or vCPU ran */
    struct map vmm_sources;   /* … sources that tell which exits the VMM handles */
    uint64_t n_exits[EXIT_TRACERS]; /* that began */
    const struct origin *kvm;       /* of the last exit of KVM, or NULL */
    bool is_unnamed; /* reasons of Xen are numbers, because the CPU vendor is unknown */
    struct duration_columns columns;
    unsigned state_columns[EXIT_STATES];
    unsigned vmm_column, vmm_run_column, vmm_n_column;
};

/* CATALOGUE and the strings of SETTINGS outlive EXITS. -EINVAL if there are more keys than rows have; -ENOMEM. */
int exits_init(struct exits *exits, const struct analysis_settings *settings,
               const struct exits_settings *exits_settings, const struct catalogue *catalogue);
void exits_done(struct exits *exits);
