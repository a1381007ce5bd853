/* SPDX-License-Identifier: MIT */
#pragma once

/* The outside collector: drains the rings of a running program that does not write them out itself (writer=none). If a
 * collector is killed, the next one continues where it was. */

#include "record/rings/drain.h"

struct collector {
    struct process *process;
    struct native *native;
    struct ring_drain *taker;
    int pidfd;                  /* readable when the process has ended; -1: not available */
    uint64_t sleep, flushed_at; /* ns */
    /* The rings fill so slowly that the collector need not look until a ring closes a sub-buffer. */
    bool is_quiet;
    /* The rings are in the recorder's directory. Otherwise, what children of the process leave is removed
     * (rings_dir_sweep_processes()). */
    bool is_own;
    uint64_t swept_at; /* ns */
    /* Nothing was drained yet, and the process file does not name the trace. Until it does, `strata recover` would
     * create another trace. So the recorder can first add the trace to its manifest. */
    bool is_new;
};

/* Writes the trace to the directory PATH: a new one, or the directory that another collector was writing for the same
 * process. -EBUSY: the program writes its rings itself, or another collector is active. -ESRCH: the process has ended,
 * and DEAD_TOO is false. With DEAD_TOO, the first step for an ended process drains everything and is the last. PROCESS
 * is borrowed and must be open for writing. */
int collector_init(struct collector *ret, struct process *process, const char *path, bool dead_too,
                   struct error *error);
void collector_done(struct collector *collector);

/* Drains available data. *RET_SLEEP: ns until the next call is due. Returns 1, or 0 if the process has ended and
 * everything is drained. */
int collector_step(struct collector *collector, uint64_t *ret_sleep, struct error *error);
/* Drains everything that was committed until now, except from rings in overwrite mode. Data that cannot be written
 * stays for the next step, which reports the error. */
void collector_flush(struct collector *collector);
/* Call it if a ring has closed a sub-buffer since the last step, because more may come soon. */
void collector_hurry(struct collector *collector);
/* Drains everything, including rings in overwrite mode: the last step after a stop. */
int collector_finish(struct collector *collector, struct error *error);
