/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds what stands out in the results of a trace's analyses, as sentences, and only what the numbers support. Each
 * finding states how much of it is unknown, by how much its durations may be wrong, and which command shows more. */

#include "analysis/summary.h"
#include "trace/trace.h"

#define FINDINGS_MAX 64

struct finding {
    const char *text;    /* a sentence without its full stop */
    const char *command; /* "exits --by detail": a verb of strata with options */
    /* Has the number that it is about; NULL: it is about the whole trace. */
    const struct result *result;
    const struct result_row *row;
    unsigned column;
    double unknown;   /* share of its time that is unknown: 0 to 1 */
    double error_ns;  /* the largest clock error of its durations */
    double weight;    /* findings are sorted by it */
    bool is_of_trace; /* it is about the recording, not the workload */
    bool is_of_all;   /* it is not only about its row */
};

struct findings {
    struct finding items[FINDINGS_MAX]; /* the most striking first */
    unsigned n;
    /* Something costs the workload time; otherwise a finding says where its time goes. */
    bool has_problem;
    struct arena arena;
    int error; /* -ENOMEM */
};

/* Finds what stands out in the results of SUMMARY, which is of TRACE and outlives FINDINGS. 0, -ENOMEM. Call
 * findings_done() in any case. */
int findings_find(const struct summary *summary, const struct trace *trace,
                  struct findings *ret_findings);
void findings_done(struct findings *findings);
