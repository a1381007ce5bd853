/* SPDX-License-Identifier: MIT */
#pragma once

/* Which CPUs there are, and which of them a thread runs on. */

#include <sys/types.h>

#include "base/cpu_set.h"

/* Those that run now, and those that may ever: from sysfs, or where that is not mounted what the C
 * library knows. */
int cpus_online(struct cpu_set *ret_cpus);
int cpus_possible(struct cpu_set *ret_cpus);

/* Binds the thread TID (0: the caller) to CPU. -EINVAL: it is offline, or not allowed to this process. */
int cpus_bind(pid_t tid, uint32_t cpu);
/* Whether it runs on that CPU only; the kernel unbinds a thread whose CPU goes offline. */
bool cpus_is_bound(pid_t tid, uint32_t cpu);
