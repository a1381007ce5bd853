/* SPDX-License-Identifier: MIT */
/* Sends a trace to ClickHouse, as the tables of tables/columns.h with columns for the traces of many hosts.
 *
 *   event                      all events: the columns of `event`, unix_ns, and the values of their fields, in three lists
 *                              of pairs: number.name and number.value, real.…, text.…
 *   span, state, loss, source, clock
 *                              as they are, with unix_ns and the number of the row
 *   trace                      a row for each trace that has arrived whole
 *
 * Each row has its host, the trace, the block in which it was sent (sender.h), and the day. Tables are partitioned by
 * day, and sorted by host and time of day (tables/calendar.h). strata-export(1) describes them.
 *
 * Rows of spans and states come in the order of their ends. Their day is the day of the end, which keeps blocks large,
 * because each block has one day. Their unix_ns is the time of the begin. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "export/clickhouse/clickhouse.h"
#include "export/clickhouse/sender.h"
#include "tables/sink.h"

/* Limits of a block: rows and bytes. */
#define BLOCK_ROWS_MAX (UINT64_C(1) << 18)
#define BLOCK_SIZE_MAX ((size_t)64 << 20)
/* Rows between two checks of its size. */
#define ROWS_PER_LOOK 1024u

#define WANTED                                                                \
    (TABLE_BIT(TABLE_SPAN) | TABLE_BIT(TABLE_STATE) | TABLE_BIT(TABLE_LOSS) | \
     TABLE_BIT(TABLE_SOURCE) | TABLE_BIT(TABLE_CLOCK))

/* The tables that are sent. */
enum { EVENTS, SPANS, STATES, LOSSES, SOURCES, CLOCKS, TRACES, N_TABLES };

/* Columns after the sender's. */
#define UNIX_NS SENDER_COLUMNS
#define FIRST (SENDER_COLUMNS + 1) /* of `event` */
#define FIXED_FIRST (FIRST + 1)    /* of others, after `row` */
/* The lists of fields, after the columns of `event`. */
enum {
    NUMBERS = FIRST + ALL_EVENT_COLUMNS,
    REALS = NUMBERS + 2,
    TEXTS = REALS + 2,
    EVENT_TABLE_COLUMNS = TEXTS + 2
};
#define COLUMNS_MAX 32

_Static_assert(CLICKHOUSE_TRACE_LEN == SENDER_TRACE_LEN, "one name of a trace");
_Static_assert(EVENT_TABLE_COLUMNS <= COLUMNS_MAX && FIXED_FIRST + FIXED_COLUMNS_MAX <= COLUMNS_MAX,
               "all columns have a place");

/* The list of a field, and its name in the list. */
struct field_plan {
    uint8_t list; /* NUMBERS, REALS or TEXTS */
    uint16_t len;
    const char *name;
};

struct exporter {
    struct sink sink;
    struct sink *tables; /* tables/sink.h */
    const struct export_options *options;
    const struct clickhouse_settings *settings;
    struct clickhouse *clickhouse;
    struct sender sender;
    bool is_open;
    struct sender_table sent[N_TABLES];
    struct native_column columns[N_TABLES][COLUMNS_MAX];
    struct row_buffer buffer, comm_buffer;
    struct arena arena;
    struct calendar calendar;
    uint64_t n_rows[FIXED_TABLES];
    uint64_t n_events, n_lost;
    bool has_lost_unknown;
};

/* ---- The columns ---- */

static const struct {
    const char *name;
    int number;
    enum fixed_table table;
} fixed[] = {
    {"span", SPANS, TABLE_SPAN},       {"state", STATES, TABLE_STATE}, {"loss", LOSSES, TABLE_LOSS},
    {"source", SOURCES, TABLE_SOURCE}, {"clock", CLOCKS, TABLE_CLOCK},
};
/* The sorting key of fixed tables. `row` numbers a trace's rows, because no other column is unique, and NULL cannot be
 * sorted by. */
#define FIXED_ORDER "host, unix_ns, trace, row"

static const char *const trace_columns[][2] = {
    {"unix_ns", "Int64"},  {"end_unix_ns", "Int64"}, {"day_is_known", "UInt8"}, {"name", "String"},
    {"version", "String"}, {"options", "String"},    {"events", "UInt64"},      {"spans", "UInt64"},
    {"states", "UInt64"},  {"lost", "UInt64"},       {"lost_unknown", "UInt8"},
};

static const char *type_of(const struct trace_column *column)
{
    switch (column->type) {
    case COLUMN_INTEGER: return column->nullable ? "Nullable(Int64)" : "Int64";
    case COLUMN_UNSIGNED: return column->nullable ? "Nullable(UInt64)" : "UInt64";
    case COLUMN_REAL: return column->nullable ? "Nullable(Float64)" : "Float64";
    case COLUMN_TEXT:
    case COLUMN_BLOB:
    case COLUMN_EITHER: break;
    }
    return column->nullable ? "Nullable(String)" : "String";
}

static void add_column(struct sender_table *table, const char *name, const char *type)
{
    table->block.columns[table->block.n_columns++] = (struct native_column){
        .name = name, .type = type, .nulls.fd = -1, .offsets.fd = -1, .values.fd = -1};
}

static struct sender_table *begin_table(struct exporter *exporter, int number, const char *name,
                                        const char *order)
{
    struct sender_table *table = &exporter->sent[number];

    *table = (struct sender_table){
        .name = name, .order = order, .block.columns = exporter->columns[number]};
    for (unsigned i = 0; i < SENDER_COLUMNS; i++)
        add_column(table, sender_columns[i].name, sender_columns[i].type);
    return table;
}

/* The `host` of a source is the recording host. The row's host may differ, by --host. */
static void add_columns(struct sender_table *table, const struct trace_table *from)
{
    for (unsigned i = 0; i < from->n_columns; i++) {
        const char *name = from->columns[i].name;

        add_column(table, strcmp(name, "host") == 0 ? "recorded_host" : name,
                   type_of(&from->columns[i]));
    }
}

static void make_tables(struct exporter *exporter)
{
    struct sender_table *table = begin_table(exporter, EVENTS, "event", "host, unix_ns, trace, id");

    add_column(table, "unix_ns", "Int64");
    add_columns(table, &fixed_tables[TABLE_EVENT]);
    add_column(table, "number.name", "Array(String)");
    add_column(table, "number.value", "Array(Int64)");
    add_column(table, "real.name", "Array(String)");
    add_column(table, "real.value", "Array(Float64)");
    add_column(table, "text.name", "Array(String)");
    add_column(table, "text.value", "Array(String)");
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
        table = begin_table(exporter, fixed[i].number, fixed[i].name, FIXED_ORDER);
        add_column(table, "unix_ns", "Int64");
        add_column(table, "row", "UInt64");
        add_columns(table, &fixed_tables[fixed[i].table]);
    }
    table = begin_table(exporter, TRACES, "trace", "host, unix_ns, trace");
    for (size_t i = 0; i < ARRAY_SIZE(trace_columns); i++)
        add_column(table, trace_columns[i][0], trace_columns[i][1]);
}

void clickhouse_put_schema(const char *database, const char *cluster, struct text *out)
{
    struct exporter *exporter = calloc(1, sizeof *exporter);

    if (!exporter) {
        out->error = -ENOMEM;
        return;
    }
    make_tables(exporter);
    sender_put_schema(exporter->sent, N_TABLES, database, cluster, out);
    free(exporter);
}

/* ---- Rows ---- */

static int fail(struct exporter *exporter, int r)
{
    return r == -ENOMEM ? export_no_memory(&exporter->sink.error) : r;
}

/* Begins a row of DAY in TABLE. Sends the earlier rows if their day differs or the block is full. */
static int begin_row(struct exporter *exporter, struct sender_table *table, uint16_t day)
{
    struct native_block *block = &table->block;
    bool is_full = block->n_rows >= BLOCK_ROWS_MAX || (block->n_rows % ROWS_PER_LOOK == 0 &&
                                                       native_block_size(block) >= BLOCK_SIZE_MAX);
    int r = 0;

    if (unlikely(block->n_rows > 0 && (is_full || day != table->day)))
        r = sender_flush(&exporter->sender, table, &exporter->sink.error);
    table->day = day;
    block->n_rows++;
    return r;
}

static void put_text_cell(struct native_column *column, const struct value *cell, bool either)
{
    char number[24];

    if (!cell->present)
        native_put_varint(&column->values, 0);
    else if (either && cell->len == 0)
        native_put_string(&column->values, number,
                          (size_t)snprintf(number, sizeof number, "%" PRId64, cell->i));
    else
        native_put_string(&column->values, cell->s, cell->len);
}

static inline void put_cell(struct native_column *column, const struct trace_column *definition,
                            const struct value *cell)
{
    if (definition->nullable)
        text_put_char(&column->nulls, !cell->present);
    if (definition->type == COLUMN_INTEGER || definition->type == COLUMN_UNSIGNED ||
        definition->type == COLUMN_REAL)
        native_put_u64(&column->values, cell->present ? cell->u : 0);
    else
        put_text_cell(column, cell, definition->type == COLUMN_EITHER);
}

static void put_cells(struct native_column *columns, const struct trace_table *table,
                      const struct value *cells)
{
    for (unsigned i = 0; i < table->n_columns; i++)
        put_cell(&columns[i], &table->columns[i], &cells[i]);
}

/* ---- Events ---- */

static int plan_fields(void *arg, struct event_table *table)
{
    struct exporter *exporter = arg;
    unsigned n = table->table.n_columns - EVENT_FIELDS;
    struct field_plan *plans = arena_alloc(&exporter->arena, (n + 1) * sizeof *plans);

    for (unsigned i = 0; i < n && plans; i++) {
        const struct trace_column *column = &table->table.columns[EVENT_FIELDS + i];
        struct text name = TEXT_IN_MEMORY;
        char *copy;

        native_put_string(&name, column->name, strlen(column->name));
        copy = name.error ? NULL : arena_alloc(&exporter->arena, text_len(&name));
        if (copy)
            memcpy(copy, name.start, text_len(&name));
        plans[i] = (struct field_plan){
            .list = column->type == COLUMN_INTEGER || column->type == COLUMN_UNSIGNED ? NUMBERS
                    : column->type == COLUMN_REAL                                     ? REALS
                                                                                      : TEXTS,
            .len = (uint16_t)text_len(&name),
            .name = copy,
        };
        text_done(&name);
        if (!copy)
            plans = NULL;
    }
    table->data = plans;
    return plans ? 0 : export_no_memory(&exporter->sink.error);
}

static inline void put_field(struct native_column *columns, const struct field_plan *plan,
                             const struct value *cell)
{
    struct native_column *names = &columns[plan->list], *values = names + 1;

    text_put(&names->values, plan->name, plan->len);
    names->elements++;
    if (plan->list == TEXTS)
        native_put_string(&values->values, cell->s, cell->len);
    else
        native_put_u64(&values->values, cell->u);
}

static void put_offsets(struct native_column *columns)
{
    for (unsigned i = NUMBERS; i < EVENT_TABLE_COLUMNS; i += 2) {
        native_put_u64(&columns[i].offsets, columns[i].elements);
        native_put_u64(&columns[i + 1].offsets, columns[i].elements);
    }
}

static int put_event(void *arg, const struct event_row *row)
{
    struct exporter *exporter = arg;
    struct sender_table *table = &exporter->sent[EVENTS];
    struct native_column *columns = table->block.columns;
    const struct field_plan *plans = row->table->data;
    struct value cells[EVENT_COLUMNS_MAX], all[ALL_EVENT_COLUMNS];
    unsigned n = row->table->table.n_columns - EVENT_FIELDS;
    int64_t unix_ns;
    int r;

    if (event_row_cells(row, &exporter->buffer, cells) < 0 ||
        all_event_cells(row, &exporter->comm_buffer, all) < 0)
        return export_no_memory(&exporter->sink.error);
    exporter->n_events++;
    unix_ns = calendar_event(&exporter->calendar, &all[ALL_EVENT_TIME]);
    r = begin_row(exporter, table, calendar_day(unix_ns));
    native_put_u64(&columns[UNIX_NS].values, (uint64_t)unix_ns);
    put_cells(columns + FIRST, &fixed_tables[TABLE_EVENT], all);
    for (unsigned i = 0; i < n; i++)
        if (cells[EVENT_FIELDS + i].present)
            put_field(columns, &plans[i], &cells[EVENT_FIELDS + i]);
    put_offsets(columns);
    return r;
}

/* ---- Other rows ---- */

static int put_row(void *arg, enum fixed_table number, const struct value *cells)
{
    static const struct value unknown;
    struct exporter *exporter = arg;
    struct sender_table *table = NULL;
    const struct value *begin = &unknown, *end = &unknown;
    int64_t unix_ns;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        if (fixed[i].table == number)
            table = &exporter->sent[fixed[i].number];
    if (!table)
        return 0;
    if (number == TABLE_LOSS) {
        const struct value *lost = &cells[LOSS_COL_LOST];

        exporter->n_lost = add_saturated(exporter->n_lost, lost->present ? lost->u : 0);
        exporter->has_lost_unknown |= !lost->present;
    }
    (void)fixed_row_times(number, cells, &begin, &end);
    unix_ns = calendar_cell(&exporter->calendar, begin);
    r = begin_row(exporter, table, calendar_day(calendar_cell(&exporter->calendar, end)));
    native_put_u64(&table->block.columns[UNIX_NS].values, (uint64_t)unix_ns);
    native_put_u64(&table->block.columns[UNIX_NS + 1].values, exporter->n_rows[number]++);
    put_cells(table->block.columns + FIXED_FIRST, &fixed_tables[number], cells);
    return r;
}

static void put_trace_row(struct exporter *exporter)
{
    struct native_column *columns = exporter->sent[TRACES].block.columns + SENDER_COLUMNS;
    const struct clickhouse_settings *settings = exporter->settings;
    const char *const texts[] = {settings->name, settings->version, settings->options};
    const uint64_t counts[] = {exporter->n_events, exporter->n_rows[TABLE_SPAN],
                               exporter->n_rows[TABLE_STATE], exporter->n_lost};
    unsigned i = 0;

    native_put_u64(&columns[i++].values,
                   (uint64_t)calendar_unix_ns(&exporter->calendar, exporter->calendar.first_ns));
    native_put_u64(&columns[i++].values,
                   (uint64_t)calendar_unix_ns(&exporter->calendar, exporter->calendar.last_ns));
    text_put_char(&columns[i++].values, exporter->calendar.is_known);
    for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
        native_put_string(&columns[i++].values, texts[k], strlen(texts[k]));
    for (size_t k = 0; k < ARRAY_SIZE(counts); k++)
        native_put_u64(&columns[i++].values, counts[k]);
    text_put_char(&columns[i].values, exporter->has_lost_unknown);
}

/* ---- The sink ---- */

static int clickhouse_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct exporter *exporter = container_of(sink, struct exporter, sink);
    int r = sink_put(exporter->tables, items, n);

    if (r < 0 && !sink->error.code)
        return sink_fail(sink, exporter->tables, fail(exporter, r));
    return r;
}

static int clickhouse_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(container_of(sink, struct exporter, sink)->tables, item);
}

static int clickhouse_finish(struct sink *sink)
{
    struct exporter *exporter = container_of(sink, struct exporter, sink);
    const struct clickhouse_settings *settings = exporter->settings;
    const struct error *problem = exporter->options->problem;
    const struct calendar *calendar = &exporter->calendar;
    int r = sink_finish(exporter->tables);

    if (r < 0 && !sink->error.code)
        return sink_fail(sink, exporter->tables, fail(exporter, r));
    for (int i = 0; i < TRACES && r == 0; i++)
        r = sender_flush(&exporter->sender, &exporter->sent[i], &sink->error);
    if (r == 0)
        r = sender_settle(&exporter->sender, &sink->error);
    /* What was not read to its end may become more when it is sent again: it is not whole. */
    if (r == 0 && !(problem && problem->code)) {
        r = begin_row(exporter, &exporter->sent[TRACES],
                      calendar_day(calendar_unix_ns(calendar, calendar->first_ns)));
        put_trace_row(exporter);
        if (r == 0)
            r = sender_flush(&exporter->sender, &exporter->sent[TRACES], &sink->error);
    }
    if (settings->ret_sent)
        for (int i = 0; i < TRACES; i++) {
            *settings->ret_sent += exporter->sent[i].n_sent;
            *settings->ret_found += exporter->sent[i].n_found;
        }
    return r;
}

static void clickhouse_sink_free(struct sink *sink)
{
    struct exporter *exporter = container_of(sink, struct exporter, sink);

    sink_free(exporter->tables);
    if (exporter->is_open)
        sender_done(&exporter->sender);
    for (int i = 0; i < N_TABLES; i++)
        native_block_done(&exporter->sent[i].block);
    clickhouse_free(exporter->clickhouse);
    row_buffer_done(&exporter->buffer);
    row_buffer_done(&exporter->comm_buffer);
    arena_done(&exporter->arena);
    free(exporter);
}

static int connect_server(struct exporter *exporter, struct error *error)
{
    const struct clickhouse_settings *settings = exporter->settings;
    struct sender_options options = {
        .host = exporter->options->host,
        .trace = settings->trace,
        .retry_s = settings->retry_s,
        .stop = settings->stop,
        .report = settings->report,
        .report_arg = settings->report_arg,
        .variant = (uint32_t)hash_bytes(settings->options, strlen(settings->options)),
    };
    int r = clickhouse_open(settings->url, &settings->login, &exporter->clickhouse, error);

    if (r < 0)
        return r;
    options.clickhouse = exporter->clickhouse;
    exporter->is_open = true;
    r = sender_open(&exporter->sender, &options, exporter->sent, N_TABLES, error);
    if (settings->replace && (r == 0 || r == -EEXIST)) {
        error_clear(error);
        r = sender_remove(&exporter->sender, error);
    }
    if (r == 0)
        *settings->ret_is_complete = exporter->sender.is_complete;
    return r;
}

int export_clickhouse_open(const struct export_options *options, struct sink **ret_sink,
                           struct error *error)
{
    static const struct sink_ops sink_ops = {.put = clickhouse_put,
                                             .begin_loss = clickhouse_begin_loss,
                                             .finish = clickhouse_finish,
                                             .free = clickhouse_sink_free};
    static const struct tables_ops tables_ops = {
        .table = plan_fields, .event = put_event, .row = put_row};
    struct exporter *exporter = calloc(1, sizeof *exporter);
    struct tables_options tables_options;
    int r;

    if (!exporter)
        return export_no_memory(error);
    exporter->sink.ops = &sink_ops;
    exporter->options = options;
    exporter->settings = options->clickhouse;
    exporter->calendar = options->calendar;
    export_tables_options(options, WANTED, &tables_options);
    row_buffer_init(&exporter->buffer);
    row_buffer_init(&exporter->comm_buffer);
    make_tables(exporter);
    r = connect_server(exporter, error);
    if (r == 0)
        r = tables_sink_open(&tables_options, &tables_ops, exporter, &exporter->tables, error);
    if (r < 0) {
        clickhouse_sink_free(&exporter->sink);
        return r;
    }
    *ret_sink = &exporter->sink;
    return 0;
}
