/* SPDX-License-Identifier: MIT */
#pragma once

/* VM exits: how often vCPUs leave their guest, why, and how long until they enter it again. Of Xen (vmexit, vmentry), of
 * KVM (kvm_exit, kvm_entry), and of QEMU with KVM (kvm_run_exit, and the next ioctl KVM_RUN). Those of QEMU are part of
 * KVM's, and are not counted where the same host's KVM was traced.
 * Where there are none of these, rows are how often paravirtualised guests of Xen enter it (analysis/exit_pv.h).
 *
 * Rows are by reason; with `detail`, also by what the guest asked for: a port, an address, an MSR, a CPUID leaf, a
 * hypercall. The time of an exit is from the exit to the entry; with `handled`, to the earliest of the entry, of the
 * vCPU's first preemption, and of the end of its first sleep.
 *
 * A vCPU's thread (on Xen: the vCPU) runs when it leaves the guest and when it enters it. What it does between is known
 * from scheduler events of the same source: it runs, waits for a CPU, or sleeps. It is unknown in an exit whose
 * events do not follow from one another, since the last one that did; and in all exits of a source without them.
 *
 * KVM hands what it does not handle on to the VMM: an exit is with the VMM from kvm_userspace_exit to the entry, also while
 * the thread sleeps there. This is unknown in a source without such an event. How long the thread ran there is unknown
 * without scheduler events, too. */

#include "analysis/analysis.h"
#include "analysis/exit_pv.h"
#include "analysis/exit_spans.h"
#include "analysis/result/result_rows.h"
#include "analysis/result/rows.h"
#include "analysis/spans/spans.h"

struct exits_settings {
    bool detail;  /* rows also by what was asked for */
    bool handled; /* the time until the exit was handled, instead of until the entry */
    bool no_idle; /* without exits of idle guests */
};

struct open_exit;

/* What the exits of a row consist of, in ticks. */
struct exit_times {
    uint64_t states[EXIT_STATES];
    uint64_t vmm;         /* with the VMM */
    uint64_t vmm_run;     /* … of this, the thread ran */
    uint64_t vmm_unknown; /* … of this, its state is unknown */
    uint64_t vmm_n;       /* exits that were handed on to the VMM */
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
    struct map state_sources; /* by origin: those whose events tell when a thread or vCPU ran */
    struct map vmm_sources;   /* … that tell which exits the VMM handles */
    uint64_t n_exits[EXIT_TRACERS]; /* that began */
    const struct origin *kvm;       /* of the last exit of KVM; NULL: there was none */
    bool is_unnamed;                /* reasons of Xen are numbers, as the CPU vendor is not known */
    struct duration_columns columns;
    unsigned state_columns[EXIT_STATES];
    unsigned vmm_column, vmm_run_column, vmm_n_column;
};

/* CATALOGUE, and the strings of SETTINGS, outlive EXITS. -EINVAL: more keys than rows have; -ENOMEM. */
int exits_init(struct exits *exits, const struct analysis_settings *settings,
               const struct exits_settings *exits_settings, const struct catalogue *catalogue);
void exits_done(struct exits *exits);
