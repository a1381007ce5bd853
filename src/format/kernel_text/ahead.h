/* SPDX-License-Identifier: MIT */
#pragma once

/* What is known of a text before its first event is lent: of a file, which is looked through before. A search for the words of lines
 * that tell losses is all there is of a file without any; otherwise each line is read, for its CPU.
 *
 * Memory is bounded by TEXT_BEGINS_MAX. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "format/kernel_text/line.h"

/* The reader itself finds a loss that is told within so many bytes. */
#define TEXT_AHEAD_BYTES ((size_t)64 * 1024)
#define TEXT_BEGINS_MAX (1u << 17)

/* The head of ftrace's file `trace`. */
struct text_head {
    uint64_t overwritten; /* events, before the first one of the text */
    unsigned n_cpus;      /* online; 0: not known */
};

struct text_ahead {
    /* Where lines are after which, far away, a loss of their CPU is told; ascending. Those beyond TEXT_BEGINS_MAX are left out. */
    uint64_t *begins;
    unsigned n, capacity;
    unsigned next;
    int64_t lost_begin; /* as of struct origin */
    int32_t
        only_cpu; /* of a text whose head names several CPUs: the only one that has events; CPU_UNKNOWN: not so */
    bool has_losses; /* lines that tell some may be in it */
};

/* Looks through what follows of IN, which is seekable or memory. IS_TICKS: what times are. 0, -ENOMEM, or an errno from reading. */
int text_ahead_look(struct text_ahead *ahead, const struct input *in, bool is_ticks,
                    const struct text_head *head, struct error *error);
/* Adds to `begins` where the last events of CPUS are, but for the one that ends last: what follows of these is missing. Looks through IN from its
 * end. As text_ahead_look(). */
int text_ahead_find_ends(struct text_ahead *ahead, const struct input *in, bool is_ticks,
                         const struct cpu_set *cpus, struct error *error);
void text_ahead_done(struct text_ahead *ahead);

/* Whether the line at OFFSET is one of `begins`. Offsets ascend. */
static inline bool text_ahead_begins_loss(struct text_ahead *ahead, uint64_t offset)
{
    while (ahead->next < ahead->n && ahead->begins[ahead->next] < offset)
        ahead->next++;
    return ahead->next < ahead->n && ahead->begins[ahead->next] == offset;
}
