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

#define TOP_DEFAULT 5

#define MEMBER(m) offsetof(struct analysis_options, m)

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json", "output format (text)", MEMBER(format),
     .choices = table_formats},
    {OPTION_NUMBER, 0, "top", "N", "only the first N rows of each table (5; 0: all)", MEMBER(top)},
    {OPTION_FLAG, 0, "no-causal", NULL, "do not tighten clocks by causes and effects",
     MEMBER(no_causal)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_whole_option_table, MEMBER(select)},
    {"Reading", open_option_table, MEMBER(open)},
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

static int print(const struct analysis_options *options, const struct summary *summary,
                 const struct causal_report *causal, const struct trace *trace, struct text *out)
{
    struct findings findings;
    int r = findings_find(summary, &findings);

    if (r >= 0)
        r = options->format == TABLE_JSON
                ? print_summary_json(summary, &findings, causal, trace, out)
                : print_summary_text(summary, &findings, trace, options->top, out);
    findings_done(&findings);
    return r;
}

static int walk_and_print(const struct analysis_options *options,
                          const struct causal_report *causal, struct walk *walk)
{
    struct summary *summary = container_of(walk->sink, struct summary, sink);
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

/* An exit status. */
static int summarise(const struct analysis_options *options, struct trace *trace,
                     const struct pairs *pairs, const struct analysis_settings *settings)
{
    struct summary *summary = calloc(1, sizeof *summary);
    int status;

    if (!summary)
        return cli_no_memory();
    if (summary_init(summary, settings, pairs->rules.rules, pairs->rules.n, &trace->catalogue) < 0)
        status = cli_no_memory();
    else
        status = analysis_walk(options, trace, &summary->sink, &summary->coverage.losses,
                               walk_and_print);
    summary_done(summary);
    free(summary);
    return status;
}

/* An exit status. */
static int run(const struct analysis_options *options, struct trace *trace)
{
    static const struct strings none = {0};
    struct analysis_settings settings;
    struct pairs pairs = {0};
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r = pairs_init(&pairs, &error);

    if (r >= 0)
        r = pairs_read(&pairs, NULL, 0, &none, &none, &error);
    if (r < 0)
        (void)cli_print_failure(&error, r);
    else if (analysis_settings_init(options, trace, &pairs.arena, &settings) == EXIT_SUCCESS)
        status = summarise(options, trace, &pairs, &settings);
    pairs_done(&pairs);
    return status;
}

int cmd_summary(int argc, char **argv)
{
    struct analysis_options options = {.top = TOP_DEFAULT};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&summary_command, argc, argv, &options, &n, &status)) {
        if (options.format == TABLE_CSV) {
            status = cli_usage_error("summary", "a summary is several tables; -f csv of the other "
                                                "analyses prints one");
        } else if (n == 0) {
            status = cli_usage_error("summary", "no trace file given");
        } else {
            struct trace *trace = walk_open(&options.open, argv + 1, n);

            if (trace)
                status = run(&options, trace);
            trace_free(trace);
        }
    }
    analysis_options_done(&options);
    return status;
}
