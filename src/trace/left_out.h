/* SPDX-License-Identifier: MIT */
#pragma once

/* What was left out of a trace of a Linux kernel, as its events show: a text of some CPUs or threads, a trace.dat that lost the pages of
 * a CPU, and a directory that lacks a file have nothing else that says it.
 *
 *  L1  A CPU is left out if a thread was put on it, by a wake-up or a move, and it has no event itself: where switches are in the
 *      trace, one of them would follow. It must have been named twice, 20 ms before the end of what is looked through.
 *  L2  Only selected threads are there if CPUs switch to threads that have no event: a thread leaves a CPU by a switch of its own. So
 *      must one switch of four, three at least, nine of ten of those after which the CPU has events of another thread. Of a whole
 *      machine one of sixty does, to threads that its kernel hides from who recorded: the states of others are true.
 *  L3  The kernel's own filter of threads (set_event_pid, trace-cmd record -F and -P) leaves the events of some threads, and the switches
 *      and wake-ups between these and others. So all switches and wake-ups have such a thread, which is one with other events; and one
 *      switch of fifty, two at least, to threads that have none is followed by events of others on its CPU, one of them to a thread
 *      that has events. Hardly one is to a thread that has other events later: a thread that ends is left out from then on.
 *  L4  It cannot be told where two switches of eight or more are not followed by their threads, which have no event or only switches and wake-ups, and
 *      that is so of one switch of twenty, such threads are on their CPUs for a tenth of the time, or the idle thread is one of them.
 *
 *  L5  Switches themselves are left out, as by a filter of events (perf record --filter, trace-cmd record -f) or by losses that nothing
 *      tells, where one switch of twenty, three at least of eight, is followed by an event of another thread than it names, or a CPU without a
 *      switch has events of changing threads as often, and no choice of threads explains that: two of these threads switch to or wake
 *      each other, or both switch to or from the idle thread. No state follows from switches that are there.
 *  L6  The idle thread is not selected, and its switches are left out for another reason: some kernels record none from it on some CPUs.
 *      What follows it says nothing, unless it has no event at all.
 *
 * A selection that leaves no such trace is not found. Found as well is when the last CPU that has events begins. */

#include "base/cpu_set.h"
#include "event/catalogue.h"
#include "event/source.h"

enum left_out_threads {
    LEFT_OUT_NONE,     /* all threads are there, as far as the events show */
    LEFT_OUT_SELECTED, /* by L2; then CPUs are not looked for */
    LEFT_OUT_FILTERED, /* by L3; then neither */
    LEFT_OUT_SWITCHES, /* by L5; then neither */
    LEFT_OUT_UNSURE,   /* by L4 */
};

struct left_out {
    struct cpu_set
        named; /* threads were put on these CPUs, whether they have events or not; below LEFT_OUT_CPUS */
    struct cpu_set cpus; /* of these, by L1 */
    struct cpu_set with_events;
    enum left_out_threads threads;
    int64_t first; /* time of the first event; TIME_UNKNOWN: there is none */
    int64_t
        last_begin; /* that of the CPU that begins last; 0: there is one CPU at most, or there are no switches */
    unsigned n_switches,
        n_broken; /* after which the CPU has an event of another thread than the switch names; by L5: how often its threads change without a switch */
};

#define LEFT_OUT_CPUS 1024u

/* Looks through the first events of the N SOURCES, of one kernel, which were opened with the result R to be looked through, into
 * CATALOGUE: one, or one for each CPU. Frees all of them. Of a source that cannot be read on, what it had before; of none, nothing, and
 * why it cannot be opened is reported when it is. 0, -ENOMEM. */
int left_out_find_in(int r, struct source **sources, unsigned n, struct catalogue *catalogue,
                     struct left_out *ret);
