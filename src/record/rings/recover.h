/* SPDX-License-Identifier: MIT */
#pragma once

/* Recovery: writes the events that a killed process had committed to its rings into its native trace. It may be
 * interrupted at any moment and started again: the rings stay until everything is written. */

#include "record/rings/drain.h"

struct recovered {
    struct drain_stats taken;
    /* of the trace; allocated; NULL: no event was left, so no trace was created */
    char *path;
    bool completed; /* the trace is the trace that the process was writing */
};

/* Creates a native trace in the directory PATH for the events of a process. */
int native_of_process(struct process *process, const char *path, struct native **ret,
                      struct error *error);

/* True if NATIVE is the trace into which a recorder drains the rings of PROCESS. */
bool native_is_of_process(const struct native *native, struct process *process);

/* Counts the events that a dead process has left and that process_remove() will discard. -EBUSY as recover(). */
int recover_discard(struct process *process, uint64_t *ret_events, struct error *error);

/* PATH: a new directory for the trace; NULL: the trace that the process was writing, or FALLBACK if it wrote none.
 * -EBUSY: the process runs, or another strata recovers it. The rings are not changed. */
int recover(struct process *process, const char *path, const char *fallback, struct recovered *ret,
            struct error *error);
void recovered_done(struct recovered *recovered);

struct manifest_source;
/* True if the rings that were drained into SOURCE of DIRECTORY still exist, as far as this is known. PIDs are reused,
 * so they may be rings of an earlier process. */
bool recover_has_rings(const char *directory, const struct manifest_source *source);
