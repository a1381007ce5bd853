/* SPDX-License-Identifier: MIT */
#pragma once

/* Which CPUs there are: the kernel's lists ("0-3,5"). */

#include <sys/types.h>

#include "base/macro.h"

/* More than any Linux is built for on the machines that have guests. */
#define CPUS_MAX 4096u

/* A set of CPUs. Has no owner: it is copied. */
struct cpus {
    uint32_t n; /* how many */
    uint8_t bits[CPUS_MAX / 8];
};

static inline bool cpus_has(const struct cpus *cpus, uint32_t cpu)
{
    return cpu < CPUS_MAX && cpus->bits[cpu / 8] >> cpu % 8 & 1;
}

static inline void cpus_add(struct cpus *cpus, uint32_t cpu)
{
    if (cpus_has(cpus, cpu))
        return;
    cpus->bits[cpu / 8] |= (uint8_t)(1u << cpu % 8);
    cpus->n++;
}

/* TEXT is a list of numbers and ranges, a newline may end it; an empty list is one. -EINVAL: it is
 * something else. -ERANGE: there are CPUs beyond CPUS_MAX (those below are in *RET_CPUS). Source: the
 * format of /sys/devices/system/cpu/online, Linux Documentation/admin-guide/cputopology.rst. */
int cpus_parse(const char *text, struct cpus *ret_cpus);

/* Those that run now, and those that may ever: from sysfs, or where that is not mounted what the C
 * library knows. */
int cpus_online(struct cpus *ret_cpus);
int cpus_possible(struct cpus *ret_cpus);

/* Binds the thread TID (0: the caller) to CPU. -EINVAL: it is offline, or not allowed to this process. */
int cpus_bind(pid_t tid, uint32_t cpu);
/* Whether it runs on that CPU only; the kernel unbinds a thread whose CPU goes offline. */
bool cpus_is_bound(pid_t tid, uint32_t cpu);
