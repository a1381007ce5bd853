/* SPDX-License-Identifier: MIT */
/* strata latency: how long it takes from one event to another. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency.h"
#include "analysis/span_match.h"
#include "base/input.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "print/table.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define PAIRS_FILE_MAX ((size_t)1 << 20)

struct latency_command_options {
    struct open_options open;
    struct select_options select;
    struct strings pairs, files;
    const char *by, *task;
    uint64_t slowest, longer;
    unsigned format; /* enum table_format */
    unsigned order;  /* enum row_order */
    bool list, histogram;
};

static const char *const orders[] = {"n", "sum", "mean", "p99", "max", NULL};

#define MEMBER(m) offsetof(struct latency_command_options, m)

static const struct option what_options[] = {
    {OPTION_STRINGS, 'p', "pair", "RULE",
     "events that begin and end a span:\n'block_rq_issue(sector) -> block_rq_complete(sector)'",
     MEMBER(pairs)},
    {OPTION_STRINGS, 0, "pairs", "FILE", "file of such rules, one a line", MEMBER(files)},
    {OPTION_FLAG, 0, "list", NULL, "list the built-in rules (with PATH: those that apply)",
     MEMBER(list)},
    {OPTION_END},
};

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format (text)", MEMBER(format),
     .choices = table_formats},
    {OPTION_STRING, 'b', "by", "KEY[,KEY...]",
     "one row per value of a field of the event that begins\n"
     "a span; or task, pid, cpu, vcpu, layer, source, event",
     MEMBER(by)},
    {OPTION_CHOICE, 0, "sort", "n|sum|mean|p99|max", "order of the rows (n)", MEMBER(order),
     .choices = orders},
    {OPTION_NUMBER, 's', "slowest", "N", "also list the N longest spans", MEMBER(slowest)},
    {OPTION_FLAG, 0, "hist", NULL, "also print a histogram of each row", MEMBER(histogram)},
    {OPTION_END},
};

static const struct option span_options[] = {
    {OPTION_PARSED, 0, "longer", "SECONDS", "only spans of SECONDS or more (0.001 is 1 ms)",
     MEMBER(longer), NULL, duration_parse},
    {OPTION_STRING, 0, "task", "GLOB", "only spans that tasks of this name begin", MEMBER(task)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is measured", what_options, 0},
    {"Output", output_options, 0},
    {"Which spans", span_options, 0},
    {"Selection", select_option_table, MEMBER(select)},
    {"Reading", open_option_table, MEMBER(open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command latency_command = {
    .name = "latency",
    .summary = "measure the time from one event to another",
    .operands = "[NAME...] PATH...",
    .about = "Measures spans: from an event that begins something to the event that ends it.\n"
             "NAME is a built-in rule, such as block or softirq; without one, and without\n"
             "--pair, all that apply to the trace are used.\n\n"
             "Shows number, rate, sum, mean, percentiles (within 1.6 %) and maximum. Spans\n"
             "that have no begin or no end, or may have lost it, are counted apart.",
    .groups = groups,
    .examples = "  strata latency trace\n"
                "  strata latency block --by rwbs --slowest 5 trace\n"
                "  strata latency --pair 'kvm_exit -> kvm_entry by thread' trace",
};

struct latency_run {
    const struct latency_command_options *options;
    struct trace *trace;
    struct arena arena;
    struct span_rule_list rules;
    struct latency latency;
    unsigned n_builtin; /* of the rules, the first ones, which were asked for by name */
    bool uses_all;      /* all built-in ones */
    struct clock clock;
    struct text *out;
};

/* ---- Rules ---- */

static bool is_builtin(const char *name)
{
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        size_t len = strlen(name);

        if (strncmp(builtin->rule, name, len) == 0 && builtin->rule[len] == ':')
            return true;
    }
    return false;
}

/* Adds the built-in rules called NAME; NULL: all. -errno with ERROR. */
static int add_builtins(struct latency_run *run, const char *name, struct error *error)
{
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        struct span_rule rule;
        int r = span_rule_parse(builtin->rule, NULL, &run->arena, &rule, error);

        if (r >= 0 && (!name || strcmp(rule.name, name) == 0))
            r = span_rule_list_add(&run->rules, &rule);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_file(struct latency_run *run, const char *path, struct error *error)
{
    struct input in;
    int r = input_open_whole(&in, path, PAIRS_FILE_MAX, "a file of rules", error);

    if (r < 0)
        return r;
    r = span_rules_read((const char *)input_at(&in), input_buffered(&in), path, &run->arena,
                        &run->rules, error);
    input_done(&in);
    return r;
}

/* NAMES: N operands. -errno with ERROR. */
static int find_rules(struct latency_run *run, char **names, int n, struct error *error)
{
    const struct latency_command_options *options = run->options;
    int r = 0;

    for (int i = 0; r >= 0 && i < n; i++)
        r = add_builtins(run, names[i], error);
    run->n_builtin = run->rules.n;
    for (unsigned i = 0; r >= 0 && i < options->pairs.n; i++) {
        struct span_rule rule;

        r = span_rule_parse(options->pairs.items[i], "--pair", &run->arena, &rule, error);
        if (r >= 0)
            r = span_rule_list_add(&run->rules, &rule);
    }
    for (unsigned i = 0; r >= 0 && i < options->files.n; i++)
        r = read_file(run, options->files.items[i], error);
    if (r < 0 || run->rules.n > 0)
        return r;
    run->uses_all = true;
    return add_builtins(run, NULL, error);
}

/* Whether RULE, or a built-in one that is called the same, had its events; else ERROR says which one it had not. */
static bool had_events(const struct latency_run *run, unsigned rule, struct error *error)
{
    const struct span_rule *rules = run->rules.rules;

    for (unsigned i = 0; i < run->rules.n; i++)
        if ((i == rule || (rule < run->n_builtin && i < run->n_builtin &&
                           strcmp(rules[i].name, rules[rule].name) == 0)) &&
            span_rule_check(&rules[i], &run->trace->catalogue, error) == 0)
            return true;
    return false;
}

/* Many readers know their events only when they have seen them: so this comes last. An exit status. */
static int check_rules(const struct latency_run *run)
{
    int status = EXIT_SUCCESS;

    if (run->uses_all && run->latency.spans.n_kinds == 0) {
        cli_error("no built-in rule has its events in this trace; give one: --pair 'BEGIN -> END' "
                  "(strata latency --list shows what is built in)");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; !run->uses_all && i < run->rules.n; i++) {
        struct error error = {0};

        if (had_events(run, i, &error))
            continue;
        cli_print_error(&error);
        status = EXIT_FAILURE;
    }
    return status;
}

/* ---- Result ---- */

enum {
    COLUMN_N,
    COLUMN_RATE,
    COLUMN_SUM,
    COLUMN_MEAN,
    COLUMN_MIN,
    COLUMN_P50,
    COLUMN_P90,
    COLUMN_P99,
    COLUMN_MAX,
    COLUMN_ERROR,
    COLUMN_MAX_AT,
    COLUMN_NEGATIVE,
    COLUMN_KEYS,
};

static void make_columns(const struct latency_run *run, struct table_column *columns)
{
    const struct rows *rows = &run->latency.rows;
    bool is_ns = run->clock.hz != 0;
    const struct table_column fixed[] = {
        [COLUMN_N] = {"N", 10, "n"},
        [COLUMN_RATE] = {"N/s", 10, "rate", .decimals = 1},
        [COLUMN_SUM] = {"SUM", 8, is_ns ? "sum_ns" : "sum_ticks"},
        [COLUMN_MEAN] = {"MEAN", 8, is_ns ? "mean_ns" : "mean_ticks"},
        [COLUMN_MIN] = {"MIN", 8, is_ns ? "min_ns" : "min_ticks"},
        [COLUMN_P50] = {"P50", 8, is_ns ? "p50_ns" : "p50_ticks"},
        [COLUMN_P90] = {"P90", 8, is_ns ? "p90_ns" : "p90_ticks"},
        [COLUMN_P99] = {"P99", 8, is_ns ? "p99_ns" : "p99_ticks"},
        [COLUMN_MAX] = {"MAX", 8, is_ns ? "max_ns" : "max_ticks"},
        [COLUMN_ERROR] = {"ERROR", 7, "error_max_ns"},
        [COLUMN_MAX_AT] = {NULL, 0, is_ns ? "max_begin_ns" : "max_begin_ticks"},
        [COLUMN_NEGATIVE] = {NULL, 0, "negative"},
    };

    memcpy(columns, fixed, sizeof fixed);
    for (unsigned i = 0; i < rows->n_keys; i++) {
        size_t width = 4;

        for (unsigned j = 0; j < rows->n; j++)
            width = MAX(width, strlen(rows->rows[j]->keys[i]));
        columns[COLUMN_KEYS + i] = (struct table_column){
            .title = i == 0 ? "SPAN" : run->latency.options.grouping.keys[i - 1].name,
            .width = i + 1 < rows->n_keys ? -(int)MIN(width + 2, (size_t)40) : 0,
            .name = i == 0 ? "name" : run->latency.options.grouping.keys[i - 1].name,
            .object = "key",
        };
    }
}

/* A duration, which may be below 0. */
static void set_duration(const struct latency_run *run, struct table *table, unsigned column,
                         __int128 ticks)
{
    bool is_negative = ticks < 0;
    uint64_t size = (uint64_t)(is_negative ? -ticks : ticks);
    char buf[32];

    if (table->format != TABLE_TEXT) {
        int64_t ns = duration_ns(&run->clock, size);

        table_i64(table, column, is_negative ? -ns : ns);
        return;
    }
    if (is_negative)
        text_put_char(table_cell(table, column), '-');
    text_put_str(table_cell(table, column), duration_text(buf, sizeof buf, &run->clock, size));
}

static double seconds(const struct latency_run *run)
{
    const struct latency *latency = &run->latency;

    if (run->clock.hz == 0 || latency->first == TIME_UNKNOWN)
        return 0;
    return (double)(latency->last - latency->first) / (double)run->clock.hz;
}

static void put_row(const struct latency_run *run, struct table *table, const struct row *row)
{
    static const unsigned permilles[] = {500, 900, 990};
    double time = seconds(run);
    char buf[32];

    table_u64(table, COLUMN_N, row->n);
    if (time > 0)
        table_real(table, COLUMN_RATE, (double)row->n / time);
    if (row->n > 0) {
        set_duration(run, table, COLUMN_SUM, row->sum);
        set_duration(run, table, COLUMN_MEAN, row->sum / (__int128)row->n);
        set_duration(run, table, COLUMN_MIN, row->min);
        for (unsigned i = 0; i < ARRAY_SIZE(permilles); i++) {
            __int128 v = (__int128)histogram_quantile(&row->durations, permilles[i]);

            set_duration(run, table, COLUMN_P50 + i, v > row->min || row->min < 0 ? v : row->min);
        }
        set_duration(run, table, COLUMN_MAX, row->max);
        table_i64(table, COLUMN_MAX_AT, clock_to_ns(&run->clock, row->max_at));
    }
    if (table->format != TABLE_TEXT)
        table_u64(table, COLUMN_ERROR, row->error_max);
    else if (row->error_max > 0)
        table_str(table, COLUMN_ERROR, duration_text(buf, sizeof buf, &run->clock, row->error_max));
    table_u64(table, COLUMN_NEGATIVE, row->n_negative);
    for (unsigned i = 0; i < run->latency.rows.n_keys; i++)
        table_str(table, COLUMN_KEYS + i, row->keys[i]);
    table_end_row(table);
}

static void put_histogram(const struct latency_run *run, const struct row *row)
{
    uint64_t doublings[65] = {0};
    uint64_t most = 0;
    unsigned first = 64, last = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t start = histogram_bucket_start(i);
        unsigned doubling = start == 0 ? 0 : 64 - (unsigned)__builtin_clzll(start);

        doublings[doubling] += histogram_count(&row->durations, i);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(doublings); i++) {
        if (doublings[i] == 0)
            continue;
        first = MIN(first, i);
        last = i;
        most = MAX(most, doublings[i]);
    }
    text_put_char(run->out, '\n');
    for (unsigned i = 0; i < run->latency.rows.n_keys; i++)
        text_printf(run->out, "%s%s", i > 0 ? " " : "", row->keys[i]);
    text_put_char(run->out, '\n');
    for (unsigned i = first; i <= last; i++) {
        unsigned width = (unsigned)((double)doublings[i] * 50 / (double)most + 0.999);
        char buf[32];

        text_printf(
            run->out, "%10s %10" PRIu64 " ",
            duration_text(buf, sizeof buf, &run->clock, i == 0 ? 0 : UINT64_C(1) << (i - 1)),
            doublings[i]);
        for (unsigned j = 0; j < width; j++)
            text_put_char(run->out, '#');
        text_put_char(run->out, '\n');
    }
}

static void put_slowest(const struct latency_run *run)
{
    const struct rows *rows = &run->latency.rows;

    if (rows->n_slowest == 0)
        return;
    text_put_literal(run->out, "\nThe slowest, each with the time when it began:\n");
    for (unsigned i = 0; i < rows->n_slowest; i++) {
        const struct slow_span *slow = &rows->slowest[i];
        char buf[32], by[40] = "";
        const char *task;

        if (slow->error_ns > 0)
            snprintf(by, sizeof by, " ±%s",
                     duration_text(buf, sizeof buf, &run->clock, slow->error_ns));
        text_printf(
            run->out, "%9s%s  ",
            duration_text(buf, sizeof buf, &run->clock, (uint64_t)(slow->end - slow->begin)), by);
        clock_put_time(&run->clock, slow->begin, run->out);
        for (unsigned j = 0; j < rows->n_keys; j++)
            text_printf(run->out, "  %s", slow->row->keys[j]);
        if (slow->cpu != CPU_UNKNOWN)
            text_printf(run->out, "  CPU %d", slow->cpu);
        task = slow->pid != PID_UNKNOWN && slow->origin->task_name
                   ? slow->origin->task_name(slow->origin, slow->pid)
                   : NULL;
        if (slow->pid != PID_UNKNOWN)
            text_printf(run->out, "  %s-%d", task ? task : "", slow->pid);
        text_put_char(run->out, '\n');
    }
    text_put_literal(run->out, "  strata report --from ");
    clock_put_time(&run->clock, rows->slowest[0].begin, run->out);
    text_put_literal(run->out, " --until ");
    clock_put_time(&run->clock, rows->slowest[0].end, run->out);
    for (unsigned i = 0; i < run->trace->n_parts; i++)
        if (i == 0 || strcmp(run->trace->parts[i].path, run->trace->parts[i - 1].path) != 0)
            text_printf(run->out, " %s", run->trace->parts[i].path);
    text_put_char(run->out, '\n');
}

static void put_summary(const struct latency_run *run)
{
    static const char *const words[SPAN_FATES] = {
        [SPAN_NO_BEGIN] = "ended without having begun in the trace",
        [SPAN_OPEN] = "were open at the end",
        [SPAN_LOST] = "may have ended where events were lost",
        [SPAN_AGAIN] = "began again before they had ended",
        [SPAN_GONE] = "were open when their thread ended",
        [SPAN_CONTRADICTED] = "contradict other events",
        [SPAN_UNKEYED] = "events do not tell what they belong to",
        [SPAN_GIVEN_UP] = "were given up: too many were open",
    };
    const struct latency *latency = &run->latency;
    uint64_t negative = 0;
    char buf[32];

    text_printf(run->out, "%10" PRIu64 " events", latency->n_events);
    if (latency->first != TIME_UNKNOWN)
        text_printf(run->out, " in %s%s",
                    duration_text(buf, sizeof buf, &run->clock,
                                  (uint64_t)latency->last - (uint64_t)latency->first),
                    run->clock.hz ? "" : " ticks (the clock's rate is not known)");
    text_put_char(run->out, '\n');
    for (unsigned i = 0; i < latency->rows.n; i++)
        negative += latency->rows.rows[i]->n_negative;
    if (negative > 0)
        text_printf(run->out,
                    "%10" PRIu64 " spans are shorter than 0, by the error of the clocks\n",
                    negative);
    for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++) {
        uint64_t n = latency_fates(latency, (enum span_fate)fate);

        if (n > 0)
            text_printf(run->out, "%10" PRIu64 " %s, and are not counted\n", n, words[fate]);
    }
    if (latency->losses.n > 0) {
        losses_put(&latency->losses, run->out);
        text_put_char(run->out, '\n');
    }
}

static void begin_json(const struct latency_run *run, struct json_writer *w)
{
    const struct latency *latency = &run->latency;
    bool is_ns = run->clock.hz != 0;

    json_write_object(w);
    json_write_key(w, "analysis");
    json_write_str(w, "latency");
    json_write_key(w, "events");
    json_write_u64(w, latency->n_events);
    if (latency->first != TIME_UNKNOWN) {
        json_write_key(w, is_ns ? "first_ns" : "first_ticks");
        json_write_i64(w, clock_to_ns(&run->clock, latency->first));
        json_write_key(w, is_ns ? "duration_ns" : "duration_ticks");
        json_write_i64(
            w, duration_ns(&run->clock, (uint64_t)latency->last - (uint64_t)latency->first));
    }
    json_write_key(w, "unpaired");
    json_write_object(w);
    for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++) {
        json_write_key(w, span_fate_name((enum span_fate)fate));
        json_write_u64(w, latency_fates(latency, (enum span_fate)fate));
    }
    json_write_end(w);
    losses_write_json(&latency->losses, w);
    json_write_key(w, "slowest");
    json_write_array(w);
    for (unsigned i = 0; i < latency->rows.n_slowest; i++) {
        const struct slow_span *slow = &latency->rows.slowest[i];

        json_write_object(w);
        json_write_key(w, is_ns ? "begin_ns" : "begin_ticks");
        json_write_i64(w, clock_to_ns(&run->clock, slow->begin));
        json_write_key(w, is_ns ? "end_ns" : "end_ticks");
        json_write_i64(w, clock_to_ns(&run->clock, slow->end));
        json_write_key(w, "error_ns");
        json_write_u64(w, slow->error_ns);
        json_write_key(w, "key");
        json_write_object(w);
        for (unsigned j = 0; j < latency->rows.n_keys; j++) {
            json_write_key(w, j == 0 ? "name" : latency->options.grouping.keys[j - 1].name);
            json_write_str(w, slow->row->keys[j]);
        }
        json_write_end(w);
        if (slow->cpu != CPU_UNKNOWN) {
            json_write_key(w, "cpu");
            json_write_i64(w, slow->cpu);
        }
        if (slow->pid != PID_UNKNOWN) {
            json_write_key(w, "pid");
            json_write_i64(w, slow->pid);
        }
        json_write_end(w);
    }
    json_write_end(w);
    json_write_key(w, "rows");
    json_write_lines(w);
}

static int put_result(struct latency_run *run)
{
    struct rows *rows = &run->latency.rows;
    struct table_column columns[COLUMN_KEYS + ROW_KEYS] = {0};
    const struct table_form form = {.columns = columns, .n = COLUMN_KEYS + rows->n_keys};
    struct table table;
    int r;

    rows_sort(rows, (enum row_order)run->options->order);
    make_columns(run, columns);
    table_begin(&table, run->out, (enum table_format)run->options->format, &form);
    if (table.format == TABLE_JSON)
        begin_json(run, &table.json);
    for (unsigned i = 0; i < rows->n; i++)
        if (rows->rows[i]->n > 0 || !run->uses_all)
            put_row(run, &table, rows->rows[i]);
    if (table.format == TABLE_JSON)
        json_write_finish(&table.json);
    r = table_end(&table);
    if (run->options->format != TABLE_TEXT)
        return r;
    put_summary(run);
    put_slowest(run);
    for (unsigned i = 0; run->options->histogram && i < rows->n; i++)
        put_histogram(run, rows->rows[i]);
    return r;
}

/* ---- The verb ---- */

static int walk(struct latency_run *run)
{
    struct selection selection = {0};
    struct text out;
    struct walk walk = {.trace = run->trace,
                        .selection = &selection,
                        .out = &out,
                        .sink = &run->latency.sink,
                        .losses = &run->latency.losses};
    int status = EXIT_FAILURE;

    if (output_open(&out, run->options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0) {
        cli_no_memory();
        return EXIT_FAILURE;
    }
    run->out = &out;
    if (selection_init(&selection, &run->options->select) < 0) {
        cli_no_memory();
    } else {
        status = walk_through(&walk);
        if (put_result(run) < 0) {
            cli_no_memory();
            status = EXIT_FAILURE;
        }
        status = walk_end(&walk, &run->options->open, status);
    }
    selection_done(&selection);
    text_done(&out);
    return status;
}

static int64_t ticks_of(const struct clock *clock, uint64_t ns)
{
    return clock->hz == 0 ? (int64_t)MIN(ns, (uint64_t)INT64_MAX)
                          : (int64_t)((__int128)ns * (__int128)clock->hz / NANOSECONDS);
}

static int measure(struct latency_run *run, char **names, int n)
{
    const struct latency_command_options *options = run->options;
    struct latency_options settings = {.slowest = (unsigned)MIN(options->slowest, 1000000u),
                                       .task = options->task};
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r;

    run->clock = run->trace->parts[0].origin->clock;
    r = find_rules(run, names, n, &error);
    if (r >= 0 && options->by)
        r = grouping_parse(options->by, &run->arena, &settings.grouping, &error);
    if (r < 0) {
        error_set(&error, r, NULL, "%s", error_text(r));
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    settings.rules = run->rules.rules;
    settings.n_rules = run->rules.n;
    settings.longer = ticks_of(&run->clock, options->longer);
    if (latency_init(&run->latency, &settings, &run->trace->catalogue) < 0)
        cli_no_memory();
    else
        status = walk(run);
    if (status != EXIT_FAILURE) {
        r = check_rules(run);
        if (r == EXIT_SUCCESS &&
            grouping_check(&settings.grouping, &run->trace->catalogue, &error) < 0) {
            cli_print_error(&error);
            r = EXIT_FAILURE;
        }
        status = r != EXIT_SUCCESS ? r : status;
    }
    latency_done(&run->latency);
    return status;
}

/* Reads TRACE, as many readers know their events only when they have seen them. An exit status. */
static int read_through(struct trace *trace)
{
    const struct item *items;
    int r;

    do
        r = trace_next(trace, &items);
    while (r > 0);
    if (r < 0)
        cli_print_error(&trace->source->error);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The built-in rules; of a trace, those that have their events in it. */
static int list(const struct latency_command_options *options, struct trace *trace)
{
    static const struct table_column columns[] = {
        {.title = "NAME", .width = -15, .name = "name"},
        {.title = "WHAT", .name = "about"},
        {.name = "rule"},
    };
    static const struct table_form form = {.columns = columns, .n = ARRAY_SIZE(columns)};
    struct arena arena = {0};
    struct table table;
    struct text out;
    int r = output_open(&out, options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA, OUT_SIZE);

    if (r < 0) {
        cli_no_memory();
        return EXIT_FAILURE;
    }
    table_begin(&table, &out, (enum table_format)options->format, &form);
    if (table.format == TABLE_JSON)
        json_write_lines(&table.json);
    for (const struct span_builtin *builtin = span_builtins; r >= 0 && builtin->rule; builtin++) {
        struct span_rule rule;

        r = span_rule_parse(builtin->rule, NULL, &arena, &rule, NULL);
        if (r < 0 || (trace && span_rule_check(&rule, &trace->catalogue, NULL) < 0))
            continue;
        table_str(&table, 0, rule.name);
        table_str(&table, 1, builtin->about);
        table_str(&table, 2, builtin->rule + strlen(rule.name) + 2);
        table_end_row(&table);
    }
    if (table.format == TABLE_JSON)
        json_write_finish(&table.json);
    if (table_end(&table) < 0 || r < 0) {
        cli_no_memory();
        r = -ENOMEM;
    } else {
        r = text_flush(&out);
        if (r < 0)
            cli_output_error(r);
    }
    arena_done(&arena);
    text_done(&out);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cmd_latency(int argc, char **argv)
{
    struct latency_command_options options = {0};
    struct latency_run run = {.options = &options};
    int status = EXIT_FAILURE;
    int n, n_names = 0;

    if (options_parse(&latency_command, argc, argv, &options, &n, &status)) {
        char **operands = argv + 1;

        while (n_names < n && is_builtin(operands[n_names]))
            n_names++;
        if (n == n_names && !options.list) {
            status = cli_usage_error("latency", "no trace file given");
        } else {
            run.trace =
                n > n_names ? walk_open(&options.open, operands + n_names, n - n_names) : NULL;
            if (options.list && n == n_names)
                status = list(&options, NULL);
            else if (options.list && run.trace && read_through(run.trace) == EXIT_SUCCESS)
                status = list(&options, run.trace);
            else if (run.trace && !options.list)
                status = measure(&run, operands, n_names);
            trace_free(run.trace);
        }
    }
    span_rule_list_done(&run.rules);
    arena_done(&run.arena);
    strings_done(&options.pairs);
    strings_done(&options.files);
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
