/* SPDX-License-Identifier: MIT */
#pragma once

/* What all verbs that are analyses have in common: options, reading the trace, printing the result. A verb declares
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
    struct selection *selection; /* of rows; analysis_open() makes it */
    const char *by, *task, *sort;
    uint64_t slowest, longer, top;
    uint64_t every, context; /* ns; 0: not given */
    struct percentiles percentiles;
    unsigned format; /* enum table_format */
    bool histogram, folded, events, wide;
    unsigned jobs;   /* 0: not given */
    bool asks_names; /* rows of the verb depend on names of tasks, whatever the options here */
};

extern const struct cli_option analysis_output_options[];
/* The same without --by, which is the first. */
#define analysis_fixed_output_options (analysis_output_options + 1)
/* Takes the keys OWN, which rows of the analysis have anyway, out of --by. OWN is ended by NULL. *RET_FOUND has bit
 * 1 << number of each that was there. 0, -ENOMEM. */
int analysis_take_keys(struct analysis_options *options, const char *const *own,
                       struct arena *arena, unsigned *ret_found);
extern const struct cli_option analysis_span_options[];

void analysis_options_done(struct analysis_options *options);

/* As walk_open(); a thread may read the trace ahead. Its classes are trace_classes(). Options are all set. */
struct trace *analysis_open(struct analysis_options *options, char **paths, int n);

/* What OPTIONS mean to an analysis of TRACE. The keys are in ARENA. An exit status; errors are printed. */
int analysis_settings_init(const struct analysis_options *options, const struct trace *trace,
                           struct arena *arena, struct analysis_settings *ret_settings);

/* Reads WALK and prints to its output what came of it. An exit status; errors are
 * printed. */
typedef int analysis_walk_fn(const struct analysis_options *options, struct walk *walk);

/* Calls READ for the items of TRACE from which the selected rows are made. LOSSES and LAYERS are those that SINK counts. An exit status; errors are printed. */
int analysis_walk(const struct analysis_options *options, struct trace *trace, struct sink *sink,
                  struct losses *losses, struct layer_losses *layers, analysis_walk_fn *read);

/* Gives the items of TRACE from which the selected rows are made to ANALYSIS, and prints its result; no rows if
 * it has no field that they are by, and nothing if there are no events that it is about, which the caller reports. An exit status; errors are printed. */
int analysis_print(const struct analysis_options *options, struct trace *trace,
                   struct analysis *analysis);
/* The same; reports such events as missing, with how they are recorded (analysis/required_events.h). */
int analysis_run(const struct analysis_options *options, struct trace *trace,
                 struct analysis *analysis);
