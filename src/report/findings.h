/* SPDX-License-Identifier: MIT */
#pragma once

/* What stands out in the results of a trace's analyses, in sentences: only what the numbers support. Each says how much
 * of it is unknown, by how much its durations may be wrong, and which command says more. */

#include "analysis/summary.h"
#include "trace/trace.h"

#define FINDINGS_MAX 64

struct finding {
    const char *text;            /* a sentence without its full stop */
    const char *command;         /* "exits --by detail": a verb of strata and its options */
    const struct result *result; /* whose number it is about; NULL: of the trace as a whole */
    const struct result_row *row;
    unsigned column;
    double unknown;   /* the part of its time that is unknown: 0 to 1 */
    double error_ns;  /* the largest clock error of its durations */
    double weight;    /* by which they are in order */
    bool is_of_trace; /* about the recording, not about the workload */
    bool is_of_all;   /* not of its row alone, but of others, too */
};

struct findings {
    struct finding items[FINDINGS_MAX]; /* what stands out most first */
    unsigned n;
    bool
        has_problem; /* something costs the workload time; else one of them says where its time goes */
    struct arena arena;
    int error; /* -ENOMEM */
};

/* TRACE: what was summarized. SUMMARY has its results, and outlives FINDINGS. 0, -ENOMEM; findings_done() in any case. */
int findings_find(const struct summary *summary, const struct trace *trace,
                  struct findings *ret_findings);
void findings_done(struct findings *findings);
