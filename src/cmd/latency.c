/* SPDX-License-Identifier: MIT */
/* strata latency: how long it takes from one event to another. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/latency.h"
#include "analysis/spans/span_match.h"
#include "cli/output.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"
#include "cmd/span_rules.h"
#include "print/table.h"

#define OUT_SIZE ((size_t)64 * 1024)

struct latency_options {
    struct analysis_options common;
    struct strings pairs, files;
    bool list;
};

#define MEMBER(m) offsetof(struct latency_options, m)

static const struct cli_option what_options[] = {
    {OPTION_STRINGS, 'p', "pair", "RULE",
     "events that begin and end a span: 'block_rq_issue(sector) -> block_rq_complete(sector)'",
     MEMBER(pairs)},
    {OPTION_STRINGS, 0, "pairs", "FILE", "file of such rules, one per line", MEMBER(files),
     .page = "In it, '#' begins a comment."},
    {OPTION_FLAG, 'l', "list", NULL, "list the built-in rules (with PATH: only rules that apply)",
     MEMBER(list)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is measured", what_options, 0},
    {"Output", analysis_output_options, MEMBER(common)},
    {"Which spans", analysis_span_options, MEMBER(common)},
    {"Selection", select_option_table, MEMBER(common.select),
     .page = "--from, --until, --cpu, --pid and --vcpu select spans by their begin. --event, "
             "--layer and "
             "--limit leave out events that are read (strata-analysis(7))."},
    {"Reading", open_option_table, MEMBER(common.open)},
    {"Threads", jobs_option_table, MEMBER(common.jobs)},
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
             "without begin or end, and those that may have lost it, are counted separately.",
    .groups = groups,
    .examples = "  strata latency trace\n"
                "  strata latency block --by rwbs --slowest 5 trace\n"
                "  strata latency --pair 'kvm_exit -> kvm_entry by thread' trace",
};

static int measure(const struct latency_options *options, struct trace *trace,
                   struct span_rules_user *pairs, char *const *names, int n)
{
    struct latency latency;
    struct analysis_settings settings;
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r = span_rules_user_read(pairs, names, n, &options->pairs, &options->files, &error);

    if (r < 0) {
        (void)cli_print_failure(&error, r);
    } else if (analysis_settings_init(&options->common, trace, &pairs->arena, &settings) ==
               EXIT_SUCCESS) {
        if (latency_init(&latency, &settings, pairs->rules.rules, pairs->rules.n,
                         trace_classes(trace)) < 0) {
            cli_no_memory();
        } else {
            latency.keeps_empty = !pairs->uses_all;
            status = analysis_print(&options->common, trace, &latency.analysis);
        }
        if (status != EXIT_FAILURE) {
            r = span_rules_check(pairs, trace_classes(trace), &options->common.select,
                                 latency.spans.n_kinds > 0);
            status = r != EXIT_SUCCESS ? r : status;
        }
        latency_done(&latency);
    }
    return status;
}

/* Reads TRACE, because many readers know their events only after that. An exit status. */
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

/* Lists the built-in rules; for a trace, those whose events it has. */
static int list(const struct latency_options *options, const struct span_rules_user *pairs,
                struct trace *trace)
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
    int r = output_open(&out, options->common.format == TABLE_TEXT ? OUTPUT_TEXT : OUTPUT_DATA,
                        OUT_SIZE);

    if (r < 0) {
        cli_no_memory();
        return EXIT_FAILURE;
    }
    table_begin(&table, &out, (enum table_format)options->common.format, &form);
    if (table.format == TABLE_JSON)
        json_write_lines(&table.json);
    for (unsigned i = 0; i < pairs->own.n; i++) {
        const struct span_rule *rule = &pairs->own.rules[i];

        if (trace && span_rule_check(rule, trace_classes(trace), NULL) < 0)
            continue;
        table_str(&table, 0, rule->name);
        table_str(&table, 1, "of your file strata/pairs");
        table_end_row(&table);
    }
    for (const struct span_builtin *builtin = span_builtins; r >= 0 && builtin->rule; builtin++) {
        struct span_rule rule;

        r = span_rule_parse(builtin->rule, NULL, &arena, &rule, NULL);
        if (r < 0 || (trace && span_rule_check(&rule, trace_classes(trace), NULL) < 0))
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

/* True if the first of the N operands that is not a rule cannot be a trace either, so it is probably misspelt. */
static bool is_misspelt_rule(char *const *operands, int n)
{
    return n > 1 && !strchr(operands[0], '/') && access(operands[0], F_OK) < 0 && errno == ENOENT;
}

static int run(struct latency_options *options, char **operands, int n)
{
    struct trace *trace = NULL;
    struct span_rules_user pairs = {0};
    struct error error = {0};
    int status = EXIT_FAILURE;
    int n_names = 0;
    int r = span_rules_init(&pairs, &error);

    if (r < 0) {
        (void)cli_print_failure(&error, r);
        n = 0;
    }
    while (n_names < n && span_rules_user_has_name(&pairs, operands[n_names]))
        n_names++;
    if (is_misspelt_rule(operands + n_names, n - n_names)) {
        span_rules_user_done(&pairs);
        return cli_usage_error("latency",
                               "'%s' is neither a rule ('strata latency --list' lists them) nor a "
                               "trace",
                               operands[n_names]);
    }
    if (n > n_names)
        trace = analysis_open(&options->common, operands + n_names, n - n_names);
    if (options->list && n == n_names && r == 0)
        status = list(options, &pairs, NULL);
    else if (n == n_names && r == 0)
        status = cli_usage_error("latency", "no trace file given");
    else if (trace && !options->list)
        status = measure(options, trace, &pairs, operands, n_names);
    else if (trace && read_through(trace) == EXIT_SUCCESS)
        status = list(options, &pairs, trace);
    trace_free(trace);
    span_rules_user_done(&pairs);
    return status;
}

int cmd_latency(int argc, char **argv)
{
    struct latency_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&latency_command, argc, argv, &options, &n, &status)) {
        status = span_rules_check_syntax("latency", &options.pairs);
        if (status == EXIT_SUCCESS)
            status = run(&options, argv + 1, n);
    }
    strings_done(&options.pairs);
    strings_done(&options.files);
    analysis_options_done(&options.common);
    return status;
}
