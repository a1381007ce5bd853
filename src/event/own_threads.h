/* SPDX-License-Identifier: MIT */
#pragma once

/* Strata's own threads in a kernel's trace: those of the recorder and the agent, and those that its runtime adds to a traced
 * program. What they do is the cost of recording, not a part of the workload. They are recognised by the processes that
 * the trace directory names, and by names: all that Strata starts is called strata-SOMETHING. What is called strata is any
 * command of Strata, and the recorder only where its trace directory does not name that. */

#include "event/class.h"

/* Whether thread PID of ORIGIN, called NAME, is one of them. NAME NULL: not known. */
bool own_thread_is(const struct origin *origin, int32_t pid, const char *name);
