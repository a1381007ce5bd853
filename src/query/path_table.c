/* SPDX-License-Identifier: MIT */
/* The table `path`: why each interval took so long, a row for each segment (analysis/path/path.h). A wait for a CPU has a row for each
 * that ran there, one after the other, so that the rows of an interval follow each other without a gap. Intervals are requests to
 * disks; if rules were given, their spans. The view `blame` adds up the rows. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path.h"
#include "query/internal.h"

enum {
    PATH_COL_INTERVAL, /* from 1 on */
    PATH_COL_KIND,
    PATH_COL_LAYER,
    PATH_COL_WHO,
    PATH_COL_WHAT,
    PATH_COL_CAUSE,
    PATH_COL_CPU,
    PATH_COL_PID,
    PATH_COL_ERROR,
    PATH_COL_BEGIN, /* not among the codes, as are the next ones */
    PATH_COL_END,
    PATH_COL_DURATION,
};

static const struct trace_column columns[] = {
    [PATH_COL_INTERVAL] = {.name = "interval", .type = COLUMN_INTEGER},
    [PATH_COL_KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [PATH_COL_LAYER] = {.name = "layer", .type = COLUMN_TEXT},
    [PATH_COL_WHO] = {.name = "who", .type = COLUMN_TEXT},
    [PATH_COL_WHAT] = {.name = "what", .type = COLUMN_TEXT},
    [PATH_COL_CAUSE] = {.name = "cause", .type = COLUMN_TEXT},
    [PATH_COL_CPU] = {.name = "cpu", .type = COLUMN_INTEGER, .nullable = true},
    [PATH_COL_PID] = {.name = "pid", .type = COLUMN_INTEGER, .nullable = true},
    [PATH_COL_ERROR] = {.name = "error_ns", .type = COLUMN_INTEGER, .nullable = true},
    [PATH_COL_BEGIN] = {.name = "begin_ns", .type = COLUMN_INTEGER},
    [PATH_COL_END] = {.name = "end_ns", .type = COLUMN_INTEGER},
    [PATH_COL_DURATION] = {.name = "duration_ns", .type = COLUMN_INTEGER},
};

static const char blame[] =
    "CREATE VIEW blame AS SELECT kind, layer, who, what, cause, count(DISTINCT interval) AS n, "
    "sum(duration_ns) AS sum_ns, 1.0 * sum(duration_ns) / sum(sum(duration_ns)) OVER (PARTITION "
    "BY kind) AS part FROM path GROUP BY kind, layer, who, what, cause";

/* ---- making it ---- */

struct making {
    struct query *query;
    struct intervals *intervals;
    struct path path;
};

static int keep_segment(void *arg, const struct analysis_span *span)
{
    struct making *making = arg;
    const struct clock *clock = &making->path.analysis.settings.clock;
    struct interval item = {.begin = clock_to_ns(clock, span->begin),
                            .end = clock_to_ns(clock, span->end)};
    bool has_errors = making->query->options.errors;
    int r = 0;

    item.codes[PATH_COL_INTERVAL] = (int32_t)MIN(making->path.n_intervals, (uint64_t)INT32_MAX);
    for (unsigned i = 0; i < PATH_KEYS && r == 0; i++)
        r = intervals_number(making->intervals, span->keys[i], (uint32_t)strlen(span->keys[i]),
                             &item.codes[PATH_COL_KIND + i]);
    item.codes[PATH_COL_CPU] = span->cpu >= 0 ? span->cpu : CODE_NULL;
    item.codes[PATH_COL_PID] = span->pid > 0 ? span->pid : CODE_NULL;
    item.codes[PATH_COL_ERROR] =
        has_errors ? (int32_t)MIN(span->error_ns, (uint32_t)INT32_MAX) : CODE_NULL;
    item.codes[INTERVAL_CODES - 1] =
        (int32_t)(clock_to_ns(clock, span->end - span->begin) - (item.end - item.begin));
    if (r == 0)
        r = intervals_add(making->intervals, &item, "");
    if (r < 0)
        (void)error_set(&making->query->error, r, making->query->options.temporary_dir,
                        "cannot keep paths: %s", error_text(r));
    return r;
}

static int read_paths(struct making *making, struct trace *trace)
{
    struct query *query = making->query;
    const struct analysis_settings settings = {.clock = trace->inputs[0].origin->clock};
    struct error failed = {0}, before;
    const struct query_options *options = &query->options;
    int r =
        path_init(&making->path, &settings, options->n_given > 0 ? PATH_OF_SPANS : PATH_OF_REQUESTS,
                  options->rules + options->n_rules - options->n_given, options->n_given,
                  trace_classes(trace));

    making->path.analysis.put_span = keep_segment;
    making->path.analysis.put_span_arg = making;
    if (r == 0)
        r = query_read_all(query, trace, &making->path.analysis.sink, &failed);
    /* The error of the temporary file says more. */
    before = query->error;
    path_done(&making->path);
    if (r < 0 && before.code == 0)
        (void)error_set(&query->error, r, NULL, "%s", error_text(r));
    return r;
}

/* 0, or a negative errno with query->error. */
static int make_paths(struct query *query)
{
    struct making making = {.query = query};
    struct trace *trace;
    int r;

    if (query->paths)
        return 0;
    trace = query_take_trace(query);
    if (!trace)
        return query->error.code ? query->error.code : -ENOMEM;
    making.intervals = calloc(1, sizeof *making.intervals);
    r = making.intervals ? intervals_init(making.intervals, query->options.temporary_dir) : -ENOMEM;
    if (r < 0)
        (void)error_set(&query->error, r, query->options.temporary_dir, "cannot keep paths: %s",
                        error_text(r));
    if (r == 0)
        r = read_paths(&making, trace);
    if (r == 0)
        r = intervals_sort(making.intervals);
    trace_free(trace);
    if (r < 0 && making.intervals) {
        intervals_done(making.intervals);
        free(making.intervals);
        return r;
    }
    query->paths = making.intervals;
    return r;
}

/* ---- the table ---- */

struct path_vtab {
    sqlite3_vtab base;
    struct query *query;
};

struct path_cursor {
    sqlite3_vtab_cursor base;
    const struct intervals *intervals;
    uint32_t at;
};

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    struct path_vtab *table;
    int code = declare_columns(arg, columns, ARRAY_SIZE(columns));

    (void)argc;
    (void)argv;
    (void)ret_error;
    /* It reads the trace, and does nothing else: `blame` may use it. */
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK)
        return code;
    table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->query = arg;
    *ret_table = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
    free(container_of(base, struct path_vtab, base));
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct query *query = container_of(base, struct path_vtab, base)->query;
    double rows = query->paths ? query->paths->n : 1e6;

    info->estimatedRows = (sqlite3_int64)rows + 1;
    info->estimatedCost = rows + 20;
    info->orderByConsumed = info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
                            info->aOrderBy[0].iColumn == PATH_COL_BEGIN;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    struct path_cursor *cursor = calloc(1, sizeof *cursor);

    (void)base;
    if (!cursor)
        return SQLITE_NOMEM;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    free(container_of(base, struct path_cursor, base));
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                  sqlite3_value **argv)
{
    struct path_cursor *cursor = container_of(base, struct path_cursor, base);
    struct query *query = container_of(base->pVtab, struct path_vtab, base)->query;
    int r = make_paths(query);

    (void)number;
    (void)plan;
    (void)argc;
    (void)argv;
    if (r < 0)
        return table_failed(query, base->pVtab, r);
    cursor->intervals = query->paths;
    cursor->at = 0;
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    const struct query *query = container_of(base->pVtab, struct path_vtab, base)->query;

    container_of(base, struct path_cursor, base)->at++;
    return query_is_stopped(query) ? SQLITE_INTERRUPT : SQLITE_OK;
}

static int is_after_last(sqlite3_vtab_cursor *base)
{
    const struct path_cursor *cursor = container_of(base, struct path_cursor, base);

    return cursor->at >= cursor->intervals->n;
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct path_cursor *cursor = container_of(base, struct path_cursor, base);
    const struct intervals *intervals = cursor->intervals;
    const struct interval *item = intervals_item(intervals, cursor->at);

    if (column == PATH_COL_BEGIN)
        sqlite3_result_int64(context, item->begin);
    else if (column == PATH_COL_END)
        sqlite3_result_int64(context, item->end);
    else if (column == PATH_COL_DURATION)
        sqlite3_result_int64(context, item->end - item->begin + item->codes[INTERVAL_CODES - 1]);
    else if (columns[column].type == COLUMN_TEXT)
        sqlite3_result_text64(context, intervals->names[item->codes[column]],
                              intervals->name_lens[item->codes[column]], SQLITE_STATIC,
                              SQLITE_UTF8);
    else if (item->codes[column] != CODE_NULL)
        sqlite3_result_int(context, item->codes[column]);
    return SQLITE_OK;
}

static int put_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = container_of(base, struct path_cursor, base)->at;
    return SQLITE_OK;
}

void path_tables_foreach(void (*put)(void *arg, const char *name), void *arg)
{
    put(arg, "path");
    put(arg, "blame");
}

int path_table_register(struct query *query)
{
    static const sqlite3_module module = {
        .xConnect = connect_table,
        .xBestIndex = best_index,
        .xDisconnect = disconnect_table,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = next_row,
        .xEof = is_after_last,
        .xColumn = put_column,
        .xRowid = put_rowid,
    };
    int code = sqlite3_create_module(query->db, "path", &module, query);

    return code == SQLITE_OK ? sqlite3_exec(query->db, blame, NULL, NULL, NULL) : code;
}
