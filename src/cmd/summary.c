/* SPDX-License-Identifier: MIT */
/* strata summary: the first page about a trace, by all analyses at once. */

#include "analysis/summary.h"

#include <stdlib.h>

#include "base/atomic_output.h"
#include "base/shell_word.h"
#include "cli/output.h"
#include "cli/select_options.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"
#include "cmd/span_rules.h"
#include "report/findings_refine.h"
#include "report/print_summary.h"
#include "report/print_summary_html.h"
#include "tracedir/manifest.h"

/* Rows of a table. */
#define TOP_TEXT 5
#define TOP_PAGE 20
#define TOP_NOT_GIVEN UINT64_MAX

struct summary_options {
    struct analysis_options common;
    const char *html;    /* where the page is written; may be NULL */
    struct text command; /* as the user gave it */
};

#define MEMBER(m) offsetof(struct summary_options, m)
#define COMMON(m) (offsetof(struct summary_options, common) + offsetof(struct analysis_options, m))

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json", "output format", COMMON(format),
     .choices = table_formats, .default_text = "text",
     .page = "A summary has no CSV, because it is several tables; each analysis prints CSV."},
    {OPTION_STRING, 0, "html", "FILE",
     "write a page with charts instead, in one file, for a browser or a bug report", MEMBER(html),
     .page = "'-' is standard output. FILE is replaced when the page is complete.",
     .excludes = "--format"},
    {OPTION_NUMBER, 0, "top", "N", "only the first N rows of each table; 0: all", COMMON(top),
     .default_text = "5, in a page 20",
     .page = "The table of requests to disks has twice as many. JSON has all rows."},
    WIDE_OPTION(COMMON(wide)),
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_whole_option_table, COMMON(select),
     .page = "--from and --until select times in a state, and what begins in them. --event, "
             "--layer and --limit "
             "leave out events that are read (strata-analysis(7))."},
    {"Reading", open_option_table, COMMON(open)},
    {"Threads", jobs_option_table, COMMON(jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command summary_command = {
    .name = "summary",
    .summary = "show what stands out in a trace, by all analyses at once",
    .operands = "PATH...",
    .about = "Prints an overview of a trace: what stands out, with the commands that show the\n"
             "details; what was recorded, with losses and clock errors; where the time of\n"
             "CPUs, vCPUs and tasks went; VM exits, disk requests, interrupts and\n"
             "latencies; and the analyses that lack events, with how to record them.",

    .groups = groups,
    .examples = "  strata summary trace\n"
                "  strata summary --from +10 --until +20 trace\n"
                "  strata summary --html trace.html trace\n"
                "  strata summary -f json trace | jq -r '.findings[].text'",
};

/* A walk, and the output of its results. */
struct summary_run {
    const struct summary_options *options;
    struct summary summary;
    struct atomic_output output; /* for the page, if there is one */
};

static int put_page(struct summary_run *run, const struct findings *findings,
                    const struct walk *walk)
{
    struct summary_page page = {
        .summary = &run->summary,
        .findings = findings,
        .trace = walk->reading.trace,
        .made_by = run->options->command.start,
        .error = &walk->reading.error,
        .top = run->options->common.top,
    };

    return print_summary_html(&page, &run->output.out);
}

static int print(struct summary_run *run, struct walk *walk)
{
    const struct analysis_options *options = &run->options->common;
    struct findings findings;
    int r = findings_find(&run->summary, walk->reading.trace, &findings);

    if (r >= 0)
        r = findings_refine(&findings, walk->reading.trace);
    if (r >= 0 && run->options->html)
        r = put_page(run, &findings, walk);
    else if (r >= 0)
        r = options->format == TABLE_JSON
                ? print_summary_json(&run->summary, &findings, walk->reading.trace, walk->out)
                : print_summary_text(&run->summary, &findings, walk->reading.trace, options->top,
                                     options->wide ? 0 : output_line_width(), walk->out);
    findings_done(&findings);
    return r;
}

/* An exit status. */
static int commit(struct atomic_output *output)
{
    struct error error = {0};

    if (atomic_output_commit(output, &error) >= 0)
        return EXIT_SUCCESS;
    if (!error.code)
        return cli_output_error(-EPIPE);
    cli_print_error(&error);
    return EXIT_FAILURE;
}

/* Makes errors unknown that causes and effects contradict, or that are too large. */
static void refute_errors(struct summary *summary, const struct trace *trace)
{
    bool are_known = catalogue_errors_are_known(&trace->catalogue);

    for (unsigned i = 0; i < SUMMARY_PARTS && !are_known; i++)
        result_refute_errors(&summary->results[i]);
    for (unsigned i = 0; i < summary->n_sources; i++) {
        struct summary_source *source = summary->sources[i];

        source->is_error_refuted =
            source->origin->is_error_refuted || source->error_ns == ERROR_UNKNOWN;
    }
}

static int walk_and_print(const struct analysis_options *options, struct walk *walk)
{
    struct summary *summary = container_of(walk->reading.sink, struct summary, sink);
    struct summary_run *run = container_of(summary, struct summary_run, summary);
    int status = walk_through(walk);

    (void)options;
    for (unsigned i = 0; i < summary->n_sources; i++)
        losses_add_recorded(&summary->sources[i]->losses, summary->sources[i]->origin,
                            walk_is_part(walk));
    if (summary->sink.error.code == 0 && sink_finish(&summary->sink) < 0) {
        cli_print_error(&summary->sink.error);
        return EXIT_FAILURE;
    }
    if (summary->sink.error.code)
        return status;
    if (summary_make_results(summary) < 0)
        return cli_no_memory();
    refute_errors(summary, walk->reading.trace);
    if (print(run, walk) < 0)
        return cli_no_memory();
    if (run->options->html && commit(&run->output) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    return status;
}

/* An exit status. */
static int summarise(struct summary_run *run, struct trace *trace,
                     const struct span_rules_user *pairs, const struct analysis_settings *settings)
{
    struct summary *summary = &run->summary;
    struct error error = {0};
    int status = EXIT_FAILURE;

    if (walk_would_overwrite(trace, run->options->html))
        return EXIT_FAILURE;
    if (run->options->html && atomic_output_open(ATOMIC_OUTPUT_STREAM, run->options->html, NULL,
                                                 NULL, &run->output, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (summary_init(summary, settings, pairs->rules.rules, pairs->rules.n, trace_classes(trace)) <
        0)
        status = cli_no_memory();
    else
        status =
            analysis_walk(&run->options->common, trace, &summary->sink, &summary->coverage.losses,
                          &summary->coverage.layers, walk_and_print);
    summary_done(summary);
    if (run->options->html)
        atomic_output_done(&run->output);
    return status;
}

/* An exit status. */
static int run(const struct summary_options *options, struct trace *trace)
{
    static const struct strings none = {0};
    struct summary_run *run = calloc(1, sizeof *run);
    struct analysis_settings settings;
    struct span_rules_user pairs = {0};
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r;

    if (!run)
        return cli_no_memory();
    run->options = options;
    r = span_rules_init(&pairs, &error);
    if (r >= 0)
        r = span_rules_user_read(&pairs, NULL, 0, &none, &none, &error);
    if (r < 0)
        (void)cli_print_failure(&error, r);
    else if (analysis_settings_init(&options->common, trace, &pairs.arena, &settings) ==
             EXIT_SUCCESS)
        status = summarise(run, trace, &pairs, &settings);
    span_rules_user_done(&pairs);
    free(run);
    return status;
}

/* Checks that the options can be combined. An exit status; an error is printed. */
static int check(const struct summary_options *options, int n)
{
    if (options->common.format == TABLE_CSV)
        return cli_usage_error("summary", "a summary is several tables; -f csv of the other "
                                          "analyses prints one");
    if (n == 0)
        return cli_usage_error("summary", "no trace file given");
    return EXIT_SUCCESS;
}

int cmd_summary(int argc, char **argv)
{
    struct summary_options options = {.common.top = TOP_NOT_GIVEN, .command = TEXT_IN_MEMORY};
    int status = EXIT_FAILURE;
    int n;

    text_put_literal(&options.command, "strata");
    for (int i = 0; i < argc; i++) {
        text_put_char(&options.command, ' ');
        shell_put_shown_word(&options.command, argv[i]);
    }
    text_put_char(&options.command, '\0');
    if (options.command.error) {
        status = cli_no_memory();
    } else if (options_parse(&summary_command, argc, argv, &options, &n, &status)) {
        if (options.common.top == TOP_NOT_GIVEN)
            options.common.top = options.html ? TOP_PAGE : TOP_TEXT;
        status = check(&options, n);
        if (status == EXIT_SUCCESS) {
            struct trace *trace = analysis_open(&options.common, argv + 1, n);

            status = trace ? run(&options, trace) : EXIT_FAILURE;
            trace_free(trace);
        }
    }
    text_done(&options.command);
    analysis_options_done(&options.common);
    return status;
}
