/* SPDX-License-Identifier: MIT */
/* strata diff: what changed from one trace to another. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/diff.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/diff_condition.h"
#include "cmd/diff_side.h"
#include "cmd/print_result.h"
#include "print/table.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define EXIT_CHANGED 4 /* --fail */

struct diff_options {
    struct open_options open;
    struct select_options select;
    struct strings fail;
    unsigned format; /* enum table_format */
    uint64_t top;
    const char *by;
};

#define MEMBER(m) offsetof(struct diff_options, m)

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format (text)", MEMBER(format),
     .choices = table_formats},
    {OPTION_STRING, 'b', "by", "KEY[,KEY...]",
     "one row per value of a field of the event that begins\n"
     "a span; or task, cpu, vcpu, layer",
     MEMBER(by)},
    {OPTION_NUMBER, 0, "top", "N", "only the N rows that changed most", MEMBER(top)},
    {OPTION_STRINGS, 0, "fail", "CONDITION",
     "exit with status 4 if a row meets it, as in\n'latency.block.p99 > +20%'; repeatable",
     MEMBER(fail)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Selection", select_option_table, MEMBER(select)},
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
             "time; the largest change comes first.\n\n"
             "A change is marked ! if the ranges of ten pieces of both traces do not meet, and\n"
             "? if there is too little to decide.",
    .groups = groups,
    .examples = "  strata diff before after\n"
                "  strata diff before after io latency --fail 'io.read.p99 > +20%'",
};

/* ---- Output ---- */

enum {
    COLUMN_FLAG = 2 * DIFF_METRICS + DIFF_METRICS,
    COLUMN_KEYS,
};

static void make_columns(const struct diff *diff, struct table_column *columns)
{
    static const char *const titles[] = {"N/s", NULL, "MEAN", NULL, "P99", NULL};
    static char names[DIFF_METRICS][3][24];
    static char heads[DIFF_METRICS][2][16];

    for (unsigned i = 0; i < DIFF_METRICS; i++) {
        const char *name = diff_metric_name((enum diff_metric)i);
        const char *unit = i == DIFF_RATE || i == DIFF_SUM   ? ""
                           : diff->results[0]->clock.hz != 0 ? "_ns"
                                                             : "_ticks";
        bool is_shown =
            titles[i] && (i != DIFF_MEAN || result_find_column(diff->results[0], "mean") >= 0);

        for (unsigned j = 0; j < 2; j++) {
            snprintf(names[i][j], sizeof names[i][j], "%s_%c%s", name, "ab"[j], unit);
            if (titles[i])
                snprintf(heads[i][j], sizeof heads[i][j], "%s %c", titles[i], "AB"[j]);
            columns[3 * i + j] = (struct table_column){is_shown ? heads[i][j] : NULL, 10,
                                                       names[i][j], .decimals = 1};
        }
        snprintf(names[i][2], sizeof names[i][2], "%s_change", name);
        columns[3 * i + 2] =
            (struct table_column){is_shown ? "CHANGE%" : NULL, 8, names[i][2], .decimals = 1};
    }
    columns[COLUMN_FLAG] = (struct table_column){" ", -3, "flag"};
    for (unsigned i = 0; i < diff->results[0]->n_keys; i++) {
        const struct result_key *key = &diff->results[0]->keys[i];
        size_t width = strlen(key->title);

        for (unsigned j = 0; j < diff->n; j++)
            width = MAX(width, strlen(diff->rows[j].keys[i]));
        columns[COLUMN_KEYS + i] = (struct table_column){
            .title = key->title,
            .width = i + 1 < diff->results[0]->n_keys ? -(int)MIN(width + 2, (size_t)40) : 0,
            .name = key->name,
            .object = "key",
        };
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

static void put_row(struct table *table, const struct diff *diff, const struct diff_row *row)
{
    for (unsigned i = 0; i < DIFF_METRICS; i++) {
        double change = diff_change(row, (enum diff_metric)i);
        bool is_text = table->format == TABLE_TEXT;

        for (unsigned j = 0; j < 2; j++)
            put_value(table, diff, 3 * i + j, row->values[j][i], i != DIFF_RATE && i != DIFF_SUM);
        if (row->is_there[0] && row->is_there[1] && !isnan(change))
            table_real(table, 3 * i + 2, is_text ? change * 100 : change);
    }
    table_str(table, COLUMN_FLAG,
              !row->is_there[0]           ? "+"
              : !row->is_there[1]         ? "-"
              : row->sure == DIFF_SURE    ? (diff->lost ? "!≥" : "!")
              : row->sure == DIFF_TOO_FEW ? (diff->lost ? "?≥" : "?")
                                          : (diff->lost ? "≥" : ""));
    for (unsigned i = 0; i < diff->results[0]->n_keys; i++)
        table_str(table, COLUMN_KEYS + i, row->keys[i]);
    table_end_row(table);
}

static int put_diff(const struct diff_options *options, const struct diff *diff, const char *verb,
                    struct text *out)
{
    struct table_column columns[COLUMN_KEYS + RESULT_KEYS] = {0};
    const struct table_form form = {.columns = columns,
                                    .n = COLUMN_KEYS + diff->results[0]->n_keys};
    struct table table;
    int r;

    make_columns(diff, columns);
    table_begin(&table, out, (enum table_format)options->format, &form);
    if (table.format == TABLE_JSON) {
        json_write_object(&table.json);
        json_write_key(&table.json, "analysis");
        json_write_str(&table.json, verb);
        json_write_key(&table.json, "lost");
        json_write_bool(&table.json, diff->lost);
        json_write_key(&table.json, "rows");
        json_write_lines(&table.json);
    }
    for (unsigned i = 0; i < diff->n && (options->top == 0 || i < options->top); i++)
        put_row(&table, diff, &diff->rows[i]);
    if (table.format == TABLE_JSON)
        json_write_finish(&table.json);
    r = table_end(&table);
    if (options->format == TABLE_TEXT)
        text_put_literal(out,
                         "!: sure; ?: too few to decide; +: only in B; -: only in A; ≥: events "
                         "were lost\n");
    return r;
}

/* ---- The verb ---- */

struct run {
    struct arena arena;
    struct grouping grouping; /* --by */
    const struct diff_options *options;
    char **paths;
    int64_t every[2];
    struct diff_condition *conditions;
    bool is_failed;
    bool is_lossy; /* either trace */
};

/* Each trace is read once to measure it and once per analysis. Pipes end after the first time, and two traces cannot
 * share one input. */
static int check_path(const char *path)
{
    struct stat st;
    bool is_input = strcmp(path, "-") == 0;

    if (!is_input &&
        (stat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode)))
        return EXIT_SUCCESS; /* what cannot be opened is reported when it is */
    cli_error("%s: cannot be read several times, as diff does; copy it to a file, and name that",
              is_input ? "standard input" : path);
    return EXIT_FAILURE;
}

/* How long each trace is: pieces are parts of that. */
static int measure(struct run *run)
{
    for (unsigned i = 0; i < 2; i++) {
        struct diff_side side;
        int status = diff_side_read(&side, &run->options->open, &run->options->select,
                                    run->paths[i], false, NULL, NULL);

        /* So that the last event is in the last piece. */
        if (status == EXIT_SUCCESS && side.coverage.first != TIME_UNKNOWN)
            run->every[i] = coverage_duration(&side.coverage) / DIFF_PIECES + 1;
        run->is_lossy |= side.has_losses;
        diff_side_done(&side);
        if (status != EXIT_SUCCESS)
            return status;
    }
    return EXIT_SUCCESS;
}

static int compare(struct run *run, const struct diff_verb *verb, struct text *out)
{
    struct diff_side sides[2] = {0};
    struct diff diff = {0};
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; i < 2 && status == EXIT_SUCCESS; i++) {
        const struct analysis_settings settings = {.every = run->every[i],
                                                   .grouping = run->grouping};

        status = diff_side_read(&sides[i], &run->options->open, &run->options->select,
                                run->paths[i], true, verb, &settings);
        if (status != EXIT_SUCCESS)
            break;
        sides[i].has_result = true;
        if (analysis_result(&sides[i].analyses.analysis, &sides[i].coverage, &sides[i].result) < 0)
            status = cli_no_memory();
    }
    if (status == EXIT_SUCCESS && (diff_init(&diff, &sides[0].result, &sides[1].result) < 0 ||
                                   put_diff(run->options, &diff, verb->name, out) < 0))
        status = cli_no_memory();
    if (status == EXIT_SUCCESS && diff.n == 0)
        cli_error("neither trace has what strata %s measures", verb->name);
    for (unsigned i = 0; status == EXIT_SUCCESS && i < run->options->fail.n; i++)
        if (diff_condition_check(&run->conditions[i], run->options->fail.items[i], verb->name,
                                 &diff))
            run->is_failed = true;
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
    int status = run->is_failed                               ? EXIT_CHANGED
                 : run->is_lossy && run->options->open.strict ? EXIT_LOSSES
                                                              : EXIT_SUCCESS;

    for (unsigned i = 0; i < run->options->fail.n; i++)
        if (!run->conditions[i].has_row) {
            cli_error("--fail '%s': no row of both traces has such a key and metric",
                      run->options->fail.items[i]);
            status = EXIT_FAILURE;
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
    for (unsigned i = 0; i < 2 && status == EXIT_SUCCESS; i++)
        status = check_path(run->paths[i]);
    if (status != EXIT_SUCCESS)
        return status;
    if (output_open(&out, run->options->format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                    OUT_SIZE) < 0)
        return cli_no_memory();
    status = measure(run);
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
