/* SPDX-License-Identifier: MIT */
#pragma once

/* What runs on a CPU, as its switches say: each names the thread that it takes off the CPU, which is the one that the
 * switch before put there. Where it is not, a switch between them is missing from the trace, and nothing says when it
 * was. */

#include <stdbool.h>
#include <stdint.h>

struct cpu_switches {
    bool known; /* a switch was seen, and nothing was lost since */
    uint64_t next;
};

/* A switch from PREV to NEXT. Returns whether it follows the one before. */
static inline bool cpu_switch(struct cpu_switches *cpu, uint64_t prev, uint64_t next)
{
    bool follows = !cpu->known || cpu->next == prev;

    *cpu = (struct cpu_switches){.known = true, .next = next};
    return follows;
}
