/* SPDX-License-Identifier: MIT */
#pragma once

/* Strata's own threads in a kernel's trace: threads of the recorder and the agent, and threads that the runtime adds to a
 * traced program. Their time is the cost of recording, not a part of the workload. They are recognised by the processes that
 * the trace directory names, and by their names: all threads that Strata starts are called strata-SOMETHING. A thread called
 * strata may be of any command of Strata; it counts as the recorder only if the trace directory does not name the recorder. */

#include "event/class.h"

/* True if thread PID of ORIGIN, called NAME, is a thread of Strata. NAME NULL: unknown. */
bool own_thread_is(const struct origin *origin, int32_t pid, const char *name);
