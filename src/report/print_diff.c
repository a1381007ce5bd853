/* SPDX-License-Identifier: MIT */
#include "report/print_diff.h"

#include <math.h>
#include <stdio.h>

#include "print/wrap.h"
#include "report/print_result.h"

/* For each metric: its values, the change, the confidence interval of the change, and the verdict. */
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

/* Puts "+20.1 ±2.3": the change, and half of a symmetric interval that contains the true change. */
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

/* Puts a sentence about addresses in keys. False if there is none. */
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

/* False if there is none. */
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

/* Puts how many rows have which verdict, and what the signs mean. */
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

int print_diff(const struct diff *diff, const struct print_diff_options *options, struct text *out)
{
    struct table_column columns[COLUMNS] = {0};
    const struct table_form form = {
        .columns = columns, .n = COLUMNS, .keeps_rows = true, .line_width = options->line_width};
    struct table table;
    int r;

    make_key_columns(diff, columns);
    for (unsigned i = 0; i < DIFF_METRICS; i++)
        make_metric_columns(diff, (enum diff_metric)i,
                            columns + COLUMN_METRICS + i * METRIC_COLUMNS);
    columns[COLUMN_ROW_VERDICT] = (struct table_column){.name = "verdict"};
    table_begin(&table, out, options->format, &form);
    if (table.format == TABLE_JSON) {
        json_write_object(&table.json);
        json_write_key(&table.json, "analysis");
        json_write_str(&table.json, options->analysis);
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
