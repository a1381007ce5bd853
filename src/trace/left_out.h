/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds what was left out of a trace of a Linux kernel by its events alone. Some traces have nothing else that tells
 * it: a text of some CPUs or threads, a trace.dat without the pages of a CPU, a directory without one of its files.
 *
 *  L1  A CPU is left out if threads are put on it, by wake-ups or moves, and it has no events. It must be named twice,
 *      the second time at least 20 ms before the end of the examined events. The trace must have switches, since such a
 *      CPU would switch to the thread.
 *  L2  Only selected threads are there if CPUs switch to threads that have no events. A thread that ran would leave its
 *      CPU by a switch of its own. At least one of four switches must be like that, at least three, and nine of ten of
 *      the switches after which the CPU has events of another thread. In a trace of a whole machine, one of sixty is,
 *      because the kernel hides some threads from the recorder. The states of the other threads are true.
 *  L3  The kernel's own filter of threads (set_event_pid, trace-cmd record -F and -P) leaves the events of some
 *      threads, and their switches and wake-ups. Then each switch and wake-up has at least one thread with other
 *      events. At least one of fifty switches, at least two, goes to a thread without other events and is followed by
 *      events of other threads on its CPU. At least one of these goes to a thread that has switches or wake-ups. At
 *      most one of ten goes to a thread that has other events later. A thread that ends is left out from then on.
 *  L4  It is uncertain whether threads are left out if at least two of eight or more switches are not followed by their
 *      thread, and this thread has no events or only switches and wake-ups. In addition, these are one of twenty
 *      switches, or such threads without events are on their CPUs for a tenth of the time, or three such switches go to
 *      the idle thread.
 *  L5  Switches themselves are left out, by a filter of events (perf record --filter, trace-cmd record -f) or by losses
 *      that nothing states. Then one of twenty switches, at least three, is followed by an event of another thread than
 *      it names; a change of threads on a CPU without a switch counts as well. And no selection of threads explains
 *      this: two of these threads switch to or wake each other, or both switch to or from the idle thread. The trace
 *      must have eight switches. No states can be computed from such switches.
 *  L6  The idle thread is not selected. Its switches are left out for another reason: some kernels do not record them
 *      on some CPUs. So events after a switch to it prove nothing, unless it has no events at all.
 *
 * A selection of threads that leaves no such marks is not found. The search also finds when the last CPU with events
 * begins. */

#include "base/cpu_set.h"
#include "event/catalogue.h"
#include "event/source.h"

enum left_out_threads {
    LEFT_OUT_NONE,     /* as far as the events show, all threads are there */
    LEFT_OUT_SELECTED, /* by L2; left-out CPUs are not searched for */
    LEFT_OUT_FILTERED, /* by L3; likewise */
    LEFT_OUT_SWITCHES, /* by L5; likewise */
    LEFT_OUT_UNSURE,   /* by L4 */
};

struct left_out {
    /* Threads were put on these CPUs, with or without events; numbers below LEFT_OUT_CPUS. */
    struct cpu_set named;
    struct cpu_set cpus; /* CPUs that were left out, by L1 */
    struct cpu_set with_events;
    enum left_out_threads threads;
    int64_t first; /* time of the first event, or TIME_UNKNOWN without events */
    /* First time of the CPU that begins last; 0 for a single CPU or without switches. */
    int64_t last_begin;
    /* `n_broken`: switches after which the CPU has an event of another thread than the switch names; with
     * LEFT_OUT_SWITCHES, changes of threads without a switch. */
    unsigned n_switches, n_broken;
};

#define LEFT_OUT_CPUS 1024u

/* Examines the first events of N SOURCES of one kernel: one source, or one for each CPU. R is the result of opening
 * them into CATALOGUE. Frees all sources. If R or a source has an error, only the items before the error are examined;
 * the real opening reports the error. 0, -ENOMEM. */
int left_out_find_in(int r, struct source **sources, unsigned n, struct catalogue *catalogue,
                     struct left_out *ret);
