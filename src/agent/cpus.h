/* SPDX-License-Identifier: MIT */
#pragma once

/* The machine's CPUs, and binding threads to them. */

#include <sys/types.h>

#include "base/cpu_set.h"

/* The CPUs that are online, and all possible ones: from sysfs, or from the C library if sysfs is not
 * mounted. */
int cpus_online(struct cpu_set *ret_cpus);
int cpus_possible(struct cpu_set *ret_cpus);

/* Binds the thread TID (0: the caller) to CPU. -EINVAL: the CPU is offline, or not allowed to this
 * process. */
int cpus_bind(pid_t tid, uint32_t cpu);
/* True if the thread is bound only to CPU. The kernel unbinds a thread whose CPU goes offline. */
bool cpus_is_bound(pid_t tid, uint32_t cpu);
