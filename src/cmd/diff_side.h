/* SPDX-License-Identifier: MIT */
#pragma once

/* One of the traces that `strata diff` compares, read by one analysis. */

#include "analysis/exits.h"
#include "analysis/io.h"
#include "analysis/irq.h"
#include "analysis/latency.h"
#include "analysis/sched.h"
#include "analysis/spans/span_rules_user.h"
#include "analysis/tally_result.h"
#include "cmd/walk.h"

union diff_analyses {
    struct analysis analysis; /* first in all */
    struct tally_result stat;
    struct latency latency;
    struct io io;
    struct irq irq;
    struct exits exits;
    struct sched sched;
};

/* A trace and an analysis. */
struct diff_side {
    struct analysis_pass pass;
    struct trace *trace;
    struct span_rules_user pairs;
    union diff_analyses analyses;
    struct selection selection; /* of rows; for `stat`, of items */
    struct result result;
    const struct diff_verb *verb;
    bool has_result;
    bool has_losses;
    bool is_read; /* it was read as far as possible, so there is something to compare */
};

struct diff_verb {
    const char *name;
    int (*init)(struct diff_side *side, const struct analysis_settings *settings);
    void (*done)(struct diff_side *side);
    bool has_by;   /* it can have rows by keys of events */
    bool of_items; /* it counts events themselves */
};

/* Returns the verb called NAME, or NULL. */
const struct diff_verb *diff_verb_find(const char *name);

/* Reads PATH from its start into SIDE. Call diff_side_done() also after a failure. AGAIN: it was read before, and its
 * warnings were printed. An exit status; errors are printed. After a failure, side->is_read tells that the readable
 * part is there. */
int diff_side_read(struct diff_side *side, const struct open_options *open,
                   const struct select_options *select, char *path, bool again,
                   const struct diff_verb *verb, const struct analysis_settings *settings);
void diff_side_done(struct diff_side *side);
