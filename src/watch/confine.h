/* SPDX-License-Identifier: MIT */
#pragma once

/* Confines a process that reads a running recording, because the data come from guests (base/sandbox.h). The process
 * keeps its user, who owns the directory. It can read files below the directory, ask the recorder by the socket in it,
 * and use WATCH_MEMORY_MAX of memory. It cannot write files.
 *
 * Call it in a child with one thread. It cannot be undone. */

#include "base/error.h"

#define WATCH_MEMORY_MAX (UINT64_C(1) << 30)

/* Leaves out what the kernel does not support. A negative errno with ERROR if a supported step failed. */
int watch_confine(const char *dir, struct error *error);
