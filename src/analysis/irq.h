/* SPDX-License-Identifier: MIT */
#pragma once

/* Analyses the interrupts of a kernel: how long their handlers run, with and without what interrupts them, and how long
 * they are delayed. The delay ends at the handler. It begins when a softirq is raised, at a timer's set time, when an
 * IPI is sent, or when a virtual interrupt is injected. */

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
    struct map firsts; /* by origin: time of its first event */
    const struct origin *last_origin;
    struct duration_columns columns;
    unsigned self, delay_n, delay_p50, delay_p99, delay_max; /* columns */
};

/* The strings of SETTINGS outlive IRQ. 0, -ENOMEM. */
int irq_init(struct irq *irq, const struct analysis_settings *settings,
             const struct catalogue *catalogue);
void irq_done(struct irq *irq);
