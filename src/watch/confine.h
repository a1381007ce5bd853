/* SPDX-License-Identifier: MIT */
#pragma once

/* Confines a process that reads a recording under way, whose data come from guests. It keeps its user, as the directory is that
 * user's, and what it has open. It can read what is below the directory, and ask the recorder by its socket there.
 *
 *   landlock       no other file can be reached by a path, nothing be run or written (Linux 5.13 and later)
 *   capabilities   none but to read what is in the directory; none can be gained
 *   limits         no new processes (but of root), no files, no core file, WATCH_MEMORY_MAX of memory
 *
 * Call it in a child with one thread. It cannot be undone. */

#include "base/error.h"

#define WATCH_MEMORY_MAX (UINT64_C(1) << 30)

/* What a kernel does not have is left out. -errno with ERROR: what it has did not work. */
int watch_confine(const char *dir, struct error *error);
