/* SPDX-License-Identifier: MIT */
#pragma once

/* The begins and ends of the data of a source's CPUs, as far as known before all data is read. They show if some CPUs
 * may be cut. Times are ticks of the source's clock; TIME_UNKNOWN: none yet. */

#include "base/ticks.h"
#include "event/item.h"

/* CPUs end apart if they differ by at least this part of the time (1/50). An idle CPU has no event for some
 * milliseconds. */
#define CPU_ENDS_APART_PART 50

struct cpu_ends {
    int64_t first_begin, second_begin; /* of the CPU that begins first, and of the next one */
    /* Over all CPUs: the earliest begin of a CPU's second part of data, and the latest end of a last part but one. They
     * confirm the CPUs' begins and ends. */
    int64_t inner_begin, inner_end;
    int64_t first_end, last_but_one_end,
        last_end;     /* of the CPUs that end first, last but one, and last */
    int64_t backward; /* by so much a CPU ends before it begins; 0: none does */
    int32_t backward_cpu;
    int32_t first_cpu, last_cpu; /* that begins first, and that ends last */
};

#define CPU_ENDS_NONE                                    \
    ((struct cpu_ends){.first_begin = TIME_UNKNOWN,      \
                       .second_begin = TIME_UNKNOWN,     \
                       .inner_begin = TIME_UNKNOWN,      \
                       .inner_end = TIME_UNKNOWN,        \
                       .first_end = TIME_UNKNOWN,        \
                       .last_but_one_end = TIME_UNKNOWN, \
                       .last_end = TIME_UNKNOWN})

/* INNER: when the second part of the CPU's data begins, such as its second page; TIME_UNKNOWN: none. */
static inline void cpu_ends_note_begin(struct cpu_ends *ends, int32_t cpu, int64_t begin,
                                       int64_t inner)
{
    if (inner != TIME_UNKNOWN && (ends->inner_begin == TIME_UNKNOWN || inner < ends->inner_begin))
        ends->inner_begin = inner;
    if (ends->first_begin == TIME_UNKNOWN || begin < ends->first_begin) {
        ends->second_begin = ends->first_begin;
        ends->first_begin = begin;
        ends->first_cpu = cpu;
    } else if (ends->second_begin == TIME_UNKNOWN || begin < ends->second_begin) {
        ends->second_begin = begin;
    }
}

/* BEGIN: of the same CPU, or TIME_UNKNOWN. INNER: when the last but one part of its data ends; TIME_UNKNOWN: there is none. */
static inline void cpu_ends_note_end(struct cpu_ends *ends, int32_t cpu, int64_t begin, int64_t end,
                                     int64_t inner)
{
    ends->inner_end = MAX(ends->inner_end, inner);
    if (begin != TIME_UNKNOWN && ticks_between(end, begin) > ends->backward) {
        ends->backward = ticks_between(end, begin);
        ends->backward_cpu = cpu;
    }
    if (ends->first_end == TIME_UNKNOWN || end < ends->first_end)
        ends->first_end = end;
    if (ends->last_end == TIME_UNKNOWN || end > ends->last_end) {
        ends->last_but_one_end = ends->last_end;
        ends->last_end = end;
        ends->last_cpu = cpu;
    } else {
        ends->last_but_one_end = MAX(ends->last_but_one_end, end);
    }
}

/* True if a CPU ends a fiftieth of the time or more before another. */
static inline bool cpu_ends_are_apart(const struct cpu_ends *ends)
{
    return ends->first_begin != TIME_UNKNOWN && ends->first_end != ends->last_end &&
           ticks_between(ends->first_end, ends->last_end) >=
               ticks_between(ends->first_begin, ends->last_end) / CPU_ENDS_APART_PART;
}

/* Writes to TEXT, of SIZE bytes, that the first or last part of a CPU's data seems to be damaged, if nothing else shows
 * it: it is more than SOURCE_STRAY_NS, by CLOCK, on the wrong side of the other parts, or so far from all other parts
 * of all CPUs, and ten times as long as these take. Returns false if no part seems damaged. */
bool cpu_ends_report_outlier(const struct cpu_ends *ends, const struct clock *clock, char *text,
                             size_t size);
