/* SPDX-License-Identifier: MIT */
#pragma once

/* Sets of CPUs as people write them. */

#include "base/fault.h"

#define CPU_LIST_MAX 4096u

struct cpu_list {
    uint64_t bits[CPU_LIST_MAX / 64];
};

static inline bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
    return cpu < CPU_LIST_MAX && (list->bits[cpu / 64] >> cpu % 64 & 1);
}

static inline void cpu_list_add(struct cpu_list *list, unsigned cpu)
{
    list->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

/* "all", "0-3,5,7-" (7 and all behind it), "-3" (0 to 3), or a mask of up to 32 CPUs in hexadecimal,
 * "0xf0", of a machine with CPUs 0 to N-1 (N at most CPU_LIST_MAX). -EINVAL with FAULT: it is none of
 * these, chooses nothing, or a CPU that the machine does not have. (In 0x..., as of old, bits of CPUs
 * that are not there are passed over.) */
int cpu_list_parse(const char *text, unsigned n, struct cpu_list *ret, struct fault *fault);

/* "0-3,5" into BUF, cut where it ends. Returns BUF. */
const char *cpu_list_text(const struct cpu_list *list, unsigned n, char *buf, size_t size);
