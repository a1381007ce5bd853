/* SPDX-License-Identifier: MIT */
#pragma once

/* Recovery: what a traced process that was killed had committed to its rings goes into its native
 * trace. It may be broken off at any moment and begun again: the rings stay until all is written. */

#include "record/rings/drain.h"

struct recovered {
    struct drain_stats taken;
    char *path;     /* of the trace; allocated; NULL: no event was left, and no trace made */
    bool completed; /* it is the one that the process was writing */
};

/* A new native trace in the directory PATH for what a process has. */
int native_of_process(struct process *process, const char *path, struct native **ret,
                      struct error *error);

/* Whether NATIVE is the trace into which a recorder drains the rings of PROCESS. */
bool native_is_of_process(const struct native *native, struct process *process);

/* How many events a dead process has left, which are then given up by process_remove(). -EBUSY as recover(). */
int recover_discard(struct process *process, uint64_t *ret_events, struct error *error);

/* PATH is a new directory for the trace; NULL: the trace that the process was writing, or, where it wrote
 * none, FALLBACK. -EBUSY: the process lives, or another strata is at it. The rings are left as they are. */
int recover(struct process *process, const char *path, const char *fallback, struct recovered *ret,
            struct error *error);
void recovered_done(struct recovered *recovered);

struct manifest_source;
/* Whether the rings that were drained into SOURCE of DIRECTORY are still there, as far as that is known. PIDs are reused: the rings
 * of an earlier process may be there, too. */
bool recover_has_rings(const char *directory, const struct manifest_source *source);
