/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory in which recorded programs, and programs that they fork and execute, create the directories of their
 * rings (runtime/ring/process_file.h). So a recorder sees only its own programs.
 *
 *     /dev/shm/strata-UID/record-XXXXXX        locked by its recorder (base/locked_dir.h)
 *
 * The directory of a killed recorder stays as long as it has rings. `strata recover` finds them there, and the recorder
 * that creates the next directory completes their traces and removes them. */

#include "base/error.h"
#include "base/locked_dir.h"

#define RINGS_DIR_PREFIX "record-"

/* Creates a directory, in /tmp if /dev/shm has no place for it. Before that, recovers the rings of dead processes of
 * dead recorders into the traces that they were recorded into, if these still exist, and removes the rings. */
int rings_dir_make(struct locked_dir *ret, struct error *error);
/* Only recovers and removes such rings. Call it before the traces of dead recorders are moved. */
void rings_dir_rescue(void);
/* Removes empty directories of dead recorders. */
void rings_dir_sweep(void);
/* Removes directories of this user's dead processes outside of recordings that have neither unwritten events nor
 * losses. Children that end by _exit() leave such directories, and at most 256 processes can have directories there. */
void rings_dir_sweep_processes(void);
