/* SPDX-License-Identifier: MIT */
#pragma once

/* Restricts a tracefs instance to the threads of one process. */

#include <sys/types.h>

#include "base/error.h"

/* Restricts the instance DIR, before it records, to the threads of PID and the threads that they start from now on,
 * including threads of forked children. -ESRCH with ERROR: no such process; -EOPNOTSUPP: this is a PID namespace, in
 * which processes have other PIDs.
 * Source: set_event_pid and options/event-fork in Linux Documentation/trace/ftrace.rst (4.4 and 4.7). */
int tracefs_set_event_pid(int dir, pid_t pid, struct error *error);
