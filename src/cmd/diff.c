/* SPDX-License-Identifier: MIT */
/* strata diff: what changed from one trace to another. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/diff.h"
#include "analysis/diff_condition.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/diff_side.h"
#include "report/print_diff.h"

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
     .page = "--from, --until, --cpu, --pid and --vcpu select spans by their begin. --event, "
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

/* ---- The verb ---- */

struct run {
    struct arena arena;
    struct grouping grouping; /* --by */
    const struct diff_options *options;
    char **paths;
    bool is_again; /* the traces were read before, by another analysis */
    struct diff_condition *conditions;
    bool is_failed;
    bool is_lossy; /* events of either trace were lost */
    bool is_part;  /* either trace could not be read completely */
    bool is_empty; /* neither trace has what an analysis measures */
};

/* Each trace is read once per analysis, but pipes can be read only once. */
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

/* True if one trace has ticks and the other one seconds. */
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

/* Prints what in DIFF meets condition NUMBER. True if anything does. */
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
    const struct print_diff_options print_options = {
        .format = (enum table_format)run->options->format,
        .analysis = verb->name,
        .top = run->options->top,
        .line_width = run->options->wide ? 0 : output_line_width(),
    };
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
        if (analysis_result(&sides[i].analyses.analysis, &sides[i].pass.coverage,
                            &sides[i].result) < 0)
            status = cli_no_memory();
    }
    if (status == EXIT_SUCCESS && has_other_unit(run, sides))
        status = EXIT_FAILURE;
    if (status == EXIT_SUCCESS && (diff_init(&diff, &sides[0].result, &sides[1].result) < 0 ||
                                   print_diff(&diff, &print_options, out) < 0))
        status = cli_no_memory();
    if (status == EXIT_SUCCESS && diff.n == 0) {
        cli_error("neither trace has what strata %s measures", verb->name);
        run->is_empty = true;
    }
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

/* A condition that no row can meet would always pass. */
static int check_conditions(const struct run *run)
{
    int status = run->is_part || run->is_empty                ? EXIT_FAILURE
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
