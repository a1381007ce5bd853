/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory in which recorded programs, those that they fork and those that they execute, make the directories of their rings
 * (runtime/ring/process_file.h): so a recorder sees those of its own, and no others.
 *
 *     /dev/shm/strata-UID/record-XXXXXX        locked by its recorder (base/locked_dir.h)
 *
 * One whose recorder was killed stays as long as there are rings in it: `strata recover` finds them there, and who makes
 * the next one completes their traces and removes them. */

#include "base/error.h"
#include "base/locked_dir.h"

#define RINGS_DIR_PREFIX "record-"

/* Makes one, in /tmp where there is no place for it in /dev/shm. Before that, of those whose recorders are dead, the rings
 * of dead processes go into the traces that they were recorded into, if these are there still, and then away. */
int rings_dir_make(struct locked_dir *ret, struct error *error);
/* The second half of that alone: before the traces of dead recorders are moved. */
void rings_dir_rescue(void);
/* Takes those away that are of recorders that are dead, and empty. */
void rings_dir_sweep(void);
/* Removes the directories of processes of this user, not of recordings, that are dead and have left no event unwritten
 * and no loss: what children leave that end by _exit(). At most 256 processes can have directories there. */
void rings_dir_sweep_processes(void);
