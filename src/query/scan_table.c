/* SPDX-License-Identifier: MIT */
/* The tables of events, each LAYER_NAME and its variants, and those of all events: `event`, also called `events`, and
 * `events_json`. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "print/json.h"
#include "query/scan.h"
#include "tables/sqlite_cell.h"

/* SQLite's limit of columns. */
#define COLUMNS_MAX 1900

struct scan_module {
    struct query *query;
    const struct event_family *family; /* NULL: all events */
    const struct event_table *variant; /* NULL: all variants */
    bool fields;                       /* events_json */
};

/* Where each column of a table of several variants is in one of them. */
struct variant_columns {
    const struct event_table *table;
    int16_t *columns; /* -1: it has none */
};

struct scan_table {
    sqlite3_vtab base;
    struct query *query;
    const struct scan_module *module;
    struct trace_column *columns;
    unsigned n_columns;
    struct variant_columns *variants;
    unsigned n_variants;
};

struct scan_cursor {
    sqlite3_vtab_cursor base;
    struct scan_table *table;
    struct scan scan;
    struct row_buffer buffer;
};

/* ---- Columns ---- */

static int find_column(const struct scan_table *table, const char *name)
{
    for (unsigned i = 0; i < table->n_columns; i++)
        if (strcasecmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Adds the columns of VARIANT that the table has not yet, and notes where all are. */
static int add_variant(struct scan_table *table, const struct event_table *variant)
{
    const struct trace_table *of = &variant->table;
    struct variant_columns *variants =
        realloc(table->variants, (table->n_variants + 1) * sizeof *variants);
    struct trace_column *columns;

    if (!variants)
        return SQLITE_NOMEM;
    table->variants = variants;
    columns = realloc(table->columns, (table->n_columns + of->n_columns) * sizeof *columns);
    if (!columns)
        return SQLITE_NOMEM;
    table->columns = columns;
    for (unsigned i = 0; i < of->n_columns && table->n_columns < COLUMNS_MAX; i++)
        if (find_column(table, of->columns[i].name) < 0)
            table->columns[table->n_columns++] = of->columns[i];
    variants[table->n_variants++] = (struct variant_columns){.table = variant};
    return SQLITE_OK;
}

/* Once all columns are known. A column whose variants differ in type has values of each. */
static int place_columns(struct scan_table *table)
{
    for (unsigned v = 0; v < table->n_variants; v++) {
        struct variant_columns *variant = &table->variants[v];

        variant->columns = malloc((table->n_columns + 1) * sizeof *variant->columns);
        if (!variant->columns)
            return SQLITE_NOMEM;
        for (unsigned i = 0; i < table->n_columns; i++) {
            int column = trace_table_column(&variant->table->table, table->columns[i].name);

            variant->columns[i] = (int16_t)column;
            if (column >= 0 && table->n_variants > 1 && i >= EVENT_FIELDS)
                table->columns[i].type = COLUMN_EITHER;
        }
    }
    return SQLITE_OK;
}

static int make_columns(struct scan_table *table, const struct scan_module *module)
{
    const struct trace_table *all = &fixed_tables[TABLE_EVENT];
    int code = SQLITE_OK;

    if (module->variant)
        code = add_variant(table, module->variant);
    else if (module->family)
        for (const struct event_table *variant = module->family->first;
             variant && code == SQLITE_OK; variant = variant->next_variant)
            code = add_variant(table, variant);
    if (module->family)
        return code == SQLITE_OK ? place_columns(table) : code;
    table->columns = malloc((all->n_columns + 1) * sizeof *table->columns);
    if (!table->columns)
        return SQLITE_NOMEM;
    memcpy(table->columns, all->columns, all->n_columns * sizeof *table->columns);
    table->n_columns = all->n_columns;
    if (module->fields)
        table->columns[table->n_columns++] =
            (struct trace_column){.name = "fields", .type = COLUMN_TEXT};
    return SQLITE_OK;
}

static int scan_disconnect(sqlite3_vtab *base)
{
    struct scan_table *table = container_of(base, struct scan_table, base);

    for (unsigned i = 0; i < table->n_variants; i++)
        free(table->variants[i].columns);
    free(table->variants);
    free(table->columns);
    free(table);
    return SQLITE_OK;
}

static int scan_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                        sqlite3_vtab **ret_table, char **ret_error)
{
    const struct scan_module *module = arg;
    struct scan_table *table = calloc(1, sizeof *table);
    int code;

    (void)db;
    (void)argc;
    (void)argv;
    (void)ret_error;
    if (!table)
        return SQLITE_NOMEM;
    table->query = module->query;
    table->module = module;
    code = make_columns(table, module);
    if (code == SQLITE_OK)
        code = declare_columns(module->query, table->columns, table->n_columns);
    if (code != SQLITE_OK) {
        scan_disconnect(&table->base);
        return code;
    }
    *ret_table = &table->base;
    return SQLITE_OK;
}

/* ---- What is looked for: pairs of letters, an operation and what it is on, for each argument ---- */

/* The letter of COLUMN, if a scan can look at it; 0: it cannot. */
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
    case SQLITE_INDEX_CONSTRAINT_GE: return column == 't' ? '>' : 0;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE: return column == 't' ? '<' : 0;
    case SQLITE_INDEX_CONSTRAINT_GLOB: return is_text ? 'G' : 0;
    case SQLITE_INDEX_CONSTRAINT_LIKE: return is_text ? 'K' : 0;
    default: return 0;
    }
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

static int scan_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct scan_table *table = container_of(base, struct scan_table, base);
    double rows = rows_of(table);
    double cost = table->query->n_items ? (double)table->query->n_items : 1e6;
    char *plan = sqlite3_malloc64((sqlite3_uint64)info->nConstraint * 2 + 1);
    unsigned n = 0;

    if (!plan)
        return SQLITE_NOMEM;
    for (int i = 0; i < info->nConstraint; i++) {
        char column =
            info->aConstraint[i].usable ? column_letter(table, info->aConstraint[i].iColumn) : 0;
        char op = column ? operation_letter(column, info->aConstraint[i].op) : 0;

        if (!op)
            continue;
        if (op == '=' && column != 't' && sqlite3_vtab_in(info, i, -1)) {
            sqlite3_vtab_in(info, i, 1);
            op = 'i';
        }
        plan[2 * n] = op;
        plan[2 * n + 1] = column;
        info->aConstraintUsage[i].argvIndex = (int)++n;
        rows *= op == '=' ? 0.1 : 0.3;
        if (column == 't' && op != '<')
            cost *= op == '=' ? 0.1 : 0.5;
        else if (column == 't')
            cost *= 0.5;
    }
    plan[2 * n] = '\0';
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)(info->colUsed & 1); /* ids are needed */
    info->estimatedRows = (sqlite3_int64)rows + 1;
    info->estimatedCost = cost + rows + 10000;
    info->orderByConsumed =
        info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn == EVENT_ID;
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

/* Narrows SET, which nothing else has, to VALUE, or to the values of a list. */
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

static int narrow(struct scan_filter *filter, char op, char column, sqlite3_value *value)
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

/* ---- The cursor ---- */

static int scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    struct scan_cursor *cursor = calloc(1, sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    cursor->table = container_of(base, struct scan_table, base);
    cursor->scan.query = cursor->table->query;
    row_buffer_init(&cursor->buffer);
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int scan_close(sqlite3_vtab_cursor *base)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);

    query_scan_filter_clear(&cursor->scan.filter);
    query_scan_end(&cursor->scan);
    row_buffer_done(&cursor->buffer);
    free(cursor);
    return SQLITE_OK;
}

static int scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                       sqlite3_value **argv)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);
    struct scan_table *table = cursor->table;
    struct scan_filter *filter = &cursor->scan.filter;
    int r = 0;

    query_scan_filter_clear(filter);
    filter->family = table->module->family;
    filter->table = table->module->variant;
    filter->needs_ids = number;
    for (int i = 0; i < argc && r == 0; i++)
        r = narrow(filter, plan[2 * i], plan[2 * i + 1], argv[i]);
    if (r == 0)
        r = query_scan_start(&cursor->scan);
    return r < 0 ? table_failed(table->query, &table->base, r) : SQLITE_OK;
}

static int scan_advance(sqlite3_vtab_cursor *base)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);
    int r = query_scan_next(&cursor->scan);

    return r < 0 ? table_failed(cursor->table->query, &cursor->table->base, r) : SQLITE_OK;
}

static int scan_eof(sqlite3_vtab_cursor *base)
{
    return !container_of(base, struct scan_cursor, base)->scan.item;
}

/* The name of the event's thread, as it is known at the end of the trace: as in the table `thread`. */
static int result_comm(struct scan_cursor *cursor, sqlite3_context *context)
{
    struct query *query = cursor->table->query;
    const struct item *item = cursor->scan.item;
    const struct value *cell;
    const char *name;
    int r;

    if (!item->origin->comm) {
        name = item_task_name(item);
        if (name && *name)
            sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    r = query_survey(query);
    if (r < 0)
        return table_failed(query, &cursor->table->base, r);
    cell = query_thread_name(query, cursor->scan.source, item->pid);
    if (cell)
        sqlite3_result_text64(context, cell->s, cell->len, SQLITE_STATIC, SQLITE_UTF8);
    return SQLITE_OK;
}

static int result_fields(struct scan_cursor *cursor, sqlite3_context *context)
{
    struct text *text = &cursor->buffer.text;

    text->next = text->start;
    json_put_fields(text, cursor->scan.item);
    if (text->error)
        return SQLITE_NOMEM;
    sqlite3_result_text64(context, text->start, text_len(text), SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
}

static int scan_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct scan_cursor *cursor = container_of(base, struct scan_cursor, base);
    const struct scan_table *table = cursor->table;
    const struct scan *scan = &cursor->scan;
    const struct event_row row = {.table = scan->class->table,
                                  .item = scan->item,
                                  .id = scan->id,
                                  .source = scan->source,
                                  .errors = table->query->options.errors};
    const struct variant_columns *variant = table->variants;
    enum column_type type;
    struct value cell;
    int r;

    if (!table->module->family) {
        if (column == ALL_EVENT_COMM)
            return result_comm(cursor, context);
        if (column == ALL_EVENT_COLUMNS)
            return result_fields(cursor, context);
        r = all_event_cell(&row, (unsigned)column, &cursor->buffer, &cell);
        type = fixed_tables[TABLE_EVENT].columns[column].type;
    } else {
        while (variant->table != row.table)
            variant++;
        column = variant->columns[column];
        if (column < 0)
            return SQLITE_OK;
        r = event_row_cell(&row, (unsigned)column, &cursor->buffer, &cell);
        type = row.table->table.columns[column].type;
    }
    if (r < 0)
        return SQLITE_NOMEM;
    /* SQLite may keep a text while the scan goes on. */
    sqlite_result_cell(context, type, &cell, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int scan_row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = query_scan_rowid(&container_of(base, struct scan_cursor, base)->scan);
    return SQLITE_OK;
}

/* ---- Registration ---- */

static const sqlite3_module module = {
    .xConnect = scan_connect,
    .xBestIndex = scan_best_index,
    .xDisconnect = scan_disconnect,
    .xOpen = scan_open,
    .xClose = scan_close,
    .xFilter = scan_filter,
    .xNext = scan_advance,
    .xEof = scan_eof,
    .xColumn = scan_column,
    .xRowid = scan_row_number,
};

static int add_module(struct query *query, const char *name, const struct event_family *family,
                      const struct event_table *variant, bool fields)
{
    struct scan_module *arg = arena_alloc(&query->arena, sizeof *arg);

    if (!arg)
        return SQLITE_NOMEM;
    *arg = (struct scan_module){query, family, variant, fields};
    return sqlite3_create_module(query->db, name, &module, arg);
}

int scan_tables_register(struct query *query)
{
    int code = add_module(query, fixed_tables[TABLE_EVENT].name, NULL, NULL, false);

    if (code == SQLITE_OK)
        code = add_module(query, "events", NULL, NULL, false);
    return code == SQLITE_OK ? add_module(query, "events_json", NULL, NULL, true) : code;
}

int scan_tables_register_events(struct query *query)
{
    int code = SQLITE_OK;

    for (const struct event_family *family = query->events->first_family;
         family && code == SQLITE_OK; family = family->next) {
        bool has_variants = family->first->next_variant;

        code = add_module(query, family->name, family, NULL, false);
        for (const struct event_table *table = family->first;
             has_variants && table && code == SQLITE_OK; table = table->next_variant)
            code = add_module(query, table->sql_name, family, table, false);
    }
    return code;
}
