/* SPDX-License-Identifier: MIT */
#pragma once

/* Cleans up after an agent of this machine's kernel that was killed: it has left its tracefs instance. If its recorder
 * was killed too, the instance still has the events that the agent held back. */

#include <sys/types.h>

/* Stops the instances of the process AGENT, appends their pages to cpuN.raw in the open directory DIR, and removes
 * them. Does nothing while that process runs, or if there are no instances. After an error, the affected part stays as
 * it is until the next agent of this machine removes it. */
void host_leftover_drain(pid_t agent, int dir);
/* Removes the instances of the process AGENT under the same conditions. */
void host_leftover_remove(pid_t agent);
