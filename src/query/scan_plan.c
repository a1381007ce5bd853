/* SPDX-License-Identifier: MIT */
/* Decides which conditions of a query a scan of events takes over from SQLite, and applies them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/scan_table.h"

/* The letter of COLUMN if a scan can check it, otherwise 0. */
static char column_letter(const struct scan_table *table, int column)
{
    static const char common[] = {
        [EVENT_TIME] = 't', [EVENT_SOURCE] = 's', [EVENT_CPU] = 'c', [EVENT_PID] = 'p'};
    static const char all[] = {
        [ALL_EVENT_TIME] = 't', [ALL_EVENT_SOURCE] = 's', [ALL_EVENT_CPU] = 'c',
        [ALL_EVENT_PID] = 'p',  [ALL_EVENT_LAYER] = 'L',  [ALL_EVENT_GROUP] = 'G',
        [ALL_EVENT_EVENT] = 'E'};

    if (column < 0)
        return 0;
    if (table->module->family)
        return (size_t)column < sizeof common ? common[column] : 0;
    return (size_t)column < sizeof all ? all[column] : 0;
}

static char operation_letter(char column, unsigned char op)
{
    bool is_text = column == 'L' || column == 'G' || column == 'E';

    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE: return is_text ? 0 : '>';
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE: return is_text ? 0 : '<';
    case SQLITE_INDEX_CONSTRAINT_GLOB: return is_text ? 'G' : 0;
    case SQLITE_INDEX_CONSTRAINT_LIKE: return is_text ? 'K' : 0;
    default: return 0;
    }
}

/* Returns constraint number I as an operation, or 0 if SQLite must check it; and the letter of its column. */
static char look_at_constraint(const struct scan_table *table, sqlite3_index_info *info, int i,
                               char *ret_column)
{
    int number = info->aConstraint[i].iColumn;
    char column, op;

    if (!info->aConstraint[i].usable || number < 0)
        return 0;
    column = column_letter(table, number);
    op = operation_letter(column, info->aConstraint[i].op);
    *ret_column = column ? column : '-';
    if (!op || strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
        return 0;
    if (op != '=' || !sqlite3_vtab_in(info, i, -1))
        return op;
    if (!column || column == 't')
        return 0;
    sqlite3_vtab_in(info, i, 1);
    return 'i';
}

static double rows_of(const struct scan_table *table)
{
    const struct tables_class *class =
        table->query->tables ? tables_sink_classes(table->query->tables) : NULL;
    double n = 0;

    if (!class)
        return table->module->family ? 1e5 : 1e6;
    for (; class; class = class->next)
        if (!table->module->family || class->table->family == table->module->family)
            n += (double)class->n_events;
    return n + 1;
}

int scan_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct scan_table *table = container_of(base, struct scan_table, base);
    double rows = rows_of(table);
    double cost = table->query->n_items ? (double)table->query->n_items : 1e6;
    int size = info->nConstraint * PLAN_TERM + PLAN_USED + 1;
    char *plan = sqlite3_malloc(size);
    char *next = plan + PLAN_USED;
    int n = 0;

    if (!plan)
        return SQLITE_NOMEM;
    snprintf(plan, (size_t)size, "%016llx", (unsigned long long)info->colUsed);
    for (int i = 0; i < info->nConstraint; i++) {
        char column;
        char op = look_at_constraint(table, info, i, &column);

        if (!op)
            continue;
        next += snprintf(next, PLAN_TERM + 1, "%c%c%04x", op, column,
                         (unsigned)info->aConstraint[i].iColumn & 0xffff);
        info->aConstraintUsage[i].argvIndex = ++n;
        rows *= op == '=' ? 0.1 : 0.3;
        if (column == 't')
            cost *= op == '=' ? 0.1 : 0.5;
    }
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)rows + 1;
    info->estimatedCost = cost + rows + 10000;
    info->orderByConsumed =
        info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn == EVENT_ID;
    info->idxNum = info->orderByConsumed;
    return SQLITE_OK;
}

static void set_number(struct scan_set *set, sqlite3_value *value, bool *exact)
{
    double real;

    if (sqlite3_value_type(value) == SQLITE_FLOAT) {
        real = sqlite3_value_double(value);
        if (real != floor(real) || fabs(real) > 9e15)
            return;
    } else if (sqlite3_value_type(value) != SQLITE_INTEGER) {
        *exact = *exact && sqlite3_value_type(value) == SQLITE_NULL;
        return;
    }
    if (set->n < SCAN_SET_MAX)
        set->values[set->n] = sqlite3_value_int64(value);
    set->n++;
}

/* Narrows SET, which must be unrestricted, to VALUE, or to the values of a list. */
static void narrow_set(struct scan_set *set, char op, sqlite3_value *value)
{
    sqlite3_value *each = NULL;
    bool exact = true;

    if (set->given)
        return;
    set->n = 0;
    if (op == '=')
        set_number(set, value, &exact);
    else
        for (int code = sqlite3_vtab_in_first(value, &each); code == SQLITE_OK && each;
             code = sqlite3_vtab_in_next(value, &each))
            set_number(set, each, &exact);
    /* Texts may be equal to numbers by SQLite's rules. */
    set->given = exact && set->n <= SCAN_SET_MAX;
}

static int add_text(struct scan_pattern *pattern, sqlite3_value *value, bool *exact)
{
    const char *s;
    size_t len;
    char *bigger;

    if (sqlite3_value_type(value) == SQLITE_NULL)
        return 0;
    s = (const char *)sqlite3_value_text(value);
    if (!s)
        return -ENOMEM;
    len = strlen(s) + 1;
    *exact = *exact && len == (size_t)sqlite3_value_bytes(value) + 1;
    bigger = realloc(pattern->text, pattern->len + len);
    if (!bigger)
        return -ENOMEM;
    memcpy(bigger + pattern->len, s, len);
    pattern->text = bigger;
    pattern->len += len;
    return 0;
}

static int narrow_text(struct scan_filter *filter, enum scan_text what, char op,
                       sqlite3_value *value)
{
    struct scan_pattern pattern = {.what = what, .op = op};
    sqlite3_value *each = NULL;
    bool exact = true;
    int r = 0;

    if (filter->n_patterns == SCAN_TEXTS)
        return 0;
    if (op != 'i')
        r = add_text(&pattern, value, &exact);
    else
        for (int code = sqlite3_vtab_in_first(value, &each); code == SQLITE_OK && each && r == 0;
             code = sqlite3_vtab_in_next(value, &each))
            r = add_text(&pattern, each, &exact);
    if (r == 0 && exact && (pattern.text || op == 'i')) {
        filter->patterns[filter->n_patterns++] = pattern;
        return 0;
    }
    free(pattern.text);
    return r;
}

static void narrow_time(struct scan_filter *filter, char op, sqlite3_value *value)
{
    double real = sqlite3_value_double(value);
    bool is_integer = sqlite3_value_type(value) == SQLITE_INTEGER;
    int64_t low, high;

    if (!is_integer && sqlite3_value_type(value) != SQLITE_FLOAT)
        return;
    /* Doubles are within 1024 of any time. */
    low = is_integer       ? sqlite3_value_int64(value)
          : real > 9.2e18  ? INT64_MAX
          : real < -9.2e18 ? INT64_MIN
                           : (int64_t)floor(real) - 1024;
    high = is_integer       ? sqlite3_value_int64(value)
           : real > 9.2e18  ? INT64_MAX
           : real < -9.2e18 ? INT64_MIN
                            : (int64_t)ceil(real) + 1024;
    if (op != '<')
        filter->from = MAX(filter->from, low);
    if (op != '>')
        filter->to = MIN(filter->to, high);
}

int scan_narrow(struct scan_filter *filter, char op, char column, sqlite3_value *value)
{
    if (op != 'i' && sqlite3_value_type(value) == SQLITE_NULL)
        filter->nothing = true;
    switch (column) {
    case 't': narrow_time(filter, op, value); return 0;
    case 's': narrow_set(&filter->sources, op, value); return 0;
    case 'c': narrow_set(&filter->cpus, op, value); return 0;
    case 'p': narrow_set(&filter->pids, op, value); return 0;
    case 'L': return narrow_text(filter, SCAN_LAYER, op, value);
    case 'G': return narrow_text(filter, SCAN_GROUP, op, value);
    default: return narrow_text(filter, SCAN_EVENT, op, value);
    }
}
