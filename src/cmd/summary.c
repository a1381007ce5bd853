/* SPDX-License-Identifier: MIT */
/* strata summary: the first page about a trace, all analyses at once. */

#include "analysis/summary.h"

#include <stdlib.h>

#include "cli/output.h"
#include "cli/select_options.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"
#include "cmd/findings.h"
#include "cmd/pairs.h"
#include "cmd/print_summary.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define TOP_DEFAULT 5

struct summary_options {
    struct analysis_options common;
};

#define MEMBER(m) offsetof(struct summary_options, m)

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json", "output format (text)", MEMBER(common.format),
     .choices = table_formats},
    {OPTION_NUMBER, 0, "top", "N", "only the first N rows of each table (5; 0: all)",
     MEMBER(common.top)},
    {OPTION_FLAG, 0, "no-causal", NULL, "do not tighten clocks by causes and effects",
     offsetof(struct summary_options, common.no_causal)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_whole_option_table, MEMBER(common.select)},
    {"Reading", open_option_table, MEMBER(common.open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command summary_command = {
    .name = "summary",
    .summary = "show what stands out in a trace, by all analyses at once",
    .operands = "PATH...",
    .about = "Prints an overview of a trace: what stands out, with the commands that show the\n"
             "details; what was recorded, with losses and clock errors; where the time of\n"
             "CPUs, vCPUs and tasks went; VM exits, requests to disks, interrupts and\n"
             "latencies; and the analyses that lack events, with how to record them.\n\n"
             "The trace is read once; twice if clocks can be tightened.",
    .groups = groups,
    .examples = "  strata summary trace\n"
                "  strata summary --from +10 --until +20 trace\n"
                "  strata summary -f json trace | jq -r '.findings[].text'",
};

static int print(const struct summary_options *options, const struct summary *summary,
                 const struct causal_report *causal, const struct trace *trace, struct text *out)
{
    struct findings findings;
    int r = findings_find(summary, &findings);

    if (r >= 0)
        r = options->common.format == TABLE_JSON
                ? print_summary_json(summary, &findings, causal, trace, out)
                : print_summary_text(summary, &findings, trace, options->common.top, out);
    findings_done(&findings);
    return r;
}

/* Reads the trace, and prints what came of it. An exit status. */
static int walk_and_print(const struct summary_options *options, struct summary *summary,
                          const struct causal_report *causal, struct walk *walk)
{
    int status = walk_through(walk);

    if (summary->sink.error.code == 0 && sink_finish(&summary->sink) < 0) {
        cli_print_error(&summary->sink.error);
        return EXIT_FAILURE;
    }
    if (summary->sink.error.code)
        return status;
    if (summary_make_results(summary) < 0 ||
        print(options, summary, causal, walk->trace, walk->out) < 0)
        return cli_no_memory();
    return status;
}

static int summarise(const struct summary_options *options, struct trace *trace,
                     struct summary *summary)
{
    struct selection selection = {0};
    struct text out;
    struct walk walk = {.trace = trace,
                        .selection = &selection,
                        .out = &out,
                        .sink = &summary->sink,
                        .losses = &summary->coverage.losses};
    struct causal_report causal = {0};
    int status = EXIT_FAILURE;

    if (output_open(&out, options->common.format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0)
        return cli_no_memory();
    if (selection_init(&selection, &options->common.select) < 0 ||
        (!options->common.no_causal &&
         causal_tighten(&options->common.open, &options->common.select, trace, &causal) < 0))
        cli_no_memory();
    else
        status = walk_end(&walk, &options->common.open,
                          walk_and_print(options, summary, &causal, &walk));
    causal_report_done(&causal);
    selection_done(&selection);
    text_done(&out);
    return status;
}

/* An exit status. */
static int run(const struct summary_options *options, struct trace *trace)
{
    static const struct strings none = {0};
    struct analysis_settings settings;
    struct pairs pairs = {0};
    struct error error = {0};
    struct summary *summary = calloc(1, sizeof *summary);
    int status = EXIT_FAILURE;
    int r = pairs_init(&pairs, &error);

    if (r >= 0)
        r = pairs_read(&pairs, NULL, 0, &none, &none, &error);
    if (!summary || r < 0) {
        error_set(&error, r < 0 ? r : -ENOMEM, NULL, "%s", error_text(r < 0 ? r : -ENOMEM));
        cli_print_error(&error);
    } else if (analysis_settings_init(&options->common, trace, &pairs.arena, &settings) ==
               EXIT_SUCCESS) {
        if (summary_init(summary, &settings, pairs.rules.rules, pairs.rules.n, &trace->catalogue) <
            0)
            cli_no_memory();
        else
            status = summarise(options, trace, summary);
        summary_done(summary);
    }
    free(summary);
    pairs_done(&pairs);
    return status;
}

int cmd_summary(int argc, char **argv)
{
    struct summary_options options = {.common.top = TOP_DEFAULT};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&summary_command, argc, argv, &options, &n, &status)) {
        if (options.common.format == TABLE_CSV) {
            status = cli_usage_error("summary", "a summary is several tables; -f csv of the other "
                                                "analyses prints one");
        } else if (n == 0) {
            status = cli_usage_error("summary", "no trace file given");
        } else {
            struct trace *trace = walk_open(&options.common.open, argv + 1, n);

            if (trace)
                status = run(&options, trace);
            trace_free(trace);
        }
    }
    analysis_options_done(&options.common);
    return status;
}
