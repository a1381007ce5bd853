/* SPDX-License-Identifier: MIT */
#pragma once

/* Interrupts of a kernel: how long their handlers run, with and without what interrupts them, and how long they are
 * delayed: from the raise of a softirq, from the time that a timer was set to, from the send of an IPI or from the
 * injection of a virtual interrupt, to the handler. */

#include "analysis/result/result_rows.h"
#include "analysis/spans/spans.h"

struct irq_row;
struct cpu_spans;

struct irq {
    struct analysis analysis; /* first */
    struct field_finder finder;
    struct arena arena;
    struct span_rule_list rules;
    struct spans spans;
    struct rows rows;
    struct irq_row *extra; /* by row->number */
    unsigned n_extra;
    struct map cpus;   /* by origin and CPU: struct cpu_spans */
    struct map firsts; /* by origin: the time of its first event */
    const struct origin *last_origin;
    struct duration_columns columns;
    unsigned self, delay_n, delay_p50, delay_p99, delay_max; /* columns */
};

/* The strings of SETTINGS outlive IRQ. 0, -ENOMEM. */
int irq_init(struct irq *irq, const struct analysis_settings *settings,
             const struct catalogue *catalogue);
void irq_done(struct irq *irq);
