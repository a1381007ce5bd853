/* SPDX-License-Identifier: MIT */
/* strata path: why requests, spans and waits took so long. */

#include "analysis/path/path.h"

#include <string.h>

#include "cli/output.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"
#include "cmd/span_rules.h"

struct path_options {
    struct analysis_options common;
    struct strings pairs, files;
    bool waits, threads;
};

#define MEMBER(m) offsetof(struct path_options, m)

static const struct cli_option what_options[] = {
    {OPTION_STRINGS, 'p', "pair", "RULE",
     "explain the spans between two events: 'kvm_exit -> kvm_entry by thread'", MEMBER(pairs),
     .page = "strata-latency(1) describes rules."},
    {OPTION_STRINGS, 0, "pairs", "FILE", "file of such rules, one per line", MEMBER(files)},
    {OPTION_FLAG, 0, "waits", NULL, "explain each time that a thread sleeps or waits for a CPU",
     MEMBER(waits), .excludes = "--pair, --pairs", .page = "--task or --pid selects the threads."},
    {OPTION_FLAG, 0, "threads", NULL, "explain all of the time of threads, also while they run",
     MEMBER(threads), .excludes = "--pair, --pairs, --waits",
     .page = "--task or --pid selects the threads, --from and --until the time. Each time that a "
             "thread "
             "runs, sleeps or waits for a CPU is an interval; their sum is all of its time."},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is explained", what_options, 0},
    {"Output", analysis_fixed_output_options, MEMBER(common),
     .page = "With --events, each segment is a span; a wait for a CPU has a span for each that ran "
             "there."},
    {"Which intervals", analysis_span_options, MEMBER(common)},
    {"Selection", select_option_table, MEMBER(common.select),
     .page = "--from, --until, --cpu, --pid and --vcpu select intervals by their begin. "
             "--event, --layer and "
             "--limit leave out events that are read (strata-analysis(7))."},
    {"Reading", open_option_table, MEMBER(common.open)},
    {"Threads", jobs_option_table, MEMBER(common.jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command path_command = {
    .name = "path",
    .summary = "explain why requests, spans and waits took so long",
    .operands = "[NAME...] PATH...",
    .about = "Follows each request to a disk from its end back to its begin, through all\n"
             "layers: who had to act, who ran while that waited for a CPU, and who woke it.\n"
             "Shows which part of the time each cause has, of all requests and of the slowest\n"
             "1 %. With --slowest, also the causes of the slowest requests, step by step.\n\n"
             "NAME is a rule of 'strata latency --list': its spans are explained instead.\n\n"
             "Record with: strata record --for io,sched,irq.",
    .groups = groups,
    .examples = "  strata path vm\n"
                "  strata path --slowest 3 vm\n"
                "  strata path --waits --task postgres vm\n"
                "  strata path --threads --task postgres --from +10 --until +20 vm\n"
                "  strata path --pair 'kvm_exit -> kvm_entry by thread' --sort slow_part vm",
};

static int measure(struct path_options *options, struct trace *trace, struct span_rules_user *pairs,
                   enum path_of of)
{
    struct analysis_settings settings;
    struct path path;
    int status = EXIT_FAILURE;

    if (analysis_settings_init(&options->common, trace, &pairs->arena, &settings) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    if (path_init(&path, &settings, of, pairs->rules.rules, pairs->rules.n, trace_classes(trace)) <
        0)
        cli_no_memory();
    else
        status = analysis_print(&options->common, trace, &path.analysis);
    if (status != EXIT_FAILURE && of == PATH_OF_SPANS) {
        int r = span_rules_check(pairs, trace_classes(trace), &options->common.select,
                                 path.spans.n_kinds > 0);

        status = r != EXIT_SUCCESS ? r : status;
    } else if (status != EXIT_FAILURE && !path.has_events) {
        cli_error(of == PATH_OF_WAITS || of == PATH_OF_THREADS
                      ? "no waits of threads are in this trace; record with 'strata record --for "
                        "sched'"
                      : "no requests to disks are in this trace; name a rule ('strata latency "
                        "--list' lists them), or use --waits");
        status = EXIT_FAILURE;
    }
    path_done(&path);
    return status;
}

static int run(struct path_options *options, char **operands, int n)
{
    struct span_rules_user pairs = {0};
    struct trace *trace;
    struct error error = {0};
    enum path_of of = PATH_OF_REQUESTS;
    int status = EXIT_FAILURE;
    int n_names = 0;
    int r = span_rules_init(&pairs, &error);

    while (r >= 0 && n_names < n && span_rules_user_has_name(&pairs, operands[n_names]))
        n_names++;
    if (options->waits || options->threads)
        of = options->waits ? PATH_OF_WAITS : PATH_OF_THREADS;
    else if (n_names > 0 || options->pairs.n > 0 || options->files.n > 0)
        of = PATH_OF_SPANS;
    if (r >= 0 && of == PATH_OF_SPANS)
        r = span_rules_user_read(&pairs, operands, n_names, &options->pairs, &options->files,
                                 &error);
    if (r < 0) {
        (void)cli_print_failure(&error, r);
    } else if (n == n_names) {
        status = cli_usage_error("path", "no trace file given");
    } else if ((options->waits || options->threads) && n_names > 0) {
        status = cli_usage_error("path", "%s excludes the rule '%s'",
                                 options->waits ? "--waits" : "--threads", operands[0]);
    } else {
        trace = analysis_open(&options->common, operands + n_names, n - n_names);
        if (trace)
            status = measure(options, trace, &pairs, of);
        trace_free(trace);
    }
    span_rules_user_done(&pairs);
    return status;
}

int cmd_path(int argc, char **argv)
{
    struct path_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    /* Rows are by names of threads. */
    options.common.asks_names = true;
    if (options_parse(&path_command, argc, argv, &options, &n, &status)) {
        status = span_rules_check_syntax("path", &options.pairs);
        if (status == EXIT_SUCCESS)
            status = run(&options, argv + 1, n);
    }
    strings_done(&options.pairs);
    strings_done(&options.files);
    analysis_options_done(&options.common);
    return status;
}
