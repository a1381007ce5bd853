/* SPDX-License-Identifier: MIT */
/* Reads the whole trace: to find the tables of events and what describes them, and to make spans and states. */
#include <errno.h>
#include <string.h>

#include "query/internal.h"

int query_read_all(struct query *query, struct trace *trace, struct sink *sink,
                   struct error *failed)
{
    struct losses losses = {0};
    const struct item *items;
    uint64_t n = 0;
    int r;

    while ((r = trace_next(trace, &items)) > 0) {
        int run = r;

        if (query_is_stopped(query))
            return -EINTR;
        query_note_run(query, trace);
        losses_add_all(&losses, items, (unsigned)run);
        n += (unsigned)run;
        r = sink_put(sink, items, (unsigned)run);
        if (r < 0) {
            query->error = sink->error;
            return r;
        }
    }
    if (r < 0) {
        *failed = trace->source->error;
        r = query_reading_failed(query, failed);
        if (r < 0)
            return r;
    }
    query_note_losses(query, trace, &losses);
    query->n_items = n;
    query->in_ticks = trace_is_in_ticks(trace);
    r = sink_finish(sink);
    if (r < 0)
        query->error = sink->error;
    return r;
}

/* ---- The survey ---- */

/* Stores a row of a fixed table. */
static int keep_row(void *arg, enum fixed_table number, const struct value *cells)
{
    struct query *query = arg;
    const struct trace_table *table = &fixed_tables[number];
    struct memory_rows *rows = &query->rows[number];
    struct value *row = arena_memdup(&query->arena, cells, table->n_columns * sizeof *cells);

    if (rows->n == rows->room) {
        size_t room = MAX(rows->room * 2, (size_t)64);
        struct value **bigger = realloc(rows->rows, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        rows->rows = bigger;
        rows->room = room;
    }
    if (!row)
        return -ENOMEM;
    for (unsigned i = 0; i < table->n_columns; i++) {
        enum column_type type = table->columns[i].type;

        if (!row[i].present || (type != COLUMN_TEXT && !(type == COLUMN_EITHER && row[i].len > 0)))
            continue;
        row[i].s = arena_strndup(&query->arena, row[i].s, row[i].len);
        if (!row[i].s)
            return -ENOMEM;
    }
    rows->rows[rows->n++] = row;
    return 0;
}

static void forget_rows(struct query *query)
{
    for (unsigned i = 0; i < FIXED_TABLES; i++)
        query->rows[i].n = 0;
}

int query_survey(struct query *query)
{
    static const struct tables_ops ops = {.row = keep_row};
    struct tables_options options;
    struct error failed = {0};
    struct trace *trace;
    int r;

    if (query->events)
        return 0;
    trace = query_take_trace(query);
    if (!trace)
        return query->error.code ? query->error.code : -ENOMEM;
    options = (struct tables_options){
        .catalogue = &trace->catalogue,
        .trace = trace,
        .problem = &failed,
        .origin_number = query->options.origin_number,
        .origin_arg = trace,
        .errors = query->options.errors,
        .wanted = (TABLE_BIT(FIXED_TABLES) - 1) & ~TABLE_BIT(TABLE_SPAN) & ~TABLE_BIT(TABLE_STATE),
    };
    r = tables_sink_open(&options, &ops, query, &query->tables, &query->error);
    if (r == 0)
        r = query_read_all(query, trace, query->tables, &failed);
    if (r < 0) {
        sink_free(query->tables);
        query->tables = NULL;
        forget_rows(query);
        trace_free(trace);
        return r;
    }
    query->trace = trace;
    query->events = tables_sink_events(query->tables);
    for (unsigned i = 0; i < FIXED_TABLES; i++)
        memory_rows_sort(&query->rows[i], (enum fixed_table)i);
    return scan_tables_register_events(query) == SQLITE_OK ? 0 : -ENOMEM;
}

const struct value *query_thread_name(const struct query *query, unsigned source, int32_t pid)
{
    const struct memory_rows *rows = &query->rows[TABLE_THREAD];
    const int64_t keys[] = {source, pid};
    size_t first, end;

    memory_rows_find(rows, keys, 2, &first, &end);
    return first < end ? &rows->rows[first][2] : NULL;
}

/* ---- Spans and states ---- */

struct interval_reading {
    struct query *query;
    struct intervals *intervals;
};

static int text_code(struct intervals *intervals, const struct value *cell, int32_t *ret)
{
    if (cell->present)
        return intervals_number(intervals, cell->s, cell->len, ret);
    *ret = CODE_NULL;
    return 0;
}

/* Errors and thread numbers are below 2^31, or saturated. */
static int32_t number_code(const struct value *cell)
{
    return cell->present ? (int32_t)MAX(MIN(cell->i, (int64_t)INT32_MAX), (int64_t)INT32_MIN + 1)
                         : CODE_NULL;
}

static int keep_interval(void *arg, enum fixed_table number, const struct value *cells)
{
    struct interval_reading *reading = arg;
    bool is_span = number == TABLE_SPAN;
    const struct trace_table *table = &fixed_tables[number];
    unsigned begin = is_span ? SPAN_COL_BEGIN : STATE_COL_BEGIN;
    unsigned n = 0;
    struct interval item = {.begin = cells[begin].i,
                            .end = cells[begin + 1].present ? cells[begin + 1].i : INT64_MAX};
    const char *text = "";
    int r = 0;

    for (unsigned i = 0; i < table->n_columns && r == 0; i++) {
        enum column_type type = table->columns[i].type;

        if (i >= begin && i <= begin + 2)
            continue; /* begin, end, and the duration, which is their difference or one more or less */
        if (is_span && i == SPAN_COL_KEY) {
            text = cells[i].s;
            item.text_len = cells[i].present ? cells[i].len : 0;
            item.codes[n++] = cells[i].present ? 1 : CODE_NULL;
        } else if (type == COLUMN_TEXT || (type == COLUMN_EITHER && cells[i].len > 0)) {
            r = text_code(reading->intervals, &cells[i], &item.codes[n++]);
            if (type == COLUMN_EITHER)
                item.codes[n - 1] = ~item.codes[n - 1]; /* a name, no number: negative */
        } else {
            item.codes[n++] = number_code(&cells[i]);
        }
    }
    if (cells[begin + 2].present)
        item.codes[INTERVAL_CODES - 1] = (int32_t)(cells[begin + 2].i - (item.end - item.begin));
    if (r == 0)
        r = intervals_add(reading->intervals, &item, text);
    if (r < 0)
        (void)error_set(&reading->query->error, r, reading->query->options.temporary_dir,
                        "cannot keep spans and states: %s", error_text(r));
    return r;
}

int query_make_intervals(struct query *query, enum fixed_table table)
{
    static const struct tables_ops ops = {.row = keep_interval};
    struct intervals **place = table == TABLE_SPAN ? &query->spans : &query->states;
    struct interval_reading reading = {.query = query};
    struct tables_options options;
    struct error failed = {0};
    struct trace *trace;
    struct sink *sink = NULL;
    int r;

    if (*place)
        return 0;
    trace = query_take_trace(query);
    if (!trace)
        return query->error.code ? query->error.code : -ENOMEM;
    options = (struct tables_options){
        .catalogue = &trace->catalogue,
        .errors = query->options.errors,
        .wanted = TABLE_BIT(table),
        .rules = query->options.rules,
        .n_rules = query->options.n_rules,
    };
    reading.intervals = calloc(1, sizeof *reading.intervals);
    r = reading.intervals ? intervals_init(reading.intervals, query->options.temporary_dir)
                          : -ENOMEM;
    if (r < 0)
        (void)error_set(&query->error, r, query->options.temporary_dir,
                        "cannot keep spans and states: %s", error_text(r));
    if (r == 0)
        r = tables_sink_open(&options, &ops, &reading, &sink, &query->error);
    if (r == 0) {
        struct error before = query->error;

        r = query_read_all(query, trace, sink, &failed);
        /* The error of the temporary file says more. */
        if (before.code)
            query->error = before;
    }
    if (r == 0)
        r = intervals_sort(reading.intervals);
    sink_free(sink);
    trace_free(trace);
    if (r < 0 && reading.intervals) {
        intervals_done(reading.intervals);
        free(reading.intervals);
        return r;
    }
    *place = reading.intervals;
    return r;
}
