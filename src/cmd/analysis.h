/* SPDX-License-Identifier: MIT */
#pragma once

/* What all verbs with an analysis share: options, reading the trace, printing the result. A verb declares
 *
 *     struct VERB_options { struct analysis_options common; ... };
 *     {"Output", analysis_output_options, offsetof(struct VERB_options, common)},
 *     {"Which spans", analysis_span_options, offsetof(struct VERB_options, common)},
 *     {"Selection", select_option_table, offsetof(struct VERB_options, common.select)},
 *     {"Reading", open_option_table, offsetof(struct VERB_options, common.open)},
 *     {"Threads", jobs_option_table, offsetof(struct VERB_options, common.jobs)},
 *
 * and calls analysis_open(), analysis_settings_init(), the constructor of its analysis, and analysis_run(). */

#include "analysis/analysis.h"
#include "cmd/walk.h"

struct analysis_options {
    struct open_options open;
    struct select_options select;
    struct selection *selection; /* of rows; made by analysis_open() */
    const char *by, *task, *sort;
    uint64_t slowest, longer, top;
    uint64_t every, context; /* in ns; 0: not given */
    struct percentiles percentiles;
    unsigned format; /* enum table_format */
    bool histogram, folded, events, wide;
    unsigned jobs;   /* 0: not given */
    bool asks_names; /* rows of the verb always depend on names of tasks */
};

extern const struct cli_option analysis_output_options[];
/* The same options without --by, which is the first. */
#define analysis_fixed_output_options (analysis_output_options + 1)
/* Removes the keys OWN, terminated by NULL, from --by, because rows of the analysis have them anyway. *RET_FOUND gets
 * bit 1 << index for each removed key. 0, -ENOMEM. */
int analysis_take_keys(struct analysis_options *options, const char *const *own,
                       struct arena *arena, unsigned *ret_found);
extern const struct cli_option analysis_span_options[];

void analysis_options_done(struct analysis_options *options);

/* As walk_open(); a thread may read the trace ahead. Its classes are trace_classes(). Call after parsing the
 * options. */
struct trace *analysis_open(struct analysis_options *options, char **paths, int n);

/* Makes the settings of an analysis of TRACE from OPTIONS. The keys are in ARENA. An exit status; errors are
 * printed. */
int analysis_settings_init(const struct analysis_options *options, const struct trace *trace,
                           struct arena *arena, struct analysis_settings *ret_settings);

/* Reads WALK and prints the results to its output. An exit status; errors are printed. */
typedef int analysis_walk_fn(const struct analysis_options *options, struct walk *walk);

/* Calls READ for the items of TRACE from which the selected rows are made. SINK counts LOSSES and LAYERS. An exit
 * status; errors are printed. */
int analysis_walk(const struct analysis_options *options, struct trace *trace, struct sink *sink,
                  struct losses *losses, struct layer_losses *layers, analysis_walk_fn *read);

/* Puts the items of TRACE from which the selected rows are made to ANALYSIS, and prints its result. Prints no rows if
 * the trace lacks a field of --by. Prints nothing if the trace has no events for the analysis, which the caller
 * reports. An exit status; errors are printed. */
int analysis_print(const struct analysis_options *options, struct trace *trace,
                   struct analysis *analysis);
/* The same; reports missing events, and how to record them (analysis/event_sets.h). */
int analysis_run(const struct analysis_options *options, struct trace *trace,
                 struct analysis *analysis);
