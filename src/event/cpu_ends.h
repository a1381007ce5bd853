/* SPDX-License-Identifier: MIT */
#pragma once

/* When the data of a source's CPUs begin and end, as far as that is known before all of them are read: whether some may be cut. Times are
 * ticks of the source's clock; TIME_UNKNOWN: there is none yet. */

#include "base/ticks.h"
#include "event/item.h"

/* CPUs end apart from such a part of the time on: an idle one has no event for some milliseconds. */
#define CPU_ENDS_APART_PART 50

struct cpu_ends {
    int64_t first_begin;         /* of all CPUs */
    int64_t first_end, last_end; /* of the CPU that ends first, and of the one that ends last */
};

#define CPU_ENDS_NONE ((struct cpu_ends){TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN})

static inline void cpu_ends_note_begin(struct cpu_ends *ends, int64_t begin)
{
    if (ends->first_begin == TIME_UNKNOWN || begin < ends->first_begin)
        ends->first_begin = begin;
}

static inline void cpu_ends_note_end(struct cpu_ends *ends, int64_t end)
{
    if (ends->first_end == TIME_UNKNOWN || end < ends->first_end)
        ends->first_end = end;
    ends->last_end = MAX(ends->last_end, end);
}

/* True if a CPU ends a fiftieth of the time or more before another. */
static inline bool cpu_ends_are_apart(const struct cpu_ends *ends)
{
    return ends->first_begin != TIME_UNKNOWN && ends->first_end != ends->last_end &&
           ticks_between(ends->first_end, ends->last_end) >=
               ticks_between(ends->first_begin, ends->last_end) / CPU_ENDS_APART_PART;
}
