/* SPDX-License-Identifier: MIT */
#pragma once

/* What an agent of this machine's kernel that was killed has left: its instance of tracefs. If its recorder was killed, too, the
 * instance still has the events that the agent held back. */

#include <sys/types.h>

/* Stops the instances of the process AGENT, appends their pages to cpuN.raw in the open directory DIR, and removes them. Does
 * nothing while that process runs, or where there is nothing. Errors leave what they concern as it is, until the next agent of this
 * machine removes it. */
void host_leftover_drain(pid_t agent, int dir);
/* Removes the instances of the process AGENT, in the same cases. */
void host_leftover_remove(pid_t agent);
