/* SPDX-License-Identifier: MIT */
#pragma once

/* Sets of CPUs, and the list formats of users and of the kernel. */

#include "base/error.h"

/* Linux and Xen support fewer CPUs on machines that run guests. */
#define CPU_SET_MAX 4096u

/* Zeroed, it is empty. Holds no resource; may be copied. */
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

static inline void cpu_set_remove(struct cpu_set *set, uint32_t cpu)
{
    if (cpu < CPU_SET_MAX)
        set->bits[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
}

/* The first CPU of the set from CPU on; CPU_SET_MAX: none. */
static inline uint32_t cpu_set_next(const struct cpu_set *set, uint32_t cpu)
{
    for (uint64_t bits; cpu < CPU_SET_MAX; cpu = (cpu / 64 + 1) * 64) {
        bits = set->bits[cpu / 64] >> cpu % 64;
        if (bits)
            return cpu + (uint32_t)__builtin_ctzll(bits);
    }
    return CPU_SET_MAX;
}

static inline unsigned cpu_set_count(const struct cpu_set *set)
{
    unsigned n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
        n += (unsigned)__builtin_popcountll(set->bits[i]);
    return n;
}

/* Parses a user's list for a machine with CPUs 0 to N-1 (N at most CPU_SET_MAX): "all", "0-3,5,7-" (7
 * and up), "-3" (0 to 3), or a hexadecimal mask of up to 32 CPUs, "0xf0", in which bits of missing CPUs
 * are ignored. -EINVAL with ERROR: none of these, an empty set, or a CPU that the machine does not
 * have. */
int cpu_set_parse(const char *text, unsigned n, struct cpu_set *ret_set, struct error *error);

/* Parses the kernel's list: numbers and ranges, "0-3,5", optionally a newline; may be empty. -EINVAL:
 * invalid; -ERANGE: there are CPUs from CPU_SET_MAX on (the others are in *RET_SET). Source:
 * /sys/devices/system/cpu/online, Linux Documentation/admin-guide/cputopology.rst. */
int cpu_set_parse_kernel(const char *text, struct cpu_set *ret_set);

/* Writes the CPUs below N to BUF as "0-3,5", cut if too long. Returns BUF. */
const char *cpu_set_text(const struct cpu_set *set, unsigned n, char *buf, size_t size);
