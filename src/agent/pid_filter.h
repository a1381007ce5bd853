/* SPDX-License-Identifier: MIT */
#pragma once

/* An instance of tracefs that records nothing but what happens while threads of one process run. */

#include <sys/types.h>

#include "base/error.h"

/* For the instance DIR, before it records: the threads that PID has, and those that they, and it, start from
 * now on, those of forked children too. Source: set_event_pid and options/event-fork in
 * Documentation/trace/ftrace.rst of Linux (4.4 and 4.7). -ESRCH with ERROR: there is no such process. */
int tracefs_set_event_pid(int dir, pid_t pid, struct error *error);
