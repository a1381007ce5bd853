/* SPDX-License-Identifier: MIT */
#pragma once

/* An analysis is a sink of items that makes a struct result. All analyses are run in the same way:
 *
 *     struct coverage coverage;                  counts items once for all analyses of a trace
 *     struct analysis *analysis = ...            made by the module of the analysis, from the settings
 *     sink_begin(&analysis->sink)
 *     coverage_put(), sink_put(&analysis->sink)  for all items
 *     sink_finish(&analysis->sink)
 *     analysis_result(analysis, &coverage, &result)
 *     ... print or compare the result ...
 *     result_done(), sink_free(&analysis->sink), coverage_done()
 *
 * For a single analysis, struct analysis_pass does the second part. `strata summary` reads a trace once for several
 * analyses. */

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

/* Settings that all analyses have. Strings are borrowed. */
struct analysis_settings {
    struct clock clock;       /* of the trace's times */
    struct grouping grouping; /* --by; with n 0, the analysis's own keys */
    const char *task;         /* only spans or states of tasks with matching names; NULL: all */
    /* Rows count what begins in the selection. Items outside of its times serve to pair the items within. NULL:
     * everything. */
    const struct selection *select;
    unsigned slowest; /* number of the longest spans to keep */
    int64_t longer;   /* in ticks: shorter spans are left out; 0: none */
    int64_t every;    /* length of a period in ticks; 0: none */
    bool has_batches; /* rows have batches of their spans */
    struct percentiles percentiles;
};

/* A complete span of an analysis of spans, for `--events`. Lent. */
struct analysis_span {
    int64_t begin, end; /* in ticks */
    uint32_t error_ns;
    int32_t cpu, pid, vcpu;
    const struct origin *origin; /* of the event that begins it */
    const char *const *keys;     /* of its row, in the order of the result's keys */
    const int64_t *numbers;      /* a key's value, if `has_number` has bit 1 << key */
    unsigned has_number;
};

struct analysis;

struct analysis_ops {
    const char *name; /* "latency" */
    /* Adds the keys and columns. May be called before the first item. */
    void (*add_columns)(struct analysis *analysis, struct result *result);
    /* Call after sink_finish(): adds rows, notes and everything else to RESULT, which has the columns. 0, -ENOMEM. */
    int (*add_rows)(struct analysis *analysis, struct result *result);
    /* Call after the last item: true if the analysis found an event that it uses. */
    bool (*has_events)(const struct analysis *analysis);
    bool is_ordered; /* add_rows() adds rows in the default order */
    /* add_rows() notes what is unknown if the kernel chose the threads (origin->pid_filter) */
    bool notes_filter;
};

struct analysis {
    struct sink sink; /* first */
    const struct analysis_ops *ops;
    struct analysis_settings settings;
    /* Gets each counted span, in the order of their ends. 0, or a negative errno. May be NULL. */
    int (*put_span)(void *arg, const struct analysis_span *span);
    void *put_span_arg;
    /* After the last item: how many spans the selection, --task and --longer left out; for `sched`, how many threads,
     * CPUs or domains. left_out_name is their name, or NULL for "spans". */
    uint64_t left_out;
    const char *left_out_name;
    /* Why, for example "known to be of one machine"; NULL: they do not match --by. */
    const char *left_out_of;
    /* How many spans no --cpu can select, because their CPU is unknown. unplaced_name is the name of one, or NULL for
     * "span". */
    uint64_t unplaced;
    const char *unplaced_name;
};

/* The argument of result_sort() for the order without --sort. */
unsigned analysis_default_order(const struct analysis *analysis);

/* If the kernel chose the threads (origin->pid_filter), notes what this means for spans that may end while any thread
 * runs. 0, -ENOMEM. */
int analysis_note_hidden_ends(struct result *result);

/* Makes RESULT. COVERAGE and ANALYSIS outlive it. Call result_done() also on failure. 0, -ENOMEM. */
int analysis_result(struct analysis *analysis, const struct coverage *coverage,
                    struct result *ret_result);

/* A sink that gives the items of a trace to one analysis, and to the coverage of its result. Its begin and finish also
 * begin and finish the analysis. */
struct analysis_pass {
    struct sink sink;
    struct coverage coverage;
    struct analysis *analysis; /* borrowed */
};

/* coverage_done() frees what PASS owns. */
void analysis_pass_init(struct analysis_pass *pass, struct analysis *analysis);
