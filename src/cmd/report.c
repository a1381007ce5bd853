/* SPDX-License-Identifier: MIT */
/* strata report: prints every event as a line of text. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reopen_cache.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "live/follow.h"
#include "live/follow_file.h"
#include "print/parallel.h"
#include "record/stop_signals.h"
#include "report/losses_text.h"
#include "report/trace_view.h"
#include "tracedir/manifest.h"

#define OUT_SIZE ((size_t)256 * 1024)

enum format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_CSV,
};

/* --last N. */
struct last_options {
    uint64_t n;
    bool is_given;
};

struct report_options {
    struct open_options open;
    struct select_options select;
    unsigned format; /* enum format */
    bool spreadsheet, flags, follow;
    struct last_options last;
    unsigned jobs;
};

static const char *const formats[] = {"text", "json", "csv", NULL};

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format",
     offsetof(struct report_options, format), .choices = formats, .default_text = "text"},
    {OPTION_FLAG, 0, "spreadsheet", NULL, "in CSV, write ' before a text that is a formula",
     offsetof(struct report_options, spreadsheet),
     .page = "A spreadsheet would run a text that begins with one of '= + - @'."},
    {OPTION_FLAG, 0, "flags", NULL,
     "in text and JSON, show the state of the kernel's CPU: interrupts off, preemption count, ... "
     "(d..2.)",
     offsetof(struct report_options, flags),
     .page = "\"FLAGS\" explains the letters. JSON has the numbers flags and preempt_count.",
     .excludes = "--format=csv"},
    {OPTION_END},
};

/* Parses VALUE into MEMBER, a struct last_options. -EINVAL with ERROR->what. */
static int parse_last(void *member, const char *value, struct error *error)
{
    struct last_options *options = member;
    char *end;

    errno = 0;
    options->n = strtoull(value, &end, 10);
    options->is_given = true;
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return error_set(error, -EINVAL, NULL, "is not a whole number");
    return 0;
}

static const struct cli_option end_options[] = {
    {OPTION_PARSED, 0, "last", "N", "only the last N of the selected events",
     offsetof(struct report_options, last), .parse = parse_last,
     .page = "Losses after the first of these events are shown too, and do not count. The traces "
             "must be "
             "files. With --follow, --limit is possible as well."},
    {OPTION_FLAG, 0, "follow", NULL,
     "print new events of a recording until it ends or Ctrl-C; begins now, or with --last",
     offsetof(struct report_options, follow), .page = "\"FOLLOWING\" describes this.",
     .excludes = "--from and --until"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_option_table, offsetof(struct report_options, select),
     .page = "A loss is kept unless its time, CPU, vCPU or layer is excluded, because any event "
             "may have been "
             "lost."},
    {"End of the trace", end_options, 0},
    {"Reading", open_option_table, offsetof(struct report_options, open)},
    {"Threads", jobs_option_table, offsetof(struct report_options, jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command report_command = {
    .name = "report",
    .summary = "show the events of a trace, one per line",
    .operands = "PATH...",
    .about = "Shows the events of one or more traces in order of time, one per line:\n\n"
             "    TIME [CPU] TASK NAME: TEXT\n\n"
             "A trace with several layers is shown in the host's time, with its maximum error:\n\n"
             "    TIME ±ERROR LAYER [CPU] VCPU TASK NAME: TEXT\n\n"
             "The format of PATH is detected; - is standard input.",
    .groups = groups,
    .examples = "  strata report trace\n"
                "  strata report -e 'sched:*,-sched_stat_*' --from +1 --until +2 trace\n"
                "  strata report --last 20 --follow trace\n"
                "  xz -dc boot.trace.xz | strata report -",
};

static int open_view(const struct report_options *options, struct trace *trace, struct text *out,
                     unsigned n_threads, struct sink **ret_view)
{
    struct view_options view_options = trace_view_options(trace);
    static view_open *const views[] = {
        [FORMAT_TEXT] = line_text_open,
        [FORMAT_JSON] = line_json_open,
        [FORMAT_CSV] = line_csv_open,
    };

    view_options.color = options->format == FORMAT_TEXT && output_has_color(STDOUT_FILENO);
    view_options.spreadsheet = options->spreadsheet;
    view_options.flags = options->flags;
    return print_parallel_open(views[options->format], &view_options, out, n_threads, ret_view);
}

static enum output_kind kind_of(const struct report_options *options)
{
    if (options->format != FORMAT_TEXT)
        return OUTPUT_DATA;
    return output_has_color(STDOUT_FILENO) ? OUTPUT_COLOR_TEXT : OUTPUT_TEXT;
}

static void print_losses(const struct losses *losses, const char *layer)
{
    struct text text = TEXT_IN_MEMORY;

    losses_put(losses, &text);
    if (text.start && !text.error)
        cli_error("%s%s%.*s", layer, *layer ? ": " : "", (int)text_len(&text), text.start);
    text_done(&text);
}

/* Different layers have different CPUs with the same numbers. */
static void report_all_losses(const struct losses_sink *counter, unsigned layers)
{
    if (layers == 0)
        print_losses(&counter->losses, "");
    for (unsigned i = 0; i < LAYERS; i++)
        if (layers >> i & 1)
            print_losses(&counter->layers.losses[i], layer_name((enum layer)i));
}

/* LAST: where to begin; may be NULL. */
static int report(const struct report_options *options, struct trace *trace, struct tail_sink *last)
{
    struct text out;
    struct selection selection = {0};
    struct sink *view = NULL;
    struct losses_sink counter;
    struct walk walk = {.reading.trace = trace,
                        .reading.selection = &selection,
                        .out = &out,
                        .draws = true,
                        .reading.sink = &counter.sink,
                        .losses = &counter.losses,
                        .layers = &counter.layers};
    int status = EXIT_FAILURE;

    if (output_open(&out, kind_of(options), OUT_SIZE) < 0)
        return cli_no_memory();
    if (selection_init(&selection, &options->select) < 0 ||
        open_view(options, trace, &out, jobs_count(options->jobs), &view) < 0) {
        cli_no_memory();
    } else {
        losses_sink_init(&counter, view);
        sink_begin(&counter.sink);
        if (last) {
            tail_sink_set_next(last, &counter.sink);
            tail_sink_set_selection(last, &selection);
            walk.reading.sink = &last->sink;
            walk.reading.has_from = last->from > INT64_MIN;
            walk.reading.from = last->from;
        }
        status = walk_through(&walk);
        text_flush(&out);
        if (!out.error)
            report_all_losses(&counter, trace_layers(trace));
        status = walk_end(&walk, &options->open, status);
    }
    sink_free(view);
    selection_done(&selection);
    text_done(&out);
    return status;
}

static int open_follow_view(void *arg, struct trace *trace, struct text *out,
                            struct sink **ret_view)
{
    return open_view(arg, trace, out, 1, ret_view); /* a view of little */
}

/* Checks that PATH is a file of records that are read in the order in which they were written. */
static bool check_grows(const struct report_options *options, char *path)
{
    struct trace *trace = strcmp(path, "-") == 0 ? NULL : walk_open(&options->open, &path, 1);
    const char *format = trace ? trace->inputs[0].origin->format : "";
    bool grows = strcmp(format, "simpletrace") == 0 || strcmp(format, "qemu-log") == 0;

    if (!grows && (trace || strcmp(path, "-") == 0))
        cli_error("%s: --follow requires a trace directory, as strata record writes it, or a file "
                  "of QEMU's simpletrace or log",
                  path);
    trace_free(trace);
    return grows;
}

static int find_tail(const struct report_options *options, uint64_t n_events, char **paths, int n,
                     struct tail_sink *sink)
{
    struct trace_options open;
    struct error error = {0};

    open_options_apply(&options->open, &open);
    if (tail_find(&open, &options->select, n_events, (const char *const *)paths, (unsigned)n, sink,
                  &error) < 0)
        return cli_print_failure(&error, error.code);
    return EXIT_SUCCESS;
}

/* Reports a file that grows. */
static int report_file(const struct report_options *options, char *path)
{
    struct tail_sink last;
    struct follow_file file;
    struct error error = {0};
    struct trace *trace;
    struct open_options open = options->open;
    const char *why;
    int status = EXIT_SUCCESS;

    if (!check_grows(options, path))
        return EXIT_FAILURE;
    /* What is there now is passed over. */
    status = find_tail(options, options->last.is_given ? options->last.n : 0, &path, 1, &last);
    if (status != EXIT_SUCCESS)
        return status;
    if (follow_file_start(path, &file, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    open.fd = &file.fd;
    trace = walk_open_again(&open, &path, 1);
    if (trace)
        follow_file_opened(&file);
    status = trace ? report(options, trace, &last) : EXIT_FAILURE;
    trace_free(trace);
    why = follow_file_end(&file);
    if (!why)
        return status;
    cli_error("%s: %s", path, why);
    return EXIT_FAILURE;
}

static void note(void *arg, const char *text)
{
    (void)arg;
    cli_error("%s", text);
}

static bool wait_for(void *arg, int fd, uint64_t until)
{
    return stop_signals_wait(arg, fd, until);
}

static int report_follow(const struct report_options *options, const char *dir)
{
    struct text out;
    struct losses_sink counter;
    struct trace_options open;
    struct stop_signals signals = {.fd = -1};
    struct walk walk = {.out = &out, .losses = &counter.losses};
    const struct follow follow = {.open = &open,
                                  .select = &options->select,
                                  .dir = dir,
                                  .has_last = options->last.is_given,
                                  .n_last = options->last.n,
                                  .out = &out,
                                  .open_view = open_follow_view,
                                  .arg = (void *)(uintptr_t)options,
                                  .losses = &counter,
                                  .note = note,
                                  .wait = wait_for,
                                  .hook_arg = &signals};
    struct error error = {0};
    int status, r;

    if (output_open(&out, kind_of(options), OUT_SIZE) < 0)
        return cli_no_memory();
    losses_sink_init(&counter, NULL);
    open_options_apply(&options->open, &open);
    r = stop_signals_open(true, &signals);
    if (r < 0)
        error_set(&error, r, NULL, "%s", error_text(r));
    else
        r = follow_run(&follow, &error);
    if (error.code)
        cli_print_error(&error);
    status = r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (signals.fd >= 0)
        stop_signals_close(&signals);
    text_flush(&out);
    if (!out.error)
        print_losses(&counter.losses, "");
    status = walk_end(&walk, &options->open, status);
    text_done(&out);
    return status;
}

static int check_last(const struct report_options *options, char **paths, int n)
{
    struct error error = {0};

    if (options->select.limited)
        return cli_usage_error("report", "--last and --limit exclude each other");
    if (tail_check((const char *const *)paths, (unsigned)n, &error) < 0)
        return cli_print_failure(&error, error.code);
    return EXIT_SUCCESS;
}

static int report_paths(struct report_options *options, char **paths, int n)
{
    struct tail_sink last, *begin = NULL;
    struct trace *trace;
    int status = EXIT_SUCCESS;

    if (options->follow) {
        if (n > 1)
            return cli_usage_error("report", "--follow requires one trace");
        return manifest_probe(paths[0]) ? report_follow(options, paths[0])
                                        : report_file(options, paths[0]);
    }
    if (options->last.is_given) {
        status = check_last(options, paths, n);
        /* What is counted is what is printed, even if the trace is being recorded. */
        options->open.cache = reopen_cache_new();
        if (!options->open.cache)
            return cli_no_memory();
    }
    options->open.events_only = true;
    trace = status == EXIT_SUCCESS ? walk_open(&options->open, paths, n) : NULL;
    if (!trace)
        return EXIT_FAILURE;
    if (options->last.is_given) {
        begin = &last;
        status = find_tail(options, options->last.n, paths, n, begin);
    }
    if (status == EXIT_SUCCESS)
        status = report(options, trace, begin);
    trace_free(trace);
    return status;
}

int cmd_report(int argc, char **argv)
{
    struct report_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&report_command, argc, argv, &options, &n, &status))
        status = n == 0 ? cli_usage_error("report", "no trace file given")
                        : report_paths(&options, argv + 1, n);
    reopen_cache_free(options.open.cache);
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
