/* SPDX-License-Identifier: MIT */
/* The tables `span` and `state`, over query/intervals.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/internal.h"
#include "tables/sqlite_cell.h"

struct interval_cursor {
    sqlite3_vtab_cursor base;
    struct fixed_vtab *table;
    struct intervals *intervals;
    struct interval_walk walk;
    const struct interval *item; /* NULL at the end */
};

/* The column begin_ns; end_ns and duration_ns follow. */
static unsigned begin_column(enum fixed_table number)
{
    return number == TABLE_SPAN ? SPAN_COL_BEGIN : STATE_COL_BEGIN;
}

/* The code of COLUMN, which must not be one of these. */
static unsigned code_of(enum fixed_table number, unsigned column)
{
    return column > begin_column(number) ? column - 3 : column;
}

/* ---- The plan: for each argument two letters, an operation and a column from 'A' on ---- */

/* The letter of an operation that narrows the walk; 0 if it does not. */
static char operation(const struct fixed_vtab *table, int column, unsigned char op)
{
    int begin = (int)begin_column(table->number);
    bool is_key = table->number == TABLE_SPAN && column == SPAN_COL_KEY;

    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return column < 0 || column == begin + 2 || is_key ? 0 : '=';
    case SQLITE_INDEX_CONSTRAINT_GT: return column == begin || column == begin + 1 ? '>' : 0;
    case SQLITE_INDEX_CONSTRAINT_GE: return column == begin || column == begin + 1 ? 'g' : 0;
    case SQLITE_INDEX_CONSTRAINT_LT: return column == begin ? '<' : 0;
    case SQLITE_INDEX_CONSTRAINT_LE: return column == begin ? 'l' : 0;
    default: return 0;
    }
}

/* Estimates the share of the intervals that is left. */
static double selectivity(const struct fixed_vtab *table, int column, char op)
{
    int begin = (int)begin_column(table->number);

    if (op != '=')
        return 0.1;
    if (column == begin || column == begin + 1)
        return 0.0001;
    if (table->number == TABLE_STATE ? column == STATE_COL_ID : column == SPAN_COL_PID)
        return 0.02;
    return 0.2;
}

static int interval_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct fixed_vtab *table = container_of(base, struct fixed_vtab, base);
    const struct intervals *intervals =
        table->number == TABLE_SPAN ? table->query->spans : table->query->states;
    double rows = intervals ? intervals->n : 1e6;
    char *plan = sqlite3_malloc64((sqlite3_uint64)info->nConstraint * 2 + 1);
    unsigned n = 0;

    if (!plan)
        return SQLITE_NOMEM;
    for (int i = 0; i < info->nConstraint; i++) {
        char op = info->aConstraint[i].usable
                      ? operation(table, info->aConstraint[i].iColumn, info->aConstraint[i].op)
                      : 0;

        if (!op || strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        plan[2 * n] = op;
        plan[2 * n + 1] = (char)('A' + info->aConstraint[i].iColumn);
        info->aConstraintUsage[i].argvIndex = (int)++n;
        rows *= selectivity(table, info->aConstraint[i].iColumn, op);
    }
    plan[2 * n] = '\0';
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)rows + 1;
    info->estimatedCost = rows + 20;
    info->orderByConsumed = info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
                            info->aOrderBy[0].iColumn == (int)begin_column(table->number);
    return SQLITE_OK;
}

/* Converts VALUE to an integer: the least one not below it, or with DOWN the greatest one not above it. False if it is
 * not a number. */
static bool near_integer(sqlite3_value *value, bool down, int64_t *ret)
{
    double real;

    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        *ret = sqlite3_value_int64(value);
        return true;
    }
    if (sqlite3_value_type(value) != SQLITE_FLOAT)
        return false;
    real = down ? floor(sqlite3_value_double(value)) : ceil(sqlite3_value_double(value));
    *ret = real >= 9.2e18 ? INT64_MAX : real <= -9.2e18 ? INT64_MIN : (int64_t)real;
    return true;
}

/* Narrows RANGE to intervals with VALUE in COLUMN. False if there are none. */
static bool narrow_equal(const struct fixed_vtab *table, struct intervals *intervals,
                         struct interval_range *range, unsigned column, sqlite3_value *value)
{
    enum column_type type = fixed_tables[table->number].columns[column].type;
    unsigned code = code_of(table->number, column);
    int value_type = sqlite3_value_type(value);
    int32_t number;

    if (value_type == SQLITE_NULL)
        return false;
    if (value_type == SQLITE_TEXT && type != COLUMN_INTEGER) {
        const char *s = (const char *)sqlite3_value_text(value);

        if (!s ||
            intervals_find_number(intervals, s, (uint32_t)sqlite3_value_bytes(value), &number) < 0)
            return false;
        if (type == COLUMN_EITHER)
            number = ~number;
    } else if (value_type == SQLITE_INTEGER && type != COLUMN_TEXT) {
        int64_t wide = sqlite3_value_int64(value);

        /* Larger ones are kept as the largest. */
        if (wide <= INT32_MIN || wide >= INT32_MAX)
            return true;
        number = (int32_t)wide;
    } else {
        return true; /* SQLite compares, by its rules */
    }
    range->codes_given |= 1u << code;
    range->codes[code] = number;
    return true;
}

static bool narrow(const struct fixed_vtab *table, struct intervals *intervals,
                   struct interval_range *range, char op, unsigned column, sqlite3_value *value)
{
    unsigned begin = begin_column(table->number);
    bool greater = op == '>' || op == 'g' || op == '=', less = op == '<' || op == 'l' || op == '=';
    int64_t time;

    if (op == '=' && column != begin && column != begin + 1)
        return narrow_equal(table, intervals, range, column, value);
    if (greater && near_integer(value, true, &time)) {
        if (column == begin)
            range->begin_from = MAX(range->begin_from, time);
        else
            range->end_from = MAX(range->end_from, time);
    }
    if (less && column == begin && near_integer(value, false, &time))
        range->begin_to = MIN(range->begin_to, time);
    return sqlite3_value_type(value) != SQLITE_NULL;
}

/* ---- The cursor ---- */

static int interval_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    struct interval_cursor *cursor = calloc(1, sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    cursor->table = container_of(base, struct fixed_vtab, base);
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int interval_close(sqlite3_vtab_cursor *base)
{
    free(container_of(base, struct interval_cursor, base));
    return SQLITE_OK;
}

static int interval_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                           sqlite3_value **argv)
{
    struct interval_cursor *cursor = container_of(base, struct interval_cursor, base);
    struct fixed_vtab *table = cursor->table;
    struct query *query = table->query;
    struct interval_range range = {
        .begin_from = INT64_MIN, .begin_to = INT64_MAX, .end_from = INT64_MIN};
    bool any = true;
    int r = query_make_intervals(query, table->number);

    (void)number;
    if (r < 0)
        return table_failed(query, &table->base, r);
    cursor->intervals = table->number == TABLE_SPAN ? query->spans : query->states;
    cursor->item = NULL;
    for (int i = 0; i < argc && any; i++)
        any = narrow(table, cursor->intervals, &range, plan[2 * i],
                     (unsigned)(plan[2 * i + 1] - 'A'), argv[i]);
    if (!any)
        return SQLITE_OK;
    r = interval_walk_start(cursor->intervals, &range, &cursor->walk);
    if (r < 0)
        return table_failed(query, &table->base, r);
    cursor->item = interval_walk_next(cursor->intervals, &cursor->walk);
    return SQLITE_OK;
}

static int interval_next(sqlite3_vtab_cursor *base)
{
    struct interval_cursor *cursor = container_of(base, struct interval_cursor, base);

    cursor->item = interval_walk_next(cursor->intervals, &cursor->walk);
    return query_is_stopped(cursor->table->query) ? SQLITE_INTERRUPT : SQLITE_OK;
}

static int interval_eof(sqlite3_vtab_cursor *base)
{
    return !container_of(base, struct interval_cursor, base)->item;
}

static void result_code(sqlite3_context *context, const struct intervals *intervals, int32_t code,
                        enum column_type type)
{
    uint32_t number;

    if (code == CODE_NULL)
        return;
    if (type == COLUMN_INTEGER || (type == COLUMN_EITHER && code >= 0)) {
        sqlite3_result_int(context, code);
        return;
    }
    number = (uint32_t)(type == COLUMN_EITHER ? ~code : code);
    sqlite3_result_text64(context, intervals->names[number], intervals->name_lens[number],
                          SQLITE_STATIC, SQLITE_UTF8);
}

static int interval_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct interval_cursor *cursor = container_of(base, struct interval_cursor, base);
    const struct fixed_vtab *table = cursor->table;
    const struct interval *item = cursor->item;
    unsigned begin = begin_column(table->number);

    if ((unsigned)column == begin) {
        sqlite3_result_int64(context, item->begin);
    } else if ((unsigned)column == begin + 1) {
        if (item->end != INT64_MAX)
            sqlite3_result_int64(context, item->end);
    } else if ((unsigned)column == begin + 2) {
        if (item->end != INT64_MAX)
            sqlite3_result_int64(context,
                                 item->end - item->begin + item->codes[INTERVAL_CODES - 1]);
    } else if (table->number == TABLE_SPAN && column == SPAN_COL_KEY) {
        if (item->codes[code_of(TABLE_SPAN, SPAN_COL_KEY)] != CODE_NULL)
            sqlite3_result_text64(
                context,
                item->text_len ? (const char *)cursor->intervals->texts.bytes + item->text : "",
                item->text_len, SQLITE_STATIC, SQLITE_UTF8);
    } else {
        result_code(context, cursor->intervals,
                    item->codes[code_of(table->number, (unsigned)column)],
                    fixed_tables[table->number].columns[column].type);
    }
    return SQLITE_OK;
}

static int interval_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    const struct interval_cursor *cursor = container_of(base, struct interval_cursor, base);

    *ret_id = cursor->item - intervals_item(cursor->intervals, 0);
    return SQLITE_OK;
}

int interval_tables_register(struct query *query)
{
    static const sqlite3_module module = {
        .xConnect = fixed_vtab_connect,
        .xBestIndex = interval_best_index,
        .xDisconnect = fixed_vtab_disconnect,
        .xOpen = interval_open,
        .xClose = interval_close,
        .xFilter = interval_filter,
        .xNext = interval_next,
        .xEof = interval_eof,
        .xColumn = interval_column,
        .xRowid = interval_rowid,
    };
    int code = fixed_vtab_register(query, TABLE_SPAN, &module);

    return code == SQLITE_OK ? fixed_vtab_register(query, TABLE_STATE, &module) : code;
}
