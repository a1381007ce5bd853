/* SPDX-License-Identifier: MIT */
/* strata diff: what changed from one trace to another. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/diff.h"
#include "analysis/diff_condition.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/diff_side.h"
#include "print/table.h"
#include "print/wrap.h"
#include "report/print_result.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define EXIT_CHANGED 4 /* --fail */

struct diff_options {
    struct open_options open;
    struct select_options select;
    struct strings fail;
    unsigned format; /* enum table_format */
    uint64_t top;
    const char *by;
    bool wide;
};

#define MEMBER(m) offsetof(struct diff_options, m)

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format", MEMBER(format),
     .choices = table_formats, .default_text = "text"},
    {OPTION_STRING, 'b', "by", "KEY[,KEY...]",
     "one row per value of a field of the event that begins a span; or task, cpu, vcpu, layer",
     MEMBER(by), .page = "The analyses latency, io, irq and exits have these rows."},
    {OPTION_NUMBER, 0, "top", "N", "only the N rows that changed most", MEMBER(top)},
    WIDE_OPTION(MEMBER(wide)),
    {OPTION_STRINGS, 0, "fail", "CONDITION",
     "exit with status 4 if a row meets CONDITION, as in 'latency.block.p99 > +20%'", MEMBER(fail),
     .page =
         "The rows are printed. CONDITION is ANALYSIS.KEY.METRIC, '>' or '<', and a change in "
         "percent. "
         "KEY is a pattern of a key of the row, or several with dots between them, as in "
         "'io.read.total.mean > 10%'. METRIC is rate, sum, mean, p50, p99 or max. The change is "
         "compared as JSON shows it, also if it may be chance ('~') or is undecided ('?'); the "
         "message says which. A condition without a row in both traces is an error."},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_option_table, MEMBER(select),
     .page = "--from, --until, --cpu, --pid and --vcpu select spans by where they begin. --event, "
             "--layer and "
             "--limit leave out events that are read (strata-analysis(7)). For stat, all of them "
             "select "
             "events; for sched, strata-sched(1) describes them."},
    {"Reading", open_option_table, MEMBER(open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command diff_command = {
    .name = "diff",
    .summary = "show what changed from one trace to another",
    .operands = "A B [stat|latency|io|irq|exits|sched...]",
    .about = "Compares the analyses of two traces, row by row: how often, how long. Without an\n"
             "analysis, the counts of strata stat. Rates and sums are per second of covered\n"
             "time.\n\n"
             "CHANGE% shows a change that is more than chance, ~ for none, and ? if there is\n"
             "too little to decide; ± how far it may be off. What changed comes first.",
    .groups = groups,
    .examples = "  strata diff before after\n"
                "  strata diff before after io latency --fail 'io.read.p99 > +20%'",
};

/* ---- Output ---- */

/* Of each metric: its values, the change, the interval that holds it, and the verdict. */
enum {
    COLUMN_A,
    COLUMN_B,
    COLUMN_CHANGE,
    COLUMN_LOW,
    COLUMN_HIGH,
    COLUMN_VERDICT,
    METRIC_COLUMNS,
};
enum {
    COLUMN_METRICS = RESULT_KEYS, /* keys come first */
    COLUMN_ROW_VERDICT = COLUMN_METRICS + DIFF_METRICS * METRIC_COLUMNS,
    COLUMNS,
};

static bool is_tested(enum diff_metric metric)
{
    return metric != DIFF_SUM && metric != DIFF_MAX;
}

static void make_key_columns(const struct diff *diff, struct table_column *columns)
{
    for (unsigned i = 0; i < diff->results[0]->n_keys; i++) {
        const struct result_key *key = &diff->results[0]->keys[i];

        columns[i] = (struct table_column){
            .title = key->title, .width = -1, .name = key->name, .object = "key", .is_name = true};
    }
}

static void make_metric_columns(const struct diff *diff, enum diff_metric metric,
                                struct table_column *columns)
{
    static const char *const titles[DIFF_METRICS] = {"N/s", NULL, "MEAN", "P50", "P99", NULL};
    static const char *const suffixes[METRIC_COLUMNS] = {"a",   "b",    "change",
                                                         "low", "high", "verdict"};
    /* Of the change, and of the values. */
    static const uint8_t ranks[DIFF_METRICS][2] = {
        [DIFF_RATE] = {0, 2}, [DIFF_MEAN] = {3, 3}, [DIFF_P50] = {1, 4}, [DIFF_P99] = {0, 1}};
    static char names[DIFF_METRICS][METRIC_COLUMNS][24], heads[DIFF_METRICS][3][16];
    const char *unit = metric == DIFF_RATE || metric == DIFF_SUM ? ""
                       : diff->results[0]->clock.hz != 0         ? "_ns"
                                                                 : "_ticks";
    bool is_shown = titles[metric] &&
                    (metric != DIFF_MEAN || result_find_column(diff->results[0], "mean") >= 0);

    for (unsigned i = 0; i < METRIC_COLUMNS; i++) {
        bool is_value = i <= COLUMN_B;

        snprintf(names[metric][i], sizeof names[metric][i], "%s_%s%s", diff_metric_name(metric),
                 suffixes[i], is_value ? unit : "");
        if (i <= COLUMN_CHANGE && is_shown)
            snprintf(heads[metric][i], sizeof heads[metric][i], "%s %s", titles[metric],
                     (const char *const[]){"A", "B", "CHANGE%"}[i]);
        columns[i] = (struct table_column){
            .title = i <= COLUMN_CHANGE && is_shown ? heads[metric][i] : NULL,
            .width = 7,
            .rank = ranks[metric][is_value],
            .is_pair = i == COLUMN_A,
            .name = i <= COLUMN_CHANGE || is_tested(metric) ? names[metric][i] : NULL,
            .decimals = 1};
    }
}

static void put_value(struct table *table, const struct diff *diff, unsigned column, double v,
                      bool is_duration)
{
    /* Values are ns, or ticks where the rate is not known. */
    const struct clock clock = {"", diff->results[0]->clock.hz ? NANOSECONDS : 0};

    if (isnan(v))
        return;
    if (!is_duration)
        table_real(table, column, v);
    else if (table->format == TABLE_TEXT)
        print_duration(&clock, (int64_t)v, table_cell(table, column));
    else
        table_i64(table, column, (int64_t)v);
}

/* "+20.1 ±2.3": what holds the true change, with both halves of the interval alike. */
static void put_change_text(struct text *cell, double change, const struct diff_test *test)
{
    double half = (test->high - test->low) / 2 * 100;

    if (test->verdict == DIFF_SAME)
        text_put_char(cell, '~');
    else
        text_printf(cell, "%+.1f", change * 100);
    if (test->verdict == DIFF_UNTESTED || isnan(half))
        return;
    if (half >= 999.5)
        text_put_literal(cell, " ±>999");
    else
        text_printf(cell, half < 9.95 ? " ±%.1f" : " ±%.0f", half);
}

static void put_change(struct table *table, unsigned column, double change,
                       const struct diff_test *test)
{
    if (table->format == TABLE_TEXT && test->verdict == DIFF_UNKNOWN)
        table_unknown(table, column);
    else if (isnan(change))
        return;
    else if (table->format == TABLE_TEXT)
        put_change_text(table_cell(table, column), change, test);
    else
        table_real(table, column, change);
}

static void put_metric(struct table *table, const struct diff *diff, const struct diff_row *row,
                       enum diff_metric metric)
{
    unsigned column = COLUMN_METRICS + metric * METRIC_COLUMNS;
    const struct diff_test *test = &row->tests[metric];

    for (unsigned i = 0; i < 2; i++)
        put_value(table, diff, column + COLUMN_A + i, row->values[i][metric],
                  metric != DIFF_RATE && metric != DIFF_SUM);
    if (!row->from[0] || !row->from[1])
        return;
    put_change(table, column + COLUMN_CHANGE, diff_change(row, metric), test);
    if (test->verdict == DIFF_UNTESTED)
        return;
    put_value(table, diff, column + COLUMN_LOW, test->low, false);
    put_value(table, diff, column + COLUMN_HIGH, test->high, false);
    table_str(table, column + COLUMN_VERDICT, diff_verdict_name(test->verdict));
}

static const char *get_verdict(const struct diff_row *row)
{
    if (row->from[0] && row->from[1])
        return diff_verdict_name(row->verdict);
    if (row->may_be_in_both)
        return diff_verdict_name(DIFF_UNKNOWN);
    return row->from[0] ? "only_a" : "only_b";
}

static void put_row(struct table *table, const struct diff *diff, const struct diff_row *row)
{
    for (unsigned i = 0; i < diff->results[0]->n_keys; i++)
        table_str(table, i, row->keys[i]);
    for (unsigned i = 0; i < DIFF_METRICS; i++)
        put_metric(table, diff, row, (enum diff_metric)i);
    table_str(table, COLUMN_ROW_VERDICT, get_verdict(row));
    table_end_row(table);
}

/* A sentence about what addresses in keys are; false: there is none. */
static bool put_addresses_note(const struct diff *diff, unsigned number, struct text *out)
{
    if (number == 0 && diff->addresses.n > 0)
        text_printf(out, "%u functions moved with their kernel; their addresses are those in A",
                    diff->addresses.n);
    else if (number == 1 && diff->n_addresses > 0)
        text_printf(
            out,
            "%u rows are by addresses that only one trace has, and that may differ with each "
            "boot or start; functions have names if record collects them (--kernel-symbols)",
            diff->n_addresses);
    else
        return false;
    return true;
}

static const char *sides_name(const bool *is)
{
    static const char *const names[] = {"", "A", "B", "both traces"};

    return names[is[0] + 2 * is[1]];
}

/* False: there is none. */
static bool put_lacks_note(const struct diff *diff, struct text *out)
{
    if (!diff->lacks_cpu[0] && !diff->lacks_cpu[1])
        return false;
    text_printf(
        out,
        "most of the time of a CPU is missing, or within losses, in %s: rates and sums cannot "
        "be compared",
        sides_name(diff->lacks_cpu));
    return true;
}

static void put_notes(const struct diff *diff, struct json_writer *w)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    json_write_key(w, "notes");
    json_write_array(w);
    for (unsigned i = 0; i < 2; i++) {
        text.next = text.start;
        if (put_addresses_note(diff, i, &text))
            json_write_string(w, text.start, text_len(&text));
    }
    text.next = text.start;
    if (put_lacks_note(diff, &text))
        json_write_string(w, text.start, text_len(&text));
    json_write_end(w);
}

/* How many rows have which verdict, and what the signs mean. */
static void put_legend(const struct diff *diff, struct text *out)
{
    unsigned counts[DIFF_CHANGED + 1] = {0}, only[2] = {0};

    for (unsigned i = 0; i < diff->n; i++) {
        const struct diff_row *row = &diff->rows[i];

        if (row->may_be_in_both)
            counts[DIFF_UNKNOWN]++;
        else if (row->from[0] && row->from[1])
            counts[row->verdict]++;
        else
            only[row->from[0] ? 0 : 1]++;
    }
    text_printf(out, "%u changed, %u the same (~), %u undecided (?)", counts[DIFF_CHANGED],
                counts[DIFF_SAME], counts[DIFF_UNKNOWN]);
    if (only[0] + only[1] > 0)
        text_printf(out, "; %u only in A, %u only in B", only[0], only[1]);
    text_put_char(out, '\n');
    for (unsigned i = 0; i < 2; i++)
        if (put_addresses_note(diff, i, out))
            text_put_char(out, '\n');
    if (diff->lost[0] || diff->lost[1])
        text_printf(out, "events were lost in %s\n", sides_name(diff->lost));
    if (put_lacks_note(diff, out))
        text_put_char(out, '\n');
}

static int put_diff(const struct diff_options *options, const struct diff *diff, const char *verb,
                    struct text *out)
{
    struct table_column columns[COLUMNS] = {0};
    const struct table_form form = {.columns = columns,
                                    .n = COLUMNS,
                                    .keeps_rows = true,
                                    .line_width = options->wide ? 0 : output_line_width()};
    struct table table;
    int r;

    make_key_columns(diff, columns);
    for (unsigned i = 0; i < DIFF_METRICS; i++)
        make_metric_columns(diff, (enum diff_metric)i,
                            columns + COLUMN_METRICS + i * METRIC_COLUMNS);
    columns[COLUMN_ROW_VERDICT] = (struct table_column){.name = "verdict"};
    table_begin(&table, out, (enum table_format)options->format, &form);
    if (table.format == TABLE_JSON) {
        json_write_object(&table.json);
        json_write_key(&table.json, "analysis");
        json_write_str(&table.json, verb);
        json_write_key(&table.json, "lost");
        json_write_bool(&table.json, diff->lost[0] || diff->lost[1]);
        put_notes(diff, &table.json);
        json_write_key(&table.json, "rows");
        json_write_lines(&table.json);
    }
    for (unsigned i = 0; i < diff->n && (options->top == 0 || i < options->top); i++)
        put_row(&table, diff, &diff->rows[i]);
    if (table.format == TABLE_JSON)
        json_write_finish(&table.json);
    r = table_end(&table);
    if (options->format == TABLE_TEXT) {
        _cleanup_(text_done) struct text lines = TEXT_IN_MEMORY;

        put_legend(diff, &lines);
        wrap_lines(out, &lines, form.line_width);
    }
    return r;
}

/* ---- The verb ---- */

struct run {
    struct arena arena;
    struct grouping grouping; /* --by */
    const struct diff_options *options;
    char **paths;
    bool is_again; /* the traces were read before, with another analysis */
    struct diff_condition *conditions;
    bool is_failed;
    bool is_lossy; /* either trace */
    bool is_part;  /* either trace could not be read whole */
};

/* Each trace is read once per analysis. Pipes end after the first time. */
static int check_path(const char *path)
{
    struct stat st;
    bool is_input = strcmp(path, "-") == 0;

    if (!is_input &&
        (stat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode)))
        return EXIT_SUCCESS; /* what cannot be opened is reported when it is */
    cli_error("%s: cannot be read once per analysis; copy it to a file, and name that",
              is_input ? "standard input" : path);
    return EXIT_FAILURE;
}

/* Ticks of one trace and seconds of the other. */
static bool has_other_unit(const struct run *run, const struct diff_side *sides)
{
    for (unsigned i = 0; i < 2; i++)
        if (sides[i].result.clock.hz == 0 && sides[1 - i].result.clock.hz != 0) {
            cli_error("%s: its clock rate is unknown, so its times cannot be compared with %s",
                      run->paths[i], run->paths[1 - i]);
            return true;
        }
    return false;
}

/* Prints what of DIFF meets condition NUMBER, after its text. Whether something does. */
static bool check_condition(const struct run *run, unsigned number, const char *analysis,
                            const struct diff *diff)
{
    _cleanup_(text_done) struct text lines = TEXT_IN_MEMORY;
    bool is_met = diff_condition_check(&run->conditions[number], analysis, diff, &lines);

    text_put_char(&lines, '\0');
    for (char *line = lines.error ? NULL : lines.start, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        cli_error("%s: %.*s", run->options->fail.items[number], (int)(end - line), line);
    }
    return is_met;
}

static int compare(struct run *run, const struct diff_verb *verb, struct text *out)
{
    struct diff_side sides[2] = {0};
    struct diff diff = {0};
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; i < 2 && status == EXIT_SUCCESS; i++) {
        const struct analysis_settings settings = {.has_batches = true, .grouping = run->grouping};

        status = diff_side_read(&sides[i], &run->options->open, &run->options->select,
                                run->paths[i], run->is_again, verb, &settings);
        if (!sides[i].is_read)
            break;
        /* What was read is compared, as other verbs show it. */
        run->is_part |= status != EXIT_SUCCESS;
        status = EXIT_SUCCESS;
        run->is_lossy |= sides[i].has_losses;
        sides[i].has_result = true;
        if (analysis_result(&sides[i].analyses.analysis, &sides[i].coverage, &sides[i].result) < 0)
            status = cli_no_memory();
    }
    if (status == EXIT_SUCCESS && has_other_unit(run, sides))
        status = EXIT_FAILURE;
    if (status == EXIT_SUCCESS && (diff_init(&diff, &sides[0].result, &sides[1].result) < 0 ||
                                   put_diff(run->options, &diff, verb->name, out) < 0))
        status = cli_no_memory();
    if (status == EXIT_SUCCESS && diff.n == 0)
        cli_error("neither trace has what strata %s measures", verb->name);
    for (unsigned i = 0; status == EXIT_SUCCESS && i < run->options->fail.n; i++)
        run->is_failed |= check_condition(run, i, verb->name, &diff);
    run->is_again = true;
    diff_done(&diff);
    diff_side_done(&sides[0]);
    diff_side_done(&sides[1]);
    return status;
}

static int parse_conditions(struct run *run)
{
    const struct strings *fail = &run->options->fail;

    run->conditions = calloc(fail->n + 1, sizeof *run->conditions);
    if (!run->conditions)
        return cli_no_memory();
    for (unsigned i = 0; i < fail->n; i++)
        if (diff_condition_parse(fail->items[i], &run->conditions[i]) < 0)
            return cli_usage_error("diff",
                                   "invalid --fail '%s' (example: 'latency.block.p99 > +20%%'; "
                                   "metrics: rate, sum, mean, p50, p99, max)",
                                   fail->items[i]);
    return EXIT_SUCCESS;
}

/* A condition that no row is under would pass whatever changed. */
static int check_conditions(const struct run *run)
{
    int status = run->is_part                                 ? EXIT_FAILURE
                 : run->is_failed                             ? EXIT_CHANGED
                 : run->is_lossy && run->options->open.strict ? EXIT_LOSSES
                                                              : EXIT_SUCCESS;

    for (unsigned i = 0; i < run->options->fail.n; i++) {
        if (run->conditions[i].is_undecided)
            status = EXIT_FAILURE;
        if (!run->conditions[i].has_row) {
            cli_error("--fail '%s': no row of both traces has this key and metric",
                      run->options->fail.items[i]);
            status = EXIT_FAILURE;
        }
    }
    return status;
}

/* WANTED are names of analyses. */
static int parse_by(struct run *run, char **wanted, int n)
{
    struct error error = {0};
    bool can = n > 0;
    int r;

    if (!run->options->by)
        return EXIT_SUCCESS;
    for (int i = 0; i < n; i++)
        can = can && diff_verb_find(wanted[i])->has_by;
    if (!can)
        return cli_usage_error("diff", "--by requires the analyses latency, io, irq or exits");
    r = grouping_parse(run->options->by, &run->arena, &run->grouping, &error);
    return r < 0 ? cli_print_failure(&error, r) : EXIT_SUCCESS;
}

static int run_all(struct run *run, char **wanted, int n)
{
    struct text out;
    int status = parse_conditions(run);

    for (int i = 0; i < n && status == EXIT_SUCCESS; i++)
        if (!diff_verb_find(wanted[i]))
            status = cli_usage_error(
                "diff", "unknown analysis '%s' (stat, latency, io, irq, exits, sched)", wanted[i]);
    if (status == EXIT_SUCCESS)
        status = parse_by(run, wanted, n);
    if (status == EXIT_SUCCESS && strcmp(run->paths[0], "-") == 0 &&
        strcmp(run->paths[1], "-") == 0)
        status = cli_usage_error("diff", "only one trace can be standard input");
    for (unsigned i = 0; i < 2 && n > 1 && status == EXIT_SUCCESS; i++)
        status = check_path(run->paths[i]);
    if (status != EXIT_SUCCESS)
        return status;
    if (output_open(&out, run->options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0)
        return cli_no_memory();
    if (n == 0 && status == EXIT_SUCCESS)
        status = compare(run, diff_verb_find("stat"), &out);
    for (int i = 0; i < n && status == EXIT_SUCCESS; i++)
        status = compare(run, diff_verb_find(wanted[i]), &out);
    if (text_flush(&out) < 0) {
        cli_output_error(out.error);
        status = EXIT_FAILURE;
    }
    text_done(&out);
    return status == EXIT_SUCCESS ? check_conditions(run) : status;
}

int cmd_diff(int argc, char **argv)
{
    struct diff_options options = {0};
    struct run run = {.options = &options};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&diff_command, argc, argv, &options, &n, &status)) {
        run.paths = argv + 1;
        if (n < 2)
            status = cli_usage_error("diff", "two traces are required");
        else
            status = run_all(&run, argv + 3, n - 2);
    }
    for (unsigned i = 0; run.conditions && i < options.fail.n; i++)
        diff_condition_done(&run.conditions[i]);
    free(run.conditions);
    arena_done(&run.arena);
    strings_done(&options.fail);
    open_options_done(&options.open);
    select_options_done(&options.select);
    return status;
}
