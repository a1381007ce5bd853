/* SPDX-License-Identifier: MIT */
#pragma once

/* Sets of CPUs, and the lists in which people and the kernel write them. */

#include "base/error.h"

/* More than any Linux or Xen is built for on the machines that have guests. */
#define CPU_SET_MAX 4096u

/* Zeroed, it is empty. Owns nothing: it is copied. */
struct cpu_set {
    uint64_t bits[CPU_SET_MAX / 64];
};

static inline bool cpu_set_has(const struct cpu_set *set, uint32_t cpu)
{
    return cpu < CPU_SET_MAX && (set->bits[cpu / 64] >> cpu % 64 & 1);
}

/* CPU below CPU_SET_MAX. */
static inline void cpu_set_add(struct cpu_set *set, uint32_t cpu)
{
    set->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static inline unsigned cpu_set_count(const struct cpu_set *set)
{
    unsigned n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
        n += (unsigned)__builtin_popcountll(set->bits[i]);
    return n;
}

/* What a user writes, of a machine with the CPUs 0 to N-1 (N at most CPU_SET_MAX): "all", "0-3,5,7-" (7 and all after
 * it), "-3" (0 to 3), or a mask of up to 32 CPUs in hexadecimal, "0xf0", in which bits of CPUs that the machine does
 * not have are ignored. -EINVAL with ERROR: it is none of these, chooses nothing, or a CPU that the machine does not
 * have. */
int cpu_set_parse(const char *text, unsigned n, struct cpu_set *ret_set, struct error *error);

/* What the kernel writes: numbers and ranges, "0-3,5", maybe a newline; an empty list is one. -EINVAL: it is something
 * else. -ERANGE: there are CPUs beyond CPU_SET_MAX (those below are in *RET_SET). Source: the format of
 * /sys/devices/system/cpu/online, Linux Documentation/admin-guide/cputopology.rst. */
int cpu_set_parse_kernel(const char *text, struct cpu_set *ret_set);

/* "0-3,5" of the CPUs below N into BUF, cut where it ends. Returns BUF. */
const char *cpu_set_text(const struct cpu_set *set, unsigned n, char *buf, size_t size);
