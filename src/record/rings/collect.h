/* SPDX-License-Identifier: MIT */
#pragma once

/* The outside collector: takes from the rings of a program that runs and does not write them out by
 * itself (writer=none). It may be killed; the next one goes on where it was. */

#include "record/rings/drain.h"

struct collector {
    struct process *process;
    struct native *native;
    struct ring_drain *taker;
    int pidfd; /* readable when the process has ended; -1: there is no such thing */
    uint64_t sleep, flushed_at; /* ns */
    bool
        is_quiet; /* its rings filled so slowly that it need not look before one of them closes a sub-buffer */
    bool sweeps; /* removes what children of the process leave (rings_dir_sweep_processes()) */
    uint64_t swept_at; /* ns */
};

/* The trace goes into the directory PATH: a new one, or that which another collector was writing for the
 * same process. -EBUSY: the program writes by itself, or somebody else is at it; -ESRCH: it is dead, and
 * not DEAD_TOO; where it is dead the first step takes all, and is the last.
 * PROCESS is borrowed, and was opened to write. */
int collector_init(struct collector *ret, struct process *process, const char *path, bool dead_too,
                   struct error *error);
void collector_done(struct collector *collector);

/* Takes what there is. *ret_sleep is for how long (ns) there need not be another call. 1; 0: the process
 * has ended, and all is taken. */
int collector_step(struct collector *collector, uint64_t *ret_sleep, struct error *error);
/* A ring closed a sub-buffer while nobody looked: more may come soon. */
void collector_hurry(struct collector *collector);
/* Takes all that there is now, flight recorders too: the last step of one that is told to stop. */
int collector_finish(struct collector *collector, struct error *error);
