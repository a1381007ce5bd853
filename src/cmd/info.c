/* SPDX-License-Identifier: MIT */
/* strata info: describes traces. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "record/rings/recover.h"
#include "report/info_row.h"
#include "tracedir/manifest.h"

#define OUT_SIZE ((size_t)64 * 1024)

/* All sources of a directory in the host's time, as far as they were described. */
struct timeline {
    unsigned n;
    struct trace_host_times times;
};

struct info_options {
    struct open_options open;
    unsigned format;           /* enum table_format */
    struct timeline *timeline; /* gets each source; may be NULL */
    struct table *table;       /* has a row for each trace */
};

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format; json is one object per line",
     offsetof(struct info_options, format), .choices = table_formats, .default_text = "text"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Reading", open_option_table, offsetof(struct info_options, open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command info_command = {
    .name = "info",
    .summary = "describe a trace: format, clock, events, losses",
    .operands = "PATH...",
    .about = "Describes each trace: its format and version, clock, CPUs, event classes, the\n"
             "time that it covers, and what was lost. The whole trace is read.\n\n"
             "The format of PATH is detected; - is standard input.",
    .groups = groups,
    .examples = "  strata info trace\n"
                "  strata info -f json trace | jq .lost.events",
};

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct info *info = container_of(sink, struct info, seen);

    for (unsigned i = 0; i < n; i++)
        if ((uint32_t)items[i].cpu < INFO_CPUS_MAX)
            info->cpus[items[i].cpu / 64] |= (uint64_t)1 << (items[i].cpu % 64);
    return states_put(&info->states, items, n);
}

/* ---- The timeline of a directory ---- */

static void add_to_timeline(struct timeline *timeline, const struct info *info)
{
    struct trace_host_times *all = &timeline->times;
    struct trace_host_times times;

    if (!info_host_times(info, &times))
        return;
    all->first = timeline->n ? MIN(all->first, times.first) : times.first;
    all->last = timeline->n ? MAX(all->last, times.last) : times.last;
    all->error_ns = MAX(all->error_ns, times.error_ns);
    timeline->n++;
}

/* Prints what all sources of the directory have together. STATUS: the result of reading each alone, which has reported
 * unreadable ones. */
static int put_timeline(const struct info_options *options, const struct manifest *manifest,
                        const char *path, int status)
{
    enum { SOURCES, TIMELINE, HOST_TIME };
    static const struct table_column timeline_columns[] = {
        [SOURCES] = {.title = ""},
        [TIMELINE] = {.title = "timeline", .width = sizeof "out of order" - 1},
        [HOST_TIME] = {.title = "host's time"},
    };
    static const struct table_form form = {timeline_columns, ARRAY_SIZE(timeline_columns),
                                           .records = true, .silent_if_empty = true};
    const struct trace_options trace_options = {.stated_clocks = true,
                                                .reader = {.keep_going = options->open.keep_going},
                                                .cpu_hz = options->open.cpu_hz};
    struct trace *trace = NULL;
    struct table table;
    struct text *cell;
    struct error error;
    char why[1200] = "the sources are of one clock";
    int r;

    error_clear(&error);
    r = trace_open(&path, 1, &trace_options, &trace, &error);
    if (error_is_local(r)) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (trace && trace->n_missing && status == EXIT_SUCCESS) {
        walk_report_notes(trace);
        status = EXIT_FAILURE;
    }
    if (r < 0)
        error_print(&error, why, sizeof why);
    table_begin(&table, options->table->out, TABLE_TEXT, &form);
    cell = table_cell(&table, SOURCES);
    text_put_str(cell, path);
    text_printf(cell, ", %u sources", manifest->n_sources);
    cell = table_cell(&table, TIMELINE);
    if (trace && trace->host_time) {
        const struct manifest_host *host = trace->inputs[0].recorded->host;

        text_put_str(cell, trace_input_timeline(&trace->inputs[0]));
        if (host && host->name) {
            text_put_literal(cell, ", of ");
            text_put_str(cell, host->name);
        }
        if (options->timeline->n)
            info_put_host_times(table_cell(&table, HOST_TIME), &options->timeline->times);
    } else {
        text_put_str(cell, trace ? "" : "none: ");
        text_put_str(cell, why);
    }
    table_end_row(&table);
    r = table_end(&table);
    trace_free(trace);
    if (r >= 0)
        r = text_flush(options->table->out);
    return r < 0 ? cli_output_error(r) : status;
}

/* True if INPUT is of rings whose drain has not ended, and which do not exist any more. */
static bool has_no_rings(const struct trace_input *input)
{
    const struct manifest_source *source = input->recorded;

    return source && !manifest_source_has_ended(source) && strcmp(source->kind, "ctf") == 0 &&
           !recover_has_rings(input->path, source);
}

/* ---- Reading ---- */

/* Opens all sources of TRACE's directory. NULL if it is not necessary, or if they cannot be opened together. */
static struct trace *open_together(const struct info_options *options, const struct trace *trace)
{
    const char *path = trace->inputs[0].path;
    struct trace_options trace_options;
    struct trace *together = NULL;
    struct error error = {0};

    if (trace->host_time || !trace->inputs[0].recorded || !trace->inputs[0].clock_map)
        return NULL;
    open_options_apply(&options->open, &trace_options);
    trace_options.source = NULL;
    return trace_open(&path, 1, &trace_options, &together, &error) < 0 ? NULL : together;
}

/* Finds what is known of the clock of INFO's source, which is alone in TRACE. Its times are tightened as in TOGETHER,
 * with the other sources. -ENOMEM. */
static int find_clock(struct info *info, struct trace *trace, const struct trace *together)
{
    const struct trace_input *input = &trace->inputs[0];
    const struct trace_clocks *clocks = together ? &together->clocks : &trace->clocks;

    for (unsigned i = 0; i < clocks->n && input->recorded; i++)
        if (strcmp(clocks->rows[i].source, input->recorded->name) == 0)
            info->clock = &clocks->rows[i];
    return together && info->clock && info->clock->is_tightened && !trace->host_time &&
                   input->clock_map
               ? trace_set_clock_map(trace, 0, together->inputs[info->clock->input].clock_map)
               : 0;
}

static int describe(const struct info_options *options, struct trace *trace,
                    const struct trace *together)
{
    const struct select_options all = {0};
    struct selection selection = {0};
    static const struct sink_ops ops = {.put = put};
    struct info info = {.trace = trace, .origin = trace->inputs[0].origin, .seen = {.ops = &ops}};
    struct sink *const sinks[] = {&info.seen, &info.tally.sink};
    struct tee_sink tee;
    struct walk walk = {.reading.trace = trace,
                        .reading.selection = &selection,
                        .out = options->table->out,
                        .reading.sink = &tee.sink,
                        .losses = &info.tally.losses};
    int status = EXIT_FAILURE;

    if (find_clock(&info, trace, together) < 0)
        return cli_no_memory();
    info.has_no_rings = has_no_rings(&trace->inputs[0]);
    tally_init(&info.tally, TALLY_BY_SOURCE_EVENT);
    states_init(&info.states, NULL, NULL);
    info.states.wanted = 0; /* no intervals */
    tee_sink_init(&tee, sinks, ARRAY_SIZE(sinks));
    if (selection_init(&selection, &all) < 0) {
        cli_no_memory();
    } else {
        status = walk_through(&walk);
        info.stopped = walk.reading.error.code != 0;
        if (info_put_row(&info, options->table) < 0) {
            status = cli_no_memory();
        }
        if (options->timeline)
            add_to_timeline(options->timeline, &info);
        status = walk_end(&walk, &options->open, status);
    }
    tally_done(&info.tally);
    states_done(&info.states);
    selection_done(&selection);
    return status;
}

static int worse(int a, int b)
{
    return a == EXIT_SUCCESS || b == EXIT_FAILURE ? b : a;
}

static int describe_one(const struct info_options *options, char *path)
{
    struct trace *trace = walk_open(&options->open, &path, 1);
    struct trace *together = trace ? open_together(options, trace) : NULL;
    int status = trace ? describe(options, trace, together) : EXIT_FAILURE;

    trace_free(together);
    trace_free(trace);
    return status;
}

/* Describes a trace, or each source of a recorded directory. */
static int describe_path(const struct info_options *options, char *path)
{
    struct timeline timeline = {0};
    struct info_options one = *options;
    struct manifest manifest;
    struct error error;
    int status = EXIT_SUCCESS;
    int r;

    if (options->open.source || !manifest_probe(path))
        return describe_one(options, path);
    error_clear(&error);
    r = manifest_read(path, &manifest, &error);
    if (error_is_local(r)) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (r < 0)
        return describe_one(options, path); /* which says what is wrong with it */
    if (manifest.n_sources == 0) {
        manifest_done(&manifest);
        return describe_one(options, path);
    }
    one.timeline = &timeline;
    for (unsigned i = 0; i < manifest.n_sources; i++) {
        one.open.source = manifest.sources[i].name;
        status = worse(status, describe_one(&one, path));
    }
    if (manifest.n_sources > 1 && options->format == TABLE_TEXT && !options->open.host_time)
        status = worse(status, put_timeline(&one, &manifest, path, status));
    manifest_done(&manifest);
    return status;
}

/* Describes each trace alone, because they are independent, and their clocks may differ. */
static int describe_all(struct info_options *options, char **paths, int n)
{
    struct table table;
    struct text out;
    int status = EXIT_SUCCESS;
    int r;

    if (output_open(&out, options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE) < 0)
        return cli_no_memory();
    table_begin(&table, &out, (enum table_format)options->format, &info_form);
    options->table = &table;
    for (int i = 0; i < n; i++)
        status = worse(status, describe_path(options, paths[i]));
    r = table_end(&table);
    if (r >= 0 && status != EXIT_FAILURE)
        r = text_flush(&out);
    if (r < 0)
        status = cli_output_error(r);
    text_done(&out);
    return status;
}

int cmd_info(int argc, char **argv)
{
    struct info_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&info_command, argc, argv, &options, &n, &status))
        status = n == 0 ? cli_usage_error("info", "no trace file given")
                        : describe_all(&options, argv + 1, n);
    open_options_done(&options.open);
    return status;
}
