/* SPDX-License-Identifier: MIT */
#pragma once

/* The outside collector: drains the rings of a running program that does not write them out itself
 * (writer=none). If it is killed, the next one continues where it was. */

#include "record/rings/drain.h"

struct collector {
    struct process *process;
    struct native *native;
    struct ring_drain *taker;
    int pidfd;                  /* readable when the process has ended; -1: not available */
    uint64_t sleep, flushed_at; /* ns */
    bool
        is_quiet; /* its rings filled so slowly that it need not look before one of them closes a sub-buffer */
    bool
        is_own; /* its rings are in the recorder's directory; of others, what children of the process leave is removed
                    (rings_dir_sweep_processes()) */
    uint64_t swept_at; /* ns */
    /* Nothing was drained, and the process's file does not name the trace yet: until then `strata recover` makes one of its
     * own. So the recorder can bring the trace into its manifest before. */
    bool is_new;
};

/* Writes the trace to the directory PATH: a new one, or the one that another collector was writing for
 * the same process. -EBUSY: the program writes its rings itself, or another collector is active;
 * -ESRCH: it has ended, and not DEAD_TOO; for an ended process the first step drains everything and is
 * the last. PROCESS is borrowed and must be open for writing. */
int collector_init(struct collector *ret, struct process *process, const char *path, bool dead_too,
                   struct error *error);
void collector_done(struct collector *collector);

/* Drains what is there. *ret_sleep: nanoseconds until the next call is due. 1; 0: the process has
 * ended, and everything is drained. */
int collector_step(struct collector *collector, uint64_t *ret_sleep, struct error *error);
/* Drains all that was committed until now, but for rings in overwrite mode. What cannot be written stays for the next
 * step, which says so. */
void collector_flush(struct collector *collector);
/* A ring was found to have closed a sub-buffer since the last step: more may come soon. */
void collector_hurry(struct collector *collector);
/* Drains everything, including rings in overwrite mode: the last step after a stop. */
int collector_finish(struct collector *collector, struct error *error);
