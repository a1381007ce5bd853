/* SPDX-License-Identifier: MIT */
/* strata stat: how many events of which kind, how often, how far apart. */

#include <stdlib.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/stat.h"
#include "print/table.h"

#define OUT_SIZE ((size_t)64 * 1024)

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format (text)",
     offsetof(struct stat_options, format), .choices = table_formats},
    {OPTION_STRING, 'b', "by", "KEY[,KEY...]",
     "what a row counts: event, cpu, task, layer, vcpu,\n"
     "source-event, or values of fields, as irq (event)",
     offsetof(struct stat_options, by)},
    {OPTION_PARSED, 0, "every", "SECONDS", "also count events per SECONDS (0.1 is 100 ms)",
     offsetof(struct stat_options, every), NULL, duration_parse_period},
    {OPTION_NUMBER, 0, "gaps", "N", "also list the N longest times without an event",
     offsetof(struct stat_options, gaps)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_option_table, offsetof(struct stat_options, select)},
    {"Reading", open_option_table, offsetof(struct stat_options, open)},
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

/* The fields that rows are by are fields of events. Many readers know their events only when they have seen them. */
static int check_keys(struct stat *stat)
{
    struct error error = {0};

    if (stat->tally.by != TALLY_BY_KEYS ||
        grouping_check(&stat->tally.options.grouping, &stat->trace->catalogue, &error) >= 0)
        return EXIT_SUCCESS;
    cli_print_error(&error);
    return EXIT_FAILURE;
}

static int count(const struct stat_options *options, struct trace *trace)
{
    struct text out;
    struct selection selection = {0};
    struct stat stat = {.options = options, .trace = trace, .out = &out};
    struct walk walk = {.trace = trace,
                        .selection = &selection,
                        .out = &out,
                        .sink = &stat.tally.sink,
                        .losses = &stat.tally.losses};
    struct tally_options settings = {.gaps =
                                         (unsigned)MIN(options->gaps, (uint64_t)TALLY_GAPS_MAX)};
    struct arena arena = {0};
    int status = EXIT_FAILURE;

    if (parse_by(options->by, &arena, &settings) < 0) {
        arena_done(&arena);
        return EXIT_FAILURE;
    }
    /* Sources with clocks of their own are read one after the other, and may not be of one system. */
    settings.separate = trace->n_inputs > 1 && !trace->host_time;
    if (settings.by == TALLY_BY_EVENT && settings.separate)
        settings.by = TALLY_BY_SOURCE_EVENT;
    if (output_open(&out, options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE) <
        0) {
        cli_no_memory();
        arena_done(&arena);
        return EXIT_FAILURE;
    }
    stat.clock = trace->inputs[0].origin->clock;
    settings.every = options->every > 0 ? MAX(clock_from_ns(&stat.clock, options->every), 1) : 0;
    settings.period_distances = options->format == TABLE_JSON;
    if (tally_init_with(&stat.tally, &settings) < 0 ||
        selection_init(&selection, &options->select) < 0) {
        cli_no_memory();
    } else {
        status = walk_through(&walk);
        if (status != EXIT_FAILURE && check_keys(&stat) != EXIT_SUCCESS) {
            status = EXIT_FAILURE;
        } else if (stat_print(&stat) < 0) {
            status = cli_no_memory();
        }
        status = walk_end(&walk, &options->open, status);
    }
    tally_done(&stat.tally);
    arena_done(&arena);
    selection_done(&selection);
    text_done(&out);
    return status;
}

int cmd_stat(int argc, char **argv)
{
    struct stat_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&stat_command, argc, argv, &options, &n, &status)) {
        if (n == 0) {
            status = cli_usage_error("stat", "no trace file given");
        } else {
            struct trace *trace = walk_open(&options.open, argv + 1, n);
            if (trace)
                status = count(&options, trace);
            trace_free(trace);
        }
    }
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
