/* SPDX-License-Identifier: MIT */
#pragma once

/* What all analyses are: sinks of items that make a struct result. A verb, `strata summary` and `strata diff` run any
 * of them in the same way:
 *
 *     struct coverage coverage;                  counts items once for all analyses of a trace
 *     struct analysis *analysis = ...            made by the module of the analysis, from the settings
 *     sink_begin(&analysis->sink)
 *     coverage_put(), sink_put(&analysis->sink)  for all items
 *     sink_finish(&analysis->sink)
 *     analysis_result(analysis, &coverage, &result)
 *     ... print or compare the result ...
 *     result_done(), sink_free(&analysis->sink), coverage_done() */

#include "analysis/result/grouping.h"
#include "analysis/result/result.h"
#include "event/select.h"
#include "event/sink.h"

#define PERCENTILES_MAX 6

/* The percentiles that rows have, in parts of 1000. */
struct percentiles {
    unsigned permilles[PERCENTILES_MAX];
    unsigned n; /* 0: 500, 900 and 990 */
};

/* What the user asks of any analysis. Strings are borrowed. */
struct analysis_settings {
    struct clock clock;       /* of the trace's times */
    struct grouping grouping; /* --by; n is 0: the analysis's own keys */
    const char *task;         /* pattern of names: only spans or states of such tasks; NULL: all */
    /* Rows count what begins in it; items beyond its times are there to pair those within. NULL: all. */
    const struct selection *select;
    unsigned slowest; /* how many of the longest spans are kept */
    int64_t longer;   /* ticks: shorter spans are left out; 0: none is */
    int64_t every;    /* ticks of a period; 0: none */
    bool has_batches; /* rows have batches of their spans */
    struct percentiles percentiles;
};

/* A complete span of an analysis of spans, for `--events`. Lent. */
struct analysis_span {
    int64_t begin, end; /* ticks */
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin; /* of its begin */
    const char *const *keys;     /* of its row: by the keys of the result */
    const int64_t *numbers;      /* the values that they name, if `has_number` has bit 1 << key */
    unsigned has_number;
};

struct analysis;

struct analysis_ops {
    const char *name; /* "latency" */
    /* Adds the keys and columns. Allowed before the first item. */
    void (*add_columns)(struct analysis *analysis, struct result *result);
    /* After sink_finish(): adds rows, and all else, to RESULT, which has the columns. 0, -ENOMEM. */
    int (*add_rows)(struct analysis *analysis, struct result *result);
    /* After the last item: whether there was an event that the analysis is about. */
    bool (*has_events)(const struct analysis *analysis);
    bool is_ordered; /* add_rows() adds rows in the order in which they are shown without --sort */
    bool
        notes_filter; /* add_rows() says what is not known where the kernel chose the threads (origin->pid_filter) */
};

struct analysis {
    struct sink sink; /* first */
    const struct analysis_ops *ops;
    struct analysis_settings settings;
    /* Is given each span that is counted, in the order of their ends. 0, or a negative errno. NULL: not needed. */
    int (*put_span)(void *arg, const struct analysis_span *span);
    void *put_span_arg;
    /* After the last item: how many of what rows count the selection, --task and --longer left out, and of the threads, CPUs or domains
     * of `sched` how many are not asked for; and what these are called, "spans" if NULL. */
    uint64_t left_out;
    const char *left_out_name;
    const char *
        left_out_of; /* "known to be of one machine": what none of them is; NULL: of what --by asks for */
    /* How many of what rows count no --cpu selects, as their CPU is not known; and what one of these is called, "span" if NULL. */
    uint64_t unplaced;
    const char *unplaced_name;
};

/* What result_sort() needs to put the rows in the order in which they are shown without --sort. */
unsigned analysis_default_order(const struct analysis *analysis);

/* Makes RESULT, which result_done() frees, also on failure. COVERAGE and ANALYSIS outlive it. 0, -ENOMEM. */
int analysis_result(struct analysis *analysis, const struct coverage *coverage,
                    struct result *ret_result);
