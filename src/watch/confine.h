/* SPDX-License-Identifier: MIT */
#pragma once

/* Confines a process that reads a recording under way, whose data come from guests (base/sandbox.h). It keeps its user, because
 * the directory is that user's. It can read what is below the directory, ask the recorder by its socket there, and use
 * WATCH_MEMORY_MAX of memory. It cannot write a file.
 *
 * Call it in a child with one thread. It cannot be undone. */

#include "base/error.h"

#define WATCH_MEMORY_MAX (UINT64_C(1) << 30)

/* What a kernel does not have is left out. -errno with ERROR: what it has did not work. */
int watch_confine(const char *dir, struct error *error);
