/* SPDX-License-Identifier: MIT */
#include "cmd/analysis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event_sets.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "report/print_result.h"
#include "report/print_spans.h"
#include "report/slowest_context.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define SLOWEST_MAX 1000000u

#define MEMBER(m) offsetof(struct analysis_options, m)

/* Parses "50,90,99.9". */
static int parse_percentiles(void *member, const char *value, struct error *error)
{
    struct percentiles percentiles = {0};

    for (const char *p = value;; p++) {
        unsigned permille = 0;
        size_t digits = strspn(p, "0123456789");

        if (percentiles.n == PERCENTILES_MAX)
            return error_set(error, -EINVAL, NULL, "has more than %d percentiles", PERCENTILES_MAX);
        for (size_t i = 0; i < digits && permille < 1000; i++)
            permille = permille * 10 + (unsigned)(p[i] - '0');
        permille *= 10;
        p += digits;
        if (digits > 0 && *p == '.' && p[1] >= '0' && p[1] <= '9') {
            permille += (unsigned)(p[1] - '0');
            p += 2;
        }
        if (digits == 0 || permille == 0 || permille >= 1000 || (*p && *p != ','))
            return error_set(error, -EINVAL, NULL,
                             "is not a list of percentiles between 0.1 and 99.9 (example: "
                             "50,99,99.9)");
        percentiles.permilles[percentiles.n++] = permille;
        if (!*p)
            break;
    }
    *(struct percentiles *)member = percentiles;
    return 0;
}

/* For options about text. */
#define NOT_TEXT "--format=json and --format=csv"

const struct cli_option analysis_output_options[] = {
    {OPTION_STRING, 'b', "by", "KEY[,KEY...]",
     "one row per value of a field of the event that begins a span; or task, pid, cpu, vcpu, vm, "
     "layer, source, event",
     MEMBER(by),
     .page = "The key vm is the virtual machine whose monitor's thread runs the event, if the "
             "recording "
             "lists these threads: its name, or the monitor's program and process ID "
             "('firecracker-4711')."},
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format", MEMBER(format),
     .choices = table_formats, .default_text = "text"},
    {OPTION_STRING, 0, "sort", "COLUMN", "sort by COLUMN, largest first: n, sum, p99, max, ...",
     MEMBER(sort),
     .page = "COLUMN is the title of a column, or its name in JSON. Without --sort, rows are by n; "
             "of io and path, those of one kind are together."},
    {OPTION_NUMBER, 0, "top", "N", "only the first N rows", MEMBER(top)},
    WIDE_OPTION(MEMBER(wide)),
    {OPTION_NUMBER, 's', "slowest", "N", "also list the N longest spans", MEMBER(slowest),
     .page =
         "Each has the time when it began, and the longest the command that shows its events. Up "
         "to N "
         "spans that have not ended at the end of the trace follow, with the time that they have "
         "lasted (strata-analysis(7))."},
    {OPTION_PARSED, 0, "context", "SECONDS",
     "also print the events from SECONDS before each of these spans to SECONDS after it",
     MEMBER(context), NULL, duration_parse, .requires = "--slowest", .excludes = NOT_TEXT},
    {OPTION_FLAG, 0, "hist", NULL, "also print a histogram of each row", MEMBER(histogram)},
    {OPTION_PARSED, 0, "every", "SECONDS", "also show each row over time, in periods of SECONDS",
     MEMBER(every), NULL, duration_parse_period,
     .page =
         "Text has a column for the number of spans, and a column for their 99th percentile. Each "
         "character is one or several periods; '%' marks lost events. JSON has 'series'."},
    {OPTION_PARSED, 0, "percentiles", "LIST", "percentiles to show", MEMBER(percentiles), NULL,
     parse_percentiles, .default_text = "50,90,99",
     .page = "They may have one decimal, as in 99.9."},
    {OPTION_FLAG, 0, "folded", NULL, "print rows as stacks for flamegraph.pl: KEY;KEY SUM",
     MEMBER(folded), .page = "SUM is in nanoseconds. speedscope reads this, too.",
     .excludes = "--events, --every, " NOT_TEXT},
    {OPTION_FLAG, 0, "events", NULL, "print each span instead of rows", MEMBER(events),
     .page = "Spans are in the order of their ends. JSON has objects as in 'slowest'."},
    {OPTION_END},
};

const struct cli_option analysis_span_options[] = {
    {OPTION_PARSED, 0, "longer", "SECONDS", "only spans of SECONDS or more (0.001 is 1 ms)",
     MEMBER(longer), NULL, duration_parse},
    {OPTION_STRING, 0, "task", "GLOB", "only spans that tasks of this name begin", MEMBER(task)},
    {OPTION_END},
};

int analysis_take_keys(struct analysis_options *options, const char *const *own,
                       struct arena *arena, unsigned *ret_found)
{
    char *rest, *p;

    *ret_found = 0;
    if (!options->by)
        return 0;
    rest = p = arena_strdup(arena, options->by);
    if (!rest)
        return -ENOMEM;
    for (const char *key = options->by;; key++) {
        size_t len = strcspn(key, ",");
        unsigned i = 0;

        while (own[i] && (strlen(own[i]) != len || memcmp(own[i], key, len) != 0))
            i++;
        if (own[i]) {
            *ret_found |= 1u << i;
        } else {
            if (p > rest)
                *p++ = ',';
            memcpy(p, key, len);
            p += len;
        }
        key += len;
        if (*key == '\0')
            break;
    }
    *p = '\0';
    options->by = p > rest ? rest : NULL;
    return 0;
}

void analysis_options_done(struct analysis_options *options)
{
    open_options_done(&options->open);
    if (options->selection)
        selection_done(options->selection);
    free(options->selection);
    select_options_done(&options->select);
}

/* True if rows depend on names of tasks while items are read, not only when they are printed. */
static bool asks_names(const struct analysis_options *options)
{
    bool by_task = false;

    for (const char *key = options->by; key && *key && !by_task; key += strcspn(key, ",")) {
        key += *key == ',';
        by_task = strcspn(key, ",") == strlen("task") && strncmp(key, "task", strlen("task")) == 0;
    }
    return options->asks_names || options->task || options->events || by_task;
}

struct trace *analysis_open(struct analysis_options *options, char **paths, int n)
{
    struct trace *trace;

    options->selection = calloc(1, sizeof *options->selection);
    if (!options->selection || selection_init_rows(options->selection, &options->select) < 0) {
        cli_no_memory();
        return NULL;
    }
    trace = walk_open(&options->open, paths, n);
    if (trace && walk_read_ahead(trace, asks_names(options), options->jobs) < 0) {
        cli_no_memory();
        trace = trace_free(trace);
    }
    return trace;
}

int analysis_settings_init(const struct analysis_options *options, const struct trace *trace,
                           struct arena *arena, struct analysis_settings *ret_settings)
{
    struct analysis_settings settings = {
        .clock = trace->inputs[0].origin->clock,
        .task = options->task,
        .select = selection_limits_rows(&options->select) ? options->selection : NULL,
        .slowest = (unsigned)MIN(options->slowest, SLOWEST_MAX),
        .percentiles = options->percentiles,
    };
    struct error error = {0};
    int r;

    r = options->by ? grouping_parse(options->by, arena, &settings.grouping, &error) : 0;
    if (r < 0)
        return cli_print_failure(&error, r);
    settings.longer = clock_from_ns(&settings.clock, options->longer);
    /* A tick may be longer. */
    settings.every =
        options->every > 0 ? MAX(clock_from_ns(&settings.clock, options->every), 1) : 0;
    *ret_settings = settings;
    return EXIT_SUCCESS;
}

/* One run of the verb. */
struct run {
    struct analysis_pass pass; /* first */
    unsigned sort_column;
    bool has_none; /* no event was selected, which is reported */
};

/* The error lists the columns of RESULT. */
static void report_unknown_column(const struct result *result, const char *name)
{
    _cleanup_(text_done) struct text names = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < result->n_columns; i++)
        text_printf(&names, "%s%s", i > 0 ? ", " : "", result->columns[i].name);
    if (!names.error)
        cli_error("invalid --sort '%s'; the columns are %.*s", name, (int)text_len(&names),
                  names.start);
}

/* Finds the column of --sort. If there is none, prints an error and returns -1. */
static int find_sort_column(const struct analysis_options *options, struct analysis *analysis,
                            const struct coverage *coverage)
{
    struct result result;
    int column = 0;

    result_init(&result, analysis->ops->name, &analysis->settings.clock, coverage);
    analysis->ops->add_columns(analysis, &result);
    if (options->sort) {
        column = result_match_column(&result, options->sort);
        if (column < 0)
            report_unknown_column(&result, options->sort);
    }
    result_done(&result);
    return column;
}

/* Reports that options left out everything that ANALYSIS would count. EXIT_FAILURE. */
static int report_left_out(const struct analysis_options *options, const struct analysis *analysis)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    _cleanup_(text_done) struct text selected = TEXT_IN_MEMORY;

    if (options->task)
        text_printf(&text, "of a task '%s'", options->task);
    if (options->longer > 0)
        text_printf(&text, "%s%g s long or longer", text_len(&text) ? " and " : "",
                    (double)options->longer / 1e9);
    if (analysis->settings.select) {
        select_options_put_rows(&options->select, &selected);
        text_printf(&text, "%sselected by %.*s", text_len(&text) ? " and " : "",
                    (int)text_len(&selected), selected.start);
    }
    if (text_len(&text) == 0)
        text_put_str(&text,
                     analysis->left_out_of ? analysis->left_out_of : "of a kind that --by shows");
    if (text.error)
        return cli_no_memory();
    if (analysis->left_out > 0)
        cli_error("none of the %" PRIu64 " %s is %.*s", analysis->left_out,
                  analysis->left_out_name ? analysis->left_out_name : "spans", (int)text_len(&text),
                  text.start);
    else
        cli_error("nothing in the trace is %.*s", (int)text_len(&text), text.start);
    return EXIT_FAILURE;
}

/* True if options select among what ANALYSIS counts, or left out some of it. */
static bool is_chosen(const struct analysis *analysis)
{
    return analysis->left_out > 0 || analysis->settings.select || analysis->settings.task ||
           analysis->settings.longer > 0;
}

/* *RET_IS_EMPTY: the result has only notes. */
static int print(const struct analysis_options *options, const struct trace *trace,
                 const struct run *run, struct slowest_context *context, struct text *out,
                 bool *ret_is_empty)
{
    const struct print_options print_options = {
        .format = (enum table_format)options->format,
        .top = options->top,
        .histogram = options->histogram,
        .folded = options->folded,
        .trace = trace,
        .clocks = &trace->clocks,
        .line_width = options->wide ? 0 : output_line_width(),
        .order = run->sort_column,
    };
    struct result result;
    int r = analysis_result(run->pass.analysis, &run->pass.coverage, &result);

    if (r == 0)
        r = result_note_sources(&result);
    if (r == 0)
        r = result_add_source_key(&result);
    if (r == 0) {
        *ret_is_empty = result_is_empty(&result);
        if (!catalogue_errors_are_known(&trace->catalogue))
            result_refute_errors(&result);
        result_sort(&result,
                    options->sort ? run->sort_column : analysis_default_order(run->pass.analysis));
        r = print_result(&result, &print_options, out);
        if (options->folded || options->format == TABLE_CSV)
            walk_report_losses(&result.coverage->losses);
    }
    if (r == 0 && options->context > 0)
        r = slowest_context_init(context, &result, clock_from_ns(&result.clock, options->context));
    result_done(&result);
    return r;
}

static int put_span(void *arg, const struct analysis_span *span)
{
    print_span(arg, span);
    return 0;
}

/* Reports that the trace has no event for ANALYSIS, and how to record such events. EXIT_FAILURE. */
static int report_missing(const struct analysis_options *options, const struct trace *trace,
                          const struct analysis *analysis)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    _cleanup_(text_done) struct text selected = TEXT_IN_MEMORY;

    select_options_put_read(&options->select, &selected);
    text_put_char(&selected, '\0');
    if (!selected.error)
        event_set_put_missing(analysis->ops->name, selected.start, trace_classes(trace), &text);
    if (text.error || selected.error)
        return cli_no_memory();
    cli_error("%.*s", (int)text_len(&text), text.start);
    return EXIT_FAILURE;
}

/* Checks that the trace has the fields of --by. Many readers know their fields only after reading. */
static int check_keys(const struct analysis *analysis, const struct trace *trace)
{
    struct error error = {0};

    if (!analysis->ops->has_events(analysis) ||
        grouping_check(&analysis->settings.grouping, trace_classes(trace), &error) >= 0)
        return EXIT_SUCCESS;
    cli_print_error(&error);
    return EXIT_FAILURE;
}

static int print_context(const struct analysis_options *options,
                         const struct slowest_context *context, const struct trace *trace,
                         struct text *out)
{
    struct trace_options trace_options;
    struct error error = {0};
    int r;

    open_options_apply(&options->open, &trace_options);
    r = slowest_context_print(context, &trace_options, trace, out, &error);
    text_flush(out);
    return r < 0 ? cli_print_failure(&error, r) : EXIT_SUCCESS;
}

static int walk_and_print(const struct analysis_options *options, struct walk *walk)
{
    struct run *run = container_of(walk->reading.sink, struct run, pass.sink);
    struct span_printer printer;
    struct slowest_context context = {0};
    bool is_known, is_empty = false;
    int status;
    int r = 0;

    if (options->events) {
        print_spans_begin(&printer, run->pass.analysis, (enum table_format)options->format,
                          walk->out);
        printer.is_error_refuted = !catalogue_errors_are_known(&walk->reading.trace->catalogue);
        run->pass.analysis->put_span = put_span;
        run->pass.analysis->put_span_arg = &printer;
        walk->draws = true;
    }
    sink_begin(&run->pass.sink);
    status = walk_through(walk);
    run->has_none = walk->reading.has_events && !walk->reading.has_selected &&
                    walk->reading.selection->left > 0;
    if (run->pass.sink.error.code == 0 && sink_finish(&run->pass.sink) < 0) {
        cli_print_error(&run->pass.sink.error);
        status = EXIT_FAILURE;
    }
    is_known = status == EXIT_FAILURE ||
               check_keys(run->pass.analysis, walk->reading.trace) == EXIT_SUCCESS;
    if (!is_known)
        status = EXIT_FAILURE;
    if (options->events) {
        is_empty = printer.n == 0 && run->pass.analysis->ops->has_events(run->pass.analysis);
        r = print_spans_end(&printer);
        walk_report_losses(&run->pass.coverage.losses);
    } else if (is_known && run->pass.sink.error.code == 0 &&
               run->pass.analysis->ops->has_events(run->pass.analysis)) {
        r = print(options, walk->reading.trace, run, &context, walk->out, &is_empty);
    }
    if (r == 0 && is_empty && is_chosen(run->pass.analysis))
        status = report_left_out(options, run->pass.analysis);
    if (r < 0) {
        cli_no_memory();
        status = EXIT_FAILURE;
    }
    if (status == EXIT_SUCCESS && context.n > 0)
        status = print_context(options, &context, walk->reading.trace, walk->out);
    slowest_context_done(&context);
    return status;
}

int analysis_walk(const struct analysis_options *options, struct trace *trace, struct sink *sink,
                  struct losses *losses, struct layer_losses *layers, analysis_walk_fn *read)
{
    struct text out;
    struct walk walk = {.reading.trace = trace,
                        .reading.selection = options->selection,
                        .out = &out,
                        .reading.sink = sink,
                        .losses = losses,
                        .layers = layers};
    int status;

    if (output_open(&out, options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE) < 0)
        return cli_no_memory();
    status = walk_end(&walk, &options->open, read(options, &walk));
    text_done(&out);
    return status;
}

int analysis_print(const struct analysis_options *options, struct trace *trace,
                   struct analysis *analysis)
{
    struct run run = {0};
    int status = EXIT_FAILURE;
    int column;

    analysis_pass_init(&run.pass, analysis);
    column = find_sort_column(options, analysis, &run.pass.coverage);
    if (column >= 0) {
        run.sort_column = (unsigned)column;
        status = analysis_walk(options, trace, &run.pass.sink, &run.pass.coverage.losses,
                               &run.pass.coverage.layers, walk_and_print);
        if (run.has_none && !analysis->ops->has_events(analysis))
            status = EXIT_FAILURE;
    }
    coverage_done(&run.pass.coverage);
    return status;
}

int analysis_run(const struct analysis_options *options, struct trace *trace,
                 struct analysis *analysis)
{
    int status = analysis_print(options, trace, analysis);

    return status != EXIT_FAILURE && !analysis->ops->has_events(analysis)
               ? report_missing(options, trace, analysis)
               : status;
}
