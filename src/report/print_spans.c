/* SPDX-License-Identifier: MIT */
#include "report/print_spans.h"

#include <stdio.h>

#include "base/ticks.h"
#include "report/print_result.h"

enum {
    COLUMN_BEGIN,
    COLUMN_END,
    COLUMN_DURATION,
    COLUMN_ERROR,
    COLUMN_CPU,
    COLUMN_PID,
    COLUMN_TASK,
    COLUMN_TASK_PID,
    COLUMN_KEYS,
};
_Static_assert(COLUMN_KEYS == SPAN_COLUMNS, "columns have places");

static void make_columns(struct span_printer *printer, const struct result *result)
{
    bool is_ns = printer->clock.hz != 0;
    const struct table_column fixed[] = {
        [COLUMN_BEGIN] = {"BEGIN", 18, is_ns ? "begin_ns" : "begin_ticks"},
        [COLUMN_END] = {NULL, 0, is_ns ? "end_ns" : "end_ticks"},
        [COLUMN_DURATION] = {"DURATION", 9},
        [COLUMN_ERROR] = {"ERROR", 7, "error_ns"},
        [COLUMN_CPU] = {"CPU", 4, "cpu"},
        [COLUMN_PID] = {NULL, 0, "pid"},
        [COLUMN_TASK] = {NULL, 0, "task"},
        [COLUMN_TASK_PID] = {"TASK", -22},
    };

    for (unsigned i = 0; i < COLUMN_KEYS; i++)
        printer->columns[i] = fixed[i];
    for (unsigned i = 0; i < result->n_keys; i++) {
        const struct result_key *key = &result->keys[i];

        printer->is_number[i] = key->is_number;
        printer->columns[COLUMN_KEYS + 2 * i] = (struct table_column){
            .title = key->title,
            .width = i + 1 < result->n_keys ? -20 : 0,
            .name = key->name,
            .object = "key",
        };
        snprintf(printer->numbered[i], sizeof printer->numbered[i], "%s_value", key->name);
        if (!key->is_number)
            printer->columns[COLUMN_KEYS + 2 * i + 1] = (struct table_column){
                .name = printer->numbered[i], .object = "key", .json_only = true};
    }
    printer->n_keys = result->n_keys;
}

void print_spans_begin(struct span_printer *printer, struct analysis *analysis,
                       enum table_format format, struct text *out)
{
    struct coverage coverage;
    struct result result;
    struct table_form form = {.columns = printer->columns};

    *printer = (struct span_printer){.clock = analysis->settings.clock};
    coverage_init(&coverage);
    result_init(&result, analysis->ops->name, &analysis->settings.clock, &coverage);
    analysis->ops->add_columns(analysis, &result);
    make_columns(printer, &result);
    form.n = COLUMN_KEYS + 2 * result.n_keys;
    /* Titles are of the analysis, not of the result's arena. */
    table_begin(&printer->table, out, format, &form);
    result_done(&result);
}

static void put_time(struct span_printer *printer, unsigned column, int64_t time)
{
    if (printer->table.format == TABLE_TEXT)
        clock_put_time(&printer->clock, time, table_cell(&printer->table, column));
    else
        table_i64(&printer->table, column, clock_to_ns(&printer->clock, time));
}

static void put_task(struct span_printer *printer, const struct analysis_span *span)
{
    struct table *table = &printer->table;
    const char *task;

    if (span->pid == PID_UNKNOWN)
        return;
    task = origin_task_name(span->origin, span->pid);
    table_i64(table, COLUMN_PID, span->pid);
    table_str(table, COLUMN_TASK, task);
    text_printf(table_cell(table, COLUMN_TASK_PID), "%s-%d", task ? task : "", span->pid);
}

static void put_keys(struct span_printer *printer, const struct analysis_span *span)
{
    struct table *table = &printer->table;
    bool is_json = table->format == TABLE_JSON;

    for (unsigned i = 0; i < printer->n_keys; i++) {
        bool has_number = span->has_number >> i & 1;
        unsigned column = COLUMN_KEYS + 2 * i;

        if (is_json && printer->is_number[i]) {
            if (has_number)
                table_i64(table, column, span->numbers[i]);
            continue;
        }
        table_str(table, column, span->keys[i]);
        if (is_json && has_number)
            table_i64(table, column + 1, span->numbers[i]);
    }
}

static double ns_between(const struct span_printer *printer, int64_t begin, int64_t end)
{
    int64_t ticks = ticks_between(begin, end);
    double duration = ticks < 0 ? -(double)ticks : (double)ticks;

    return printer->clock.hz ? duration * NANOSECONDS / (double)printer->clock.hz : duration;
}

void print_span(struct span_printer *printer, const struct analysis_span *span)
{
    static const struct clock ns = {.hz = NANOSECONDS};
    struct table *table = &printer->table;

    put_time(printer, COLUMN_BEGIN, span->begin);
    put_time(printer, COLUMN_END, span->end);
    print_duration(&printer->clock, ticks_between(span->begin, span->end),
                   table_cell(table, COLUMN_DURATION));
    if (!error_is_known(span->error_ns, printer->is_error_refuted))
        table_unknown(table, COLUMN_ERROR);
    else if (table->format != TABLE_TEXT)
        table_u64(table, COLUMN_ERROR, span->error_ns);
    else if (print_shows_error(span->error_ns, ns_between(printer, span->begin, span->end)))
        print_duration(&ns, span->error_ns, table_cell(table, COLUMN_ERROR));
    if (span->cpu != CPU_UNKNOWN)
        table_i64(table, COLUMN_CPU, span->cpu);
    put_task(printer, span);
    put_keys(printer, span);
    table_end_row(table);
    printer->n++;
}

int print_spans_end(struct span_printer *printer)
{
    return table_end(&printer->table);
}
