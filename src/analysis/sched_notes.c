/* SPDX-License-Identifier: MIT */

/* Notes what is not in the rows of scheduling: incomplete waits, contradictions, and what was not recorded. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/sched_row.h"
#include "base/proc.h"

int sched_add_contradictions(const struct sched *sched, struct result *result)
{
    struct result_contradictions *all = &result->contradictions;
    uint64_t missing_wakes = 0, late_vcpus = 0;
    unsigned n_cpus = 0;

    for (unsigned i = 0; i < sched->states->n_sources; i++)
        n_cpus = MAX(n_cpus, states_cpus(sched->states, i));
    all->by_cpu = arena_alloc(&result->arena, MAX(n_cpus, 1u) * sizeof *all->by_cpu);
    if (!all->by_cpu)
        return -ENOMEM;
    for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
        uint64_t n = 0;

        for (unsigned i = 0; i < sched->states->n_sources; i++)
            if (cpu < states_cpus(sched->states, i))
                n += states_cpu_contradictions(sched->states, i, cpu);
        if (n > 0) {
            all->by_cpu[all->n_cpus].cpu = (int32_t)cpu;
            all->by_cpu[all->n_cpus++].n = n;
        }
    }
    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;
        const struct state_counts *counts = states_counts(sched->states, i, &origin);

        all->n += counts->contradictions;
        all->n_checked += counts->switches;
        missing_wakes += counts->missing_wakes;
        late_vcpus += counts->late_vcpus;
        result->unpaired[SPAN_NO_BEGIN] += counts->no_begin;
        result->unpaired[SPAN_OPEN] += counts->open;
        result->unpaired[SPAN_LOST] += counts->lost;
        result->unpaired[SPAN_EARLY] += counts->early;
        result->unpaired[SPAN_GONE] += counts->gone;
        result->unpaired[SPAN_CONTRADICTED] += counts->contradicted;
        result->unpaired[SPAN_GIVEN_UP] += counts->given_up;
    }
    if (late_vcpus > 0) {
        int r = result_add_note(result,
                                "%" PRIu64 " vCPU%s had no change for so long that the states of "
                                "%s domain before do not include it",
                                late_vcpus, late_vcpus == 1 ? "" : "s",
                                late_vcpus == 1 ? "its" : "their");

        if (r < 0)
            return r;
    }
    return missing_wakes == 0
               ? 0
               : result_add_note(result,
                                 "%" PRIu64
                                 " time%s a thread ran after it slept and was not woken in "
                                 "the trace: its sleep and its wait are unknown",
                                 missing_wakes, missing_wakes == 1 ? "" : "s");
}

/* Shares of what was offline are relative to the other time. */
static int add_note_of_offline(const struct sched *sched, struct result *result)
{
    unsigned n = 0;

    if (sched->options.view != SCHED_TIMES)
        return 0;
    for (unsigned i = 0; i < sched->counted->n_rows; i++)
        n += sched->counted->rows[i]->of == STATE_SUBJECT_VCPU &&
             sched->counted->rows[i]->in[STATE_OFFLINE].time > 0 &&
             sched_row_is_shown(sched, sched->counted->rows[i]);
    return n == 0 ? 0
                  : result_add_note(result,
                                    "%u vCPU%s offline for a part of the time (paused, not there "
                                    "yet, or destroyed): shares are of the rest%s",
                                    n, n == 1 ? " was" : "s were",
                                    sched->options.by == SCHED_BY_DOMAIN &&
                                            !sched->options.xenalyze_names
                                        ? ", and CPU% is of all"
                                        : "");
}

/* Notes missing events that tell where a thread is woken and to where it is moved. */
static int add_note_of_moves(const struct sched *sched, struct result *result)
{
    uint64_t n = 0;

    if (sched->options.view != SCHED_WHO)
        return 0;
    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;

        n += states_counts(sched->states, i, &origin)->unseen_moves;
    }
    return n == 0
               ? 0
               : result_add_note(result,
                                 "%" PRIu64 " wait%s ended on a CPU that the thread is not known "
                                 "to have waited for: who ran meanwhile is unknown; "
                                 "record sched_wakeup and sched_migrate_task, too",
                                 n, n == 1 ? "" : "s");
}

/* Notes what a kernel's source lacks, and how to record it. */
int sched_add_notes(const struct sched *sched, struct result *result)
{
    unsigned events = 0;
    bool has_kernel = false, has_guest = false, has_host = false, has_xen = false;
    bool is_filtered = false, may_be_namespaced = false;
    bool by_vcpu = sched->options.by == SCHED_BY_VCPU || sched->options.by == SCHED_BY_VM;

    if (add_note_of_offline(sched, result) < 0 || add_note_of_moves(sched, result) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;
        unsigned has = states_events(sched->states, i);

        (void)states_counts(sched->states, i, &origin);
        if (!(has & STATE_EVENT_SWITCH))
            continue;
        events |= has;
        has_xen |= origin->layer == LAYER_HYPERVISOR;
        has_kernel |= origin->layer != LAYER_HYPERVISOR;
        has_guest |= origin->layer == LAYER_GUEST;
        has_host |= origin->layer == LAYER_HOST;
        may_be_namespaced |= origin->layer == LAYER_HOST && origin->recorder_pid == PID_UNKNOWN;
        is_filtered |= origin->pid_filter;
    }
    if (is_filtered &&
        result_add_note(result,
                        "events of some threads are missing: what these did, and CPUs without the "
                        "others, is unknown; to see it, record without --host-threads, "
                        "set_event_pid, or trace-cmd's -F and -P") < 0)
        return -ENOMEM;
    if (has_kernel && !(events & (STATE_EVENT_WAKE | STATE_EVENT_WAKE_NEW)) &&
        result_add_note(result,
                        "there are no wake-ups in the trace, so the waits after sleep "
                        "count as sleep; record sched_waking, too: -e '%s:sched:*'",
                        has_host ? "host" : "guest") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_CPU && has_kernel && !(events & STATE_EVENT_INTERRUPT) &&
        result_add_note(result,
                        "there are no interrupts in the trace, so they count as busy "
                        "or idle; record them, too: -e '%s:sched:*,%s:irq:*'",
                        has_host ? "host" : "guest", has_host ? "host" : "guest") < 0)
        return -ENOMEM;
    if (by_vcpu && sched->options.view == SCHED_TIMES && !has_xen && !(has_guest && has_host) &&
        result_add_note(result, "stolen time needs sched_switch of the host and of the guest; "
                                "record both: strata record --guest --host -- qemu-system-…") < 0)
        return -ENOMEM;
    if (by_vcpu && result->n_rows == 0 && has_host &&
        result_add_note(result,
                        "no thread of the host is known to run one vCPU and no other; QEMU "
                        "has one thread for each with KVM, and with -accel "
                        "tcg,thread=multi%s",
                        may_be_namespaced ? "; threads have other numbers in a container than in "
                                            "the host's kernel: " PROC_NUMBERS_ADVICE
                                          : "") < 0)
        return -ENOMEM;
    if (sched->analysis.settings.select && sched->analysis.settings.select->options->cpus.n > 0 &&
        result->n_rows == 0 && events &&
        result_add_note(result, "nothing ran on these CPUs or waited for them") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_VM && !has_host &&
        result_add_note(result, "%s",
                        has_xen ? "Xen's virtual machines are domains: use --by=domain"
                                : "the times of a virtual machine come from its threads in the "
                                  "host's kernel; record it: -e 'host:sched:*'") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_DOMAIN && !has_xen &&
        result_add_note(result, "domains are Xen's; record them: strata record --xen -e sched") < 0)
        return -ENOMEM;
    return 0;
}
