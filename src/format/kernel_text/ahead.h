/* SPDX-License-Identifier: MIT */
#pragma once

/* Looks through a text file for losses before its first event is returned. If the words of loss lines do not occur in
 * the file, one search for them is enough. Otherwise, each line is read for its CPU.
 *
 * TEXT_BEGINS_MAX limits the memory. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "format/kernel_text/line.h"

/* The reader itself finds a loss that is reported within this many bytes. */
#define TEXT_AHEAD_BYTES ((size_t)64 * 1024)
#define TEXT_BEGINS_MAX (1u << 17)

/* The head of ftrace's file `trace`. */
struct text_head {
    uint64_t overwritten; /* events before the first event of the text */
    unsigned n_cpus;      /* CPUs online; 0: unknown */
};

struct text_ahead {
    /* Offsets, ascending, of lines after which a loss of their CPU is reported far away. Offsets beyond TEXT_BEGINS_MAX
     * are left out. */
    uint64_t *begins;
    unsigned n, capacity;
    unsigned next;
    int64_t lost_begin; /* as in struct origin */
    /* If the head names several CPUs but only one has events: that CPU; otherwise CPU_UNKNOWN. */
    int32_t only_cpu;
    bool has_losses; /* the text may have lines that report losses */
};

/* Looks through the rest of IN, which must be seekable or in memory. IS_TICKS: times are ticks. Returns 0, -ENOMEM, or
 * an errno from reading. */
int text_ahead_look(struct text_ahead *ahead, const struct input *in, bool is_ticks,
                    const struct text_head *head, struct error *error);
/* Adds the offset of the last event of each of CPUS to `begins`, except for the CPU that ends last, because what
 * follows these events is missing. Looks through IN from its end. Returns as text_ahead_look(). */
int text_ahead_find_ends(struct text_ahead *ahead, const struct input *in, bool is_ticks,
                         const struct cpu_set *cpus, struct error *error);
void text_ahead_done(struct text_ahead *ahead);

/* True if OFFSET is in `begins`. Calls must have ascending offsets. */
static inline bool text_ahead_begins_loss(struct text_ahead *ahead, uint64_t offset)
{
    while (ahead->next < ahead->n && ahead->begins[ahead->next] < offset)
        ahead->next++;
    return ahead->next < ahead->n && ahead->begins[ahead->next] == offset;
}
