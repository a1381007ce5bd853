/* SPDX-License-Identifier: MIT */
#pragma once

/* How this program traces. Included instead of strata/percpu.h, as it says first how a processor finds what
 * it traces with. */

#include <stdint.h>

#include "strata/percpu_area.h"

/* What a processor traces with. It counts what it traces, so that the program can tell at the end; a real
 * one would have no use for that. */
struct trace_cpu {
    struct strata_percpu_cpu percpu;
    uint64_t traced[2]; /* records, by the processor and by its interrupts */
    unsigned in_interrupt;
};

extern _Thread_local struct trace_cpu trace_cpu;

static inline struct strata_percpu_cpu *trace_self(void)
{
    trace_cpu.traced[trace_cpu.in_interrupt]++;
    return &trace_cpu.percpu;
}

#define STRATA_PERCPU_SELF() trace_self()
#include "strata/percpu.h"

/* Events that have Xen's numbers, with the words that Xen's have. */
enum {
    TRC_CONTINUE_RUNNING = 0x21002, /* vcpu:16 | dom:16 */
    TRC_DOM_ADD = 0x28001,          /* dom */
    TRC_WAKE = 0x28004,             /* dom, vcpu */
    TRC_YIELD = 0x28005,            /* dom, vcpu */
    TRC_BLOCK = 0x28006,            /* dom, vcpu */
    TRC_SWITCH = 0x2800a,           /* dom, vcpu before, dom, vcpu after */
    TRC_VMENTRY = 0x81001,
    TRC_SVM_EXIT64 = 0x81103, /* reason, rip: 64 */
};

/* A vCPU goes from one state to another: vcpu:16 | dom:16. */
enum runstate { RUNNING, RUNNABLE, BLOCKED, OFFLINE };
#define TRC_RUNSTATE_CHANGE(from, to) (0x21001 | (from) << 8 | (to) << 4)

/* Events of this program's own: a number in the class of guests, and a line in `events`. */
#define TRC_TOY_TICK (STRATA_TRC_GUEST | 1) /* cpu, count, whether a guest ran */
#define TRC_TOY_PAGE (STRATA_TRC_GUEST | 2) /* vcpu:16 | dom:16, address: 64 */

/* Makes the shared-memory object NAME with buffers of PAGES pages for N_CPUS processors. 0, or a negative
 * errno. */
int trace_init(const char *name, unsigned n_cpus, unsigned pages);
/* Removes its name. Who has it open keeps it. */
void trace_done(const char *name);
/* By a processor, when it begins. */
int trace_cpu_init(unsigned number);
