/* SPDX-License-Identifier: MIT */
/* strata export: writes what a report shows in the format of another tool. */

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "cli/jobs.h"
#include "cmd/cmd.h"
#include "cmd/export_clickhouse.h"
#include "cmd/export_host.h"
#include "cmd/export_open.h"
#include "cmd/export_unknown.h"
#include "cmd/span_rules.h"
#include "cmd/walk.h"
#include "export/export.h"
#include "report/losses_text.h"
#include "report/trace_view.h"
#include "trace/open.h"

struct export_verb_options {
    struct open_options open;
    struct select_options select;
    unsigned format; /* index in export_formats plus one; 0: not given */
    const char *output, *host;
    bool spreadsheet, in_browser;
    unsigned jobs;
    struct strings pairs, files;
    struct clickhouse_options clickhouse;
};

static int parse_format(void *member, const char *value, struct error *error)
{
    struct text names = TEXT_IN_MEMORY;
    int r;

    for (unsigned i = 0; export_names[i]; i++)
        if (strcmp(value, export_names[i]) == 0) {
            *(unsigned *)member = i + 1;
            return 0;
        }
    if (strcmp(value, "json") == 0 || strcmp(value, "text") == 0)
        return error_set(error, -EINVAL, NULL,
                         "is not an export format; did you mean 'strata report -f %s'?", value);
    for (unsigned i = 0; export_names[i]; i++) {
        text_put_str(&names, i ? ", " : "");
        text_put_str(&names, export_names[i]);
    }
    r = error_set(error, -EINVAL, NULL, "is not an export format (formats: %.*s)",
                  (int)text_len(&names), names.start ? names.start : "");
    text_done(&names);
    return r;
}

#define MEMBER(m) offsetof(struct export_verb_options, m)

#define WITH_SPANS "--to=perfetto, --to=clickhouse or --to=parquet"

static const struct cli_option output_options[] = {
    /* The names of export_formats. */
    {OPTION_PARSED, 0, "to",
     "clickhouse|csv|ctf|parquet|perfetto|simpletrace|\n"
     "sqlite|trace.dat|trace-events",
     "output format", MEMBER(format), .parse = parse_format, .page = "\"FORMATS\" describes them."},
    {OPTION_STRING, 'o', "output", "PATH", "file or directory to write", MEMBER(output),
     .default_text = "standard output",
     .page = "'-' is standard output, too, for formats that can be written to a pipe. A directory "
             "that exists must be empty, or contain only an earlier export, which is replaced."},
    {OPTION_FLAG, 0, "open", NULL,
     "perfetto: open the trace in the browser, in Perfetto's page ui.perfetto.dev; without -o, "
     "keep "
     "no file",
     MEMBER(in_browser), .page = "The command ends when the page has fetched the trace.",
     .requires = "--to=perfetto", .excludes = "--output=-"},
    {OPTION_STRINGS, 'p', "pair", "RULE",
     "perfetto: also show the spans of RULE, as in strata latency; clickhouse, parquet: only these",
     MEMBER(pairs),
     .page = "In Perfetto, each rule has tracks of its own. In ClickHouse and Parquet, the table "
             "span has "
             "only these spans.",
     .requires = WITH_SPANS},
    {OPTION_STRINGS, 0, "pairs", "FILE", "the same for the rules of a file, one per line",
     MEMBER(files), .requires = WITH_SPANS},
    {OPTION_STRING, 0, "host-name", "NAME", "clickhouse, parquet: host that the trace is of",
     MEMBER(host), .default_text = "as recorded",
     .page = "A trace that names no host requires this option.",
     .requires = "--to=clickhouse or --to=parquet"},
    {OPTION_FLAG, 0, "spreadsheet", NULL, "in CSV, write ' before a text that is a formula",
     MEMBER(spreadsheet),
     .page = "A spreadsheet would run a text that begins with one of '= + - @'."},
    {OPTION_RENAMED, 't', "-t", "--to"},
    {OPTION_RENAMED, 0, "host", "--host-name"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"With --to=clickhouse", clickhouse_option_table,
     offsetof(struct export_verb_options, clickhouse)},
    {"Selection", select_option_table, offsetof(struct export_verb_options, select),
     .page = "A loss is kept unless its time, CPU, vCPU or layer is excluded, because any event "
             "may have been "
             "lost.  Each CPU that --cpu leaves out gets a loss of an unknown number of events, "
             "from the first "
             "exported event to the last: a reader must not take it for a CPU on which nothing "
             "happened. "
             "--strict and the messages do not count such losses. A span whose begin is left out "
             "is not in the "
             "tables of sqlite, parquet and clickhouse, and a span whose end is left out is cut."},
    {"Reading", open_option_table, offsetof(struct export_verb_options, open)},
    {"Threads", jobs_option_table, offsetof(struct export_verb_options, jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command export_command = {
    .name = "export",
    .summary = "write a trace in the format of another tool",
    .operands = "PATH...",
    .about = "Writes the events of one or more traces, in order of time, in a format that\n"
             "other tools read.\n\n"
             "The format of PATH is detected; - is standard input.",
    .groups = groups,
    .examples = "  strata export --to perfetto -o vm.perfetto-trace trace\n"
                "  strata export --to perfetto --open trace\n"
                "  strata export --to csv -e 'blk_*' trace >blk.csv\n"
                "  strata export --to clickhouse --url http://db:8123/traces trace",
};

/* A signal ends reading, not writing, so that what was read makes a complete export. A second signal ends the
 * process. */
static volatile sig_atomic_t stopped;

static void print_losses(const struct losses *losses)
{
    struct text text = TEXT_IN_MEMORY;

    losses_put(losses, &text);
    if (text.start && !text.error)
        cli_error("%.*s", (int)text_len(&text), text.start);
    text_done(&text);
}

static bool has_trait(const struct export_verb_options *options, enum export_trait trait)
{
    return export_formats[options->format - 1].traits & trait;
}

static bool is_remote(const struct export_verb_options *options)
{
    return has_trait(options, EXPORT_REMOTE);
}

static int walk_and_keep(const struct export_verb_options *options, struct walk *walk,
                         struct losses_sink *counter, struct atomic_output *output)
{
    struct error error;
    int status;

    sink_begin(&counter->sink);
    status = walk_through(walk);
    error_clear(&error);
    /* A sink that failed leaves an incomplete file. */
    if (counter->sink.error.code)
        return EXIT_FAILURE;
    /* What is damaged may be exported up to there; a lack of memory says nothing of the trace. */
    if (error_is_shortage(walk->reading.error.code))
        return walk_end(walk, &options->open, status);
    if (sink_finish(&counter->sink) < 0) {
        cli_print_error(&counter->sink.error);
        return EXIT_FAILURE;
    }
    if (!is_remote(options) && atomic_output_commit(output, &error) < 0) {
        if (!error.code)
            return cli_output_error(-EPIPE);
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    print_losses(&counter->losses);
    return walk_end(walk, &options->open, status);
}

/* If only some threads or vCPUs are exported, no state follows from switches. So the output states that others are
 * missing. -ENOMEM. */
static int note_threads(const struct select_options *select, struct trace *trace)
{
    bool by_vcpu = select->vcpus.n > 0;
    const char *option = select->pids.n == 0 ? "--vcpu" : by_vcpu ? "--pid and --vcpu" : "--pid";

    if (select->pids.n == 0 && !by_vcpu)
        return 0;
    for (unsigned i = 0; i < trace->catalogue.n_origins; i++) {
        struct origin *origin = trace->catalogue.origins[i];

        origin->threads_only |= origin->layer == LAYER_GUEST || origin->layer == LAYER_HOST ||
                                (origin->layer == LAYER_HYPERVISOR && by_vcpu);
    }
    return trace_note(trace, "%s left out other events of this trace: what others did is unknown",
                      option);
}

static int export_trace(const struct export_verb_options *options,
                        const struct export_format *format, const struct span_rules_user *pairs,
                        struct clickhouse_request *request, char **paths, int n,
                        struct trace *trace, struct atomic_output *output)
{
    char host[EXPORT_HOST_SIZE] = "", trace_id[EXPORT_TRACE_ID_SIZE] = "";
    struct export_options export_options = {
        .spreadsheet = options->spreadsheet,
        .n_threads = jobs_count(options->jobs),
        .out = &output->out,
        .fd = output->fd,
        .path = output->temp_path,
        .name = output->path,
        .catalogue = trace_classes(trace),
        .origin_number = trace->n_inputs > 1 ? trace_view_input_of : NULL,
        .lines_numbered = trace_needs_numbers(trace),
        .origin_arg = trace,
        .errors = trace_has_errors(trace),
        .trace = trace,
        .rules = pairs->rules.rules,
        .n_rules = pairs->rules.n,
        .host = host,
        .trace_id = trace_id,
        .clickhouse = &request->settings,
    };
    struct sink *sink = NULL;
    struct export_unknown unknown;
    struct losses_sink counter;
    struct selection selection;
    struct error error;
    struct walk walk = {.reading.trace = trace,
                        .reading.selection = &selection,
                        .out = &output->out,
                        .draws = !output->path,
                        .reading.sink = &counter.sink,
                        .losses = &counter.losses,
                        .stopped = &stopped};
    int status = EXIT_FAILURE;

    export_options.problem = &walk.reading.error;
    export_find_calendar(trace, paths[0], &export_options.calendar);
    if (export_check_clock(trace, export_formats[options->format - 1].traits) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    if (has_trait(options, EXPORT_HOSTS) &&
        export_find_host(trace, options->host, host) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    if (has_trait(options, EXPORT_HOSTS) && !is_remote(options))
        export_find_trace_id(paths, (unsigned)n, trace_id);
    error_clear(&error);
    if (selection_init(&selection, &options->select) < 0)
        return cli_no_memory();
    if (note_threads(&options->select, trace) < 0)
        cli_no_memory();
    else if (format->open(&export_options, &sink, &error) < 0) {
        cli_print_error(&error);
    } else if (request->is_complete) {
        status = EXIT_SUCCESS;
    } else {
        export_unknown_init(&unknown, format->traits, sink);
        losses_sink_init(&counter, &unknown.sink);
        if (options->select.cpus.n > 0)
            walk.reading.unselected_sink = sink;
        status = walk_and_keep(options, &walk, &counter, output);
        if (status == EXIT_SUCCESS || status == EXIT_LOSSES)
            export_unknown_report(&unknown, trace->inputs[0].path);
        if (status == EXIT_SUCCESS && pairs->rules.n > 0)
            status = span_rules_check(pairs, trace_classes(trace), &options->select, true);
    }
    sink_free(sink);
    selection_done(&selection);
    return status;
}

/* Checks that the requested output can be written. An exit status. */
static int check(const struct export_verb_options *options, int n)
{
    const struct export_format *format;
    bool to_stdout = !options->output || strcmp(options->output, "-") == 0;
    int status;

    if (options->format == 0)
        return cli_usage_error("export", "--to=FORMAT is required");
    status = clickhouse_check(&options->clickhouse, is_remote(options), options->output);
    if (status != EXIT_SUCCESS || options->clickhouse.print_schema)
        return status;
    if (n == 0)
        return cli_usage_error("export", "no trace file given");
    format = &export_formats[options->format - 1];
    status = span_rules_check_syntax("export", &options->pairs);
    if (status != EXIT_SUCCESS)
        return status;
    if (options->in_browser || is_remote(options))
        return EXIT_SUCCESS;
    if (to_stdout && format->target != ATOMIC_OUTPUT_STREAM)
        return cli_usage_error("export", "--output=%s is required: %s",
                               format->target == ATOMIC_OUTPUT_DIRECTORY ? "DIR" : "FILE",
                               format->target == ATOMIC_OUTPUT_DIRECTORY
                                   ? "the format is a directory"
                                   : "the format cannot be written to a pipe");
    if (to_stdout && !has_trait(options, EXPORT_TEXT) && isatty(STDOUT_FILENO))
        return cli_usage_error("export", "--output=FILE is required: %s is not text for a terminal",
                               format->name);
    return EXIT_SUCCESS;
}

static void put_ranges(struct text *text, const char *name, const struct ranges *ranges)
{
    for (unsigned i = 0; i < ranges->n; i++)
        text_printf(text, "%s%" PRIu32 "-%" PRIu32 " ", name, ranges->items[i].low,
                    ranges->items[i].high);
}

static void put_strings(struct text *text, const char *name, const struct strings *strings)
{
    for (unsigned i = 0; i < strings->n; i++)
        text_printf(text, "%s%s ", name, strings->items[i]);
}

static void put_limit(struct text *text, const char *name, const struct time_limit *limit)
{
    if (limit->given)
        text_printf(text, "%s%s%" PRId64 ".%09" PRIu32 " ", name, limit->relative ? "+" : "",
                    limit->whole, limit->ns);
}

/* Puts all options that decide which rows a trace has, as text with a NUL. */
static void put_variant(struct text *text, const struct export_verb_options *options)
{
    const struct select_options *select = &options->select;
    const struct open_options *open = &options->open;

    text_printf(text, "strata %s ", STRATA_VERSION);
    put_strings(text, "-e ", &select->events);
    put_limit(text, "--from ", &select->from);
    put_limit(text, "--until ", &select->to);
    put_ranges(text, "--cpu ", &select->cpus);
    put_ranges(text, "--pid ", &select->pids);
    put_ranges(text, "--vcpu ", &select->vcpus);
    if (select->layers)
        text_printf(text, "--layer %x ", select->layers);
    if (select->limited)
        text_printf(text, "--limit %" PRIu64 " ", select->limit);
    put_strings(text, "--pair ", &options->pairs);
    put_strings(text, "--pairs ", &options->files);
    put_strings(text, "--trace-events ", &open->events);
    if (open->source)
        text_printf(text, "--source %s ", open->source);
    if (open->cpu_hz)
        text_printf(text, "--cpu-hz %" PRIu64 " ", open->cpu_hz);
    text_printf(text, "%s%s%s%s", open->stated_clocks ? "--no-causal " : "",
                open->host_time ? "--host-time " : "", open->keep_going ? "--keep-going " : "",
                open->no_header ? "--no-header " : "");
    text_put_char(text, '\0');
}

static int open_output(const struct export_verb_options *options, char **paths, int n,
                       const struct text *variant, struct clickhouse_request *request,
                       struct atomic_output *output)
{
    const struct export_format *format = &export_formats[options->format - 1];
    struct error error = {0};

    if (is_remote(options)) {
        int status =
            clickhouse_request_init(request, &options->clickhouse, paths, n, variant, &stopped);

        if (status != EXIT_SUCCESS)
            return status;
    }
    /* To a server nothing is written here, but signals are the same. */
    if (atomic_output_open(format->target, is_remote(options) ? "/dev/null" : options->output,
                           format->is_export, &stopped, output, &error) >= 0)
        return EXIT_SUCCESS;
    cli_print_error(&error);
    return EXIT_FAILURE;
}

static int open_and_export(const struct export_verb_options *options, char **paths, int n)
{
    const struct export_format *format = &export_formats[options->format - 1];
    struct trace *trace = walk_open(&options->open, paths, n);
    struct clickhouse_request request = {.name = TEXT_IN_MEMORY};
    struct text variant = TEXT_IN_MEMORY;
    struct atomic_output output;
    struct span_rules_user pairs = {0};
    struct error error;
    int status = EXIT_FAILURE;
    int r = 0;

    error_clear(&error);
    if (!trace)
        return EXIT_FAILURE;
    if (!has_trait(options, EXPORT_ALONE))
        r = walk_read_ahead(trace, has_trait(options, EXPORT_NAMES), options->jobs);
    put_variant(&variant, options);
    if (r == 0 && (options->pairs.n > 0 || options->files.n > 0))
        r = span_rules_user_read(&pairs, NULL, 0, &options->pairs, &options->files, &error);
    if (r < 0) {
        (void)cli_print_failure(&error, r);
    } else if (is_remote(options) || !walk_would_overwrite(trace, options->output)) {
        status = open_output(options, paths, n, &variant, &request, &output);
        if (status == EXIT_SUCCESS) {
            if (format->target == ATOMIC_OUTPUT_STREAM && has_trait(options, EXPORT_TEXT))
                text_filter(&output.out, 0);
            status = export_trace(options, format, &pairs, &request, paths, n, trace, &output);
            atomic_output_done(&output);
            if (is_remote(options) && (status == EXIT_SUCCESS || status == EXIT_LOSSES))
                clickhouse_request_report(&request);
        }
    }
    trace_free(trace);
    span_rules_user_done(&pairs);
    clickhouse_request_done(&request);
    text_done(&variant);
    return status;
}

/* Exports, and gives the file to the browser. An exit status. */
static int export_and_open(struct export_verb_options *options, char **paths, int n)
{
    struct export_open open;
    struct error error = {0};
    int status;

    if (export_open_begin(&open, !options->output, &error) < 0) {
        cli_print_error(&error);
        export_open_done(&open);
        return EXIT_FAILURE;
    }
    if (!options->output)
        options->output = open.path;
    status = open_and_export(options, paths, n);
    if (status == EXIT_SUCCESS || status == EXIT_LOSSES) {
        int opened = export_open_run(&open, options->output);

        status = opened == EXIT_SUCCESS ? status : opened;
    }
    export_open_done(&open);
    return status;
}

int cmd_export(int argc, char **argv)
{
    struct export_verb_options options = {.clickhouse.retry = CLICKHOUSE_RETRY_NS};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&export_command, argc, argv, &options, &n, &status)) {
        status = check(&options, n);
        if (status == EXIT_SUCCESS && options.clickhouse.print_schema)
            status = clickhouse_print_schema(&options.clickhouse);
        else if (status == EXIT_SUCCESS)
            status = options.in_browser ? export_and_open(&options, argv + 1, n)
                                        : open_and_export(&options, argv + 1, n);
    }
    strings_done(&options.pairs);
    strings_done(&options.files);
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
