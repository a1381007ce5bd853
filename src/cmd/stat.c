/* SPDX-License-Identifier: MIT */
/* strata stat: counts events by kind, with their rates and intervals. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reopen_cache.h"
#include "cli/duration.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "print/table.h"
#include "report/stat_parallel.h"

#define OUT_SIZE ((size_t)64 * 1024)

struct stat_options {
    struct open_options open;
    struct select_options select;
    struct stat_report_options report;
    unsigned jobs;
    bool wide;
};

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format",
     offsetof(struct stat_options, report.format), .choices = table_formats,
     .default_text = "text"},
    {OPTION_STRING, 'b', "by", "KEY[,KEY...]",
     "what a row counts: event, cpu, task, layer, vcpu, source-event, or fields, such as irq",
     offsetof(struct stat_options, report.by), .default_text = "event",
     .page = "\"ROWS\" describes the keys."},
    {OPTION_PARSED, 0, "every", "SECONDS", "also count events per SECONDS (0.1 is 100 ms)",
     offsetof(struct stat_options, report.every), NULL, duration_parse_period,
     .page = "The first period begins at the first counted event. There are at most 100000 "
             "periods; the last "
             "one then counts all events that come after."},
    {OPTION_NUMBER, 0, "gaps", "N", "also list the N longest times without an event",
     offsetof(struct stat_options, report.gaps),
     .page = "N is at most 10000. A gap in which a CPU lost events is marked."},
    WIDE_OPTION(offsetof(struct stat_options, wide)),
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_option_table, offsetof(struct stat_options, select),
     .page = "A loss is kept unless its time, CPU, vCPU or layer is excluded, because any event "
             "may have been "
             "lost."},
    {"Reading", open_option_table, offsetof(struct stat_options, open)},
    {"Threads", jobs_option_table, offsetof(struct stat_options, jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command stat_command = {
    .name = "stat",
    .summary = "count the events of a trace and measure the time between them",
    .operands = "PATH...",
    .about = "Counts the events of one or more traces by class, CPU, task, layer, vCPU or the\n"
             "values of a field, the most frequent first. Shows count, rate, share, and the\n"
             "intervals from one event of a row to the next: percentiles (within 1.6 %), the\n"
             "maximum, and when that began. 'strata latency' measures how long things take.\n\n"
             "The format of PATH is detected; - is standard input.",
    .groups = groups,
    .examples = "  strata stat trace\n"
                "  strata stat --by task --cpu 0 --until +1 trace\n"
                "  strata stat -e 'irq_handler_*' --by event,irq --every 0.1 trace",
};

static int parse_by(const char *by, struct arena *arena, struct tally_options *options)
{
    struct error error = {0};
    int r;

    for (unsigned i = 0; i < STAT_KINDS; i++)
        if (!by || strcmp(by, stat_kinds[i]) == 0) {
            options->by = (enum tally_by)i;
            return 0;
        }
    options->by = TALLY_BY_KEYS;
    r = grouping_parse(by, arena, &options->grouping, &error);
    if (r < 0)
        (void)cli_print_failure(&error, r);
    return r;
}

/* Checks that some events have the fields of --by. Many readers know their events only after reading. */
static int check_keys(const struct stat_report *stat)
{
    struct error error = {0};

    if (stat->tally.by != TALLY_BY_KEYS || stat->tally.count > 0 ||
        grouping_check(&stat->tally.options.grouping, &stat->trace->catalogue, &error) >= 0)
        return EXIT_SUCCESS;
    cli_print_error(&error);
    return EXIT_FAILURE;
}

/* Counts in one thread. */
static int count_alone(struct stat_report *stat, struct selection *selection)
{
    struct walk walk = {.reading.trace = stat->trace,
                        .reading.selection = selection,
                        .out = stat->out,
                        .reading.sink = &stat->tally.sink,
                        .losses = &stat->tally.losses,
                        .layers = &stat->tally.layers};
    int status = walk_through(&walk);

    stat_set_begin(stat, selection);
    return status;
}

static void show_progress(void *arg, const struct trace *trace)
{
    struct progress *progress = arg;
    uint64_t done, total;

    if (!progress_is_due(progress))
        return;
    trace_progress(trace, &done, &total);
    progress_show(progress, done, total);
}

/* Counts in several threads, if that is possible and worth it. May open the trace again. */
static int count(const struct stat_options *options, struct stat_report *stat,
                 const struct tally_options *settings, struct selection *selection, char **paths,
                 int n)
{
    struct trace_options open;
    struct progress progress;
    const struct parallel_options parallel = {.open = &open,
                                              .select = &options->select,
                                              .paths = (const char *const *)paths,
                                              .n_paths = (unsigned)n,
                                              .n_threads = jobs_count(options->jobs),
                                              .eager = options->jobs > 0,
                                              .progress = show_progress,
                                              .progress_arg = &progress};

    open_options_apply(&options->open, &open);
    if (stat_can_parallel(stat, &parallel)) {
        int r;

        progress_start(&progress, isatty(STDERR_FILENO));
        r = stat_parallel(stat, settings, &parallel);
        progress_erase(&progress);
        if (r == 0) {
            walk_add_recorded(stat->trace, &options->select, select_is_part(&options->select),
                              &stat->tally.losses, &stat->tally.layers);
            return stat->trace->n_missing ? EXIT_FAILURE : EXIT_SUCCESS;
        }
        tally_done(&stat->tally);
        trace_free(stat->trace);
        stat->trace = walk_open_again(&options->open, paths, n);
        if (!stat->trace)
            return EXIT_FAILURE;
        if (tally_init_with(&stat->tally, settings) < 0)
            return cli_no_memory();
    }
    return count_alone(stat, selection);
}

static int set_up(struct stat_report *stat, struct arena *arena, struct tally_options *settings)
{
    const struct stat_report_options *options = stat->options;
    const struct trace *trace = stat->trace;

    settings->gaps = (unsigned)MIN(options->gaps, (uint64_t)TALLY_GAPS_MAX);
    if (parse_by(options->by, arena, settings) < 0)
        return EXIT_FAILURE;
    /* Sources with clocks of their own are read one after the other, and may not be of one system. */
    settings->separate = trace->n_inputs > 1 && !trace->host_time;
    if (settings->by == TALLY_BY_EVENT && settings->separate)
        settings->by = TALLY_BY_SOURCE_EVENT;
    stat->clock = trace->inputs[0].origin->clock;
    settings->every = options->every > 0 ? MAX(clock_from_ns(&stat->clock, options->every), 1) : 0;
    settings->period_distances = options->format == TABLE_JSON;
    return tally_init_with(&stat->tally, settings) < 0 ? cli_no_memory() : EXIT_SUCCESS;
}

/* Reports what the format cannot contain. */
static void report_rest(const struct stat_report *stat)
{
    if (stat->options->format == TABLE_CSV)
        walk_report_losses(&stat->tally.losses);
    if (stat->tally.has_late_periods)
        cli_error("--every makes more than %u periods; the last one counts all that comes after",
                  TALLY_PERIODS_MAX);
}

static int print(const struct stat_options *options, struct stat_report *stat, int status)
{
    struct selection selection = {.options = &options->select};
    const struct walk walk = {.reading.trace = stat->trace,
                              .reading.selection = &selection,
                              .out = stat->out,
                              .losses = &stat->tally.losses};

    if (status != EXIT_FAILURE && check_keys(stat) != EXIT_SUCCESS)
        status = EXIT_FAILURE;
    else if (print_stat(stat) < 0)
        status = cli_no_memory();
    else
        report_rest(stat);
    return walk_end(&walk, &options->open, status);
}

/* Takes ownership of TRACE. */
static int count_and_print(const struct stat_options *options, struct trace *trace, char **paths,
                           int n)
{
    struct text out;
    struct stat_report stat = {.options = &options->report,
                               .trace = trace,
                               .out = &out,
                               .from = INT64_MIN,
                               .cpus = options->select.cpus.n > 0 ? &options->select.cpus : NULL,
                               .line_width = options->wide ? 0 : output_line_width()};
    struct tally_options settings = {0};
    struct selection selection = {0};
    struct arena arena = {0};
    int status;

    if (output_open(&out, options->report.format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0) {
        trace_free(trace);
        return cli_no_memory();
    }
    status = set_up(&stat, &arena, &settings);
    if (status == EXIT_SUCCESS && selection_init(&selection, &options->select) < 0) {
        status = cli_no_memory();
    } else if (status == EXIT_SUCCESS) {
        status = count(options, &stat, &settings, &selection, paths, n);
        if (stat.trace)
            status = print(options, &stat, status);
    }
    tally_done(&stat.tally);
    selection_done(&selection);
    trace_free(stat.trace);
    arena_done(&arena);
    text_done(&out);
    return status;
}

int cmd_stat(int argc, char **argv)
{
    struct stat_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&stat_command, argc, argv, &options, &n, &status)) {
        struct trace *trace;

        /* Each thread opens the trace. Without memory for it, each opening reads all that it needs. */
        if (jobs_count(options.jobs) > 1)
            options.open.cache = reopen_cache_new();
        if (n == 0)
            status = cli_usage_error("stat", "no trace file given");
        else if ((trace = walk_open(&options.open, argv + 1, n)))
            status = count_and_print(&options, trace, argv + 1, n);
    }
    reopen_cache_free(options.open.cache);
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
