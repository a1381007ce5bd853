/* SPDX-License-Identifier: MIT */
#pragma once

/* What was left out of a trace of a Linux kernel, as its events show: a text of some CPUs or threads, a trace.dat that lost the pages of
 * a CPU, and a directory that lacks a file have nothing else that says it.
 *
 *  L1  A CPU is left out if a thread was put on it, by a wake-up or a move, and it has no event itself: where switches are in the
 *      trace, one of them would follow. It must have been named twice, 20 ms before the end of what is looked through.
 *  L2  Only some threads are there if CPUs switch to threads that have no event: a thread leaves a CPU by a switch of its own. So must three
 *      switches at least, nine of ten of those after which the CPU has events of another thread, and either half of all switches or
 *      one to the idle thread: a thread that alone was hidden leaves the states of others true.
 *  L3  The kernel's own filter of threads (set_event_pid, trace-cmd record -F and -P) leaves the events of some threads, and the switches
 *      and wake-ups between these and others. So all switches and wake-ups have such a thread, which is one with other events; and at
 *      least two switches to threads that have none are followed by events of others on their CPU, one of them to a thread that has
 *      events, and none to a thread that has such ones.
 *
 * A selection that leaves no such trace is not found. */

#include "base/cpu_set.h"
#include "event/catalogue.h"
#include "event/source.h"

struct left_out {
    struct cpu_set
        named; /* threads were put on these CPUs, whether they have events or not; below LEFT_OUT_CPUS */
    struct cpu_set cpus; /* of these, by L1 */
    bool threads;        /* then no CPUs */
    bool filtered;       /* by L3: then neither */
};

#define LEFT_OUT_CPUS 1024u

/* Looks through the first events of the N SOURCES, of one kernel: one, or one for each CPU. 0, -ENOMEM; of a source that cannot be read
 * on, what it had before. */
int left_out_find(struct source **sources, unsigned n, struct left_out *ret);
/* The same of what was opened once more to be looked through, into CATALOGUE, with the result R; frees it. Why it cannot be opened is
 * reported when it is. */
int left_out_find_in(int r, struct source **sources, unsigned n, struct catalogue *catalogue,
                     struct left_out *ret);
