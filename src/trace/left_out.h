/* SPDX-License-Identifier: MIT */
#pragma once

/* What a trace of a Linux kernel was left out of, as its events show: a text of some CPUs or threads has nothing else that says it.
 *
 *  L1  A CPU is left out if a thread was put on it, by a wake-up or a move, and it has no event itself: where switches are in the
 *      trace, one of them would follow. It must have been named twice, 20 ms before the end of what is looked through.
 *  L2  Only some threads are there if CPUs switch to threads that have no event: a thread leaves a CPU by a switch of its own. So must three
 *      switches at least, nine of ten of those after which the CPU has events of another thread, and either half of all switches or
 *      one to the idle thread: a thread that alone was hidden leaves the states of others true.
 *
 * A selection that leaves no such trace is not found. */

#include "base/cpu_set.h"
#include "event/source.h"

struct left_out {
    struct cpu_set cpus; /* below LEFT_OUT_CPUS */
    bool threads;        /* then no CPUs */
};

#define LEFT_OUT_CPUS 1024u

/* Looks through the first events of SOURCE. 0, -ENOMEM; of a source that cannot be read on, what it had before. */
int left_out_find(struct source *source, struct left_out *ret);
