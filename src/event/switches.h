/* SPDX-License-Identifier: MIT */
#pragma once

/* Tracks what runs on a CPU from its context switches. Each names the previous thread, which must be
 * the one that the switch before scheduled; otherwise a switch in between is missing from the trace,
 * and its time is not known. */

#include <stdbool.h>
#include <stdint.h>

struct cpu_switches {
    bool known; /* a switch was seen, and no event was lost since */
    uint64_t next;
};

/* Records a switch from PREV to NEXT. Returns true if it follows the one before. */
static inline bool cpu_switch(struct cpu_switches *cpu, uint64_t prev, uint64_t next)
{
    bool follows = !cpu->known || cpu->next == prev;

    *cpu = (struct cpu_switches){.known = true, .next = next};
    return follows;
}
