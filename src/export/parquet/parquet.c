/* SPDX-License-Identifier: MIT */
/* Writes a directory of Parquet files with Hive's partitions, which DuckDB, Spark and ClickHouse can read:
 *
 *   event/host=HOST/day=YYYY-MM-DD/layer=LAYER/event=NAME/part-N.parquet
 *                the events of one table (tables/event_table.h), number N; classes of an event with other fields are other
 *                parts
 *   TABLE/host=HOST/day=YYYY-MM-DD/part-0.parquet
 *                the rows of a fixed table (tables/columns.h): span, state, loss, source, …; each has a file
 *
 * The first column is unix_ns, the time of day; for a span or a state, of its begin. The table's columns follow. The
 * day (UTC) is the day of unix_ns, except that spans and states have the day of their end, because rows come in that
 * order. Tables without times have the first event's day. A column with the name of a partition (host, day, layer,
 * event) has the prefix `field_`, or `recorded_` in a fixed table.
 *
 * The metadata of each file states the whole trace's identifier, how exact its times are, and what it lost
 * (strata-export(1)).
 *
 * Memory holds HELD_MAX bytes of rows, however many files there are. The largest parts are written first. */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/saturate.h"
#include "export/export.h"
#include "export/parquet/file.h"
#include "tables/calendar.h"

#define HELD_MAX ((size_t)64 << 20)
#define NUMBER_SIZE 24u
/* Longest value of a partition, escaped; a file name may have 255 bytes. */
#define VALUE_MAX 200u
#define COLUMN_NAME_MAX 300u
#define WANTED ((TABLE_BIT(FIXED_TABLES) - 1) & ~TABLE_BIT(TABLE_EVENT))

/* The rows of a table on one day. */
struct part {
    struct parquet_file file;
    uint16_t day;
    struct part *next_day; /* of the same table */
    struct part *next;     /* all parts */
};

struct dataset {
    const struct trace_table *table;
    const struct event_table *events; /* NULL for a fixed table */
    const char **names;               /* of the columns of `table` */
    struct part *parts;
};

struct exporter {
    struct sink sink;
    struct sink *tables;
    const struct export_options *options;
    struct parquet_writer writer;
    struct row_buffer buffer;
    struct arena arena;
    struct calendar calendar;
    int dir;
    size_t held; /* in bytes */
    bool has_error, has_error_unknown, has_lost_unknown;
    int64_t error_ns; /* largest error of a time */
    uint64_t n_losses, n_lost;
    struct part *parts, *last;
    struct dataset fixed[FIXED_TABLES];
};

static int fail(struct exporter *exporter, int r)
{
    if (r == -ENOMEM)
        return export_no_memory(&exporter->sink.error);
    return error_set(&exporter->sink.error, r, exporter->options->name, "cannot write: %s",
                     error_text(r));
}

/* ---- Names ---- */

/* Puts "/KEY=VALUE", escaped as Hive does, so that no VALUE leaves its directory. */
static void put_partition(struct text *path, const char *key, const char *value)
{
    size_t end;

    text_put_char(path, '/');
    text_put_str(path, key);
    text_put_char(path, '=');
    if (!*value)
        text_put_literal(path, "__HIVE_DEFAULT_PARTITION__");
    end = text_len(path) + VALUE_MAX;
    for (; *value && text_len(path) + 3 <= end; value++) {
        unsigned char c = (unsigned char)*value;

        if (c <= ' ' || c >= 0x7f || strchr("\"#%'*/:=?\\{}[]^", c))
            text_printf(path, "%%%02X", c);
        else
            text_put_char(path, (char)c);
    }
}

static bool is_partition(const char *name)
{
    static const char *const keys[] = {"host", "day", "layer", "event", "unix_ns"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcasecmp(name, keys[i]) == 0)
            return true;
    return false;
}

static const char *column_name(struct exporter *exporter, const struct dataset *dataset,
                               unsigned column)
{
    const char *name = dataset->table->columns[column].name;
    char buf[COLUMN_NAME_MAX + 32];
    bool is_field = dataset->events != NULL;

    /* layer and event are partitions of events alone. */
    if (!is_partition(name) ||
        (!is_field && (strcasecmp(name, "layer") == 0 || strcasecmp(name, "event") == 0)))
        return name;
    snprintf(buf, sizeof buf, "%s_%.*s", is_field ? "field" : "recorded", (int)COLUMN_NAME_MAX,
             name);
    for (unsigned i = 2; trace_table_column(dataset->table, buf) >= 0; i++)
        snprintf(buf, sizeof buf, "%s_%.*s_%u", is_field ? "field" : "recorded",
                 (int)COLUMN_NAME_MAX, name, i);
    return arena_strdup(&exporter->arena, buf);
}

static int name_columns(struct exporter *exporter, struct dataset *dataset)
{
    unsigned n = dataset->table->n_columns;

    dataset->names = arena_alloc(&exporter->arena, (n + 1) * sizeof *dataset->names);
    for (unsigned i = 0; i < n && dataset->names; i++) {
        dataset->names[i] = column_name(exporter, dataset, i);
        if (!dataset->names[i])
            return -ENOMEM;
    }
    return dataset->names ? 0 : -ENOMEM;
}

/* ---- Files ---- */

/* Makes the directories in PATH, which is relative to DIR. */
static int make_parents(int dir, char *path)
{
    for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        int r;

        *p = '\0';
        r = mkdirat(dir, path, 0777) < 0 && errno != EEXIST ? -errno : 0;
        *p = '/';
        if (r < 0)
            return r;
    }
    return 0;
}

static void put_path(struct exporter *exporter, const struct dataset *dataset, uint16_t day,
                     struct text *path)
{
    char buf[CALENDAR_DAY_SIZE];

    text_put_str(path, dataset->events ? "event" : dataset->table->name);
    put_partition(path, "host", exporter->options->host);
    put_partition(path, "day", calendar_day_text(day, buf));
    if (dataset->events) {
        const struct event_class *class = dataset->events->class;

        put_partition(path, "layer", layer_name(class->origin->layer));
        put_partition(path, "event", class->name);
        text_printf(path, "/part-%u.parquet", dataset->events->number);
    } else {
        text_put_literal(path, "/part-0.parquet");
    }
    text_put_char(path, '\0');
}

static int make_columns(const struct dataset *dataset, struct parquet_file *file)
{
    unsigned n = dataset->table->n_columns + 1;

    file->columns = calloc(n, sizeof *file->columns);
    if (!file->columns)
        return -ENOMEM;
    file->n_columns = n;
    for (unsigned i = 0; i < n; i++) {
        struct parquet_column *column = &file->columns[i];

        column->nulls = column->values = column->lengths = TEXT_IN_MEMORY;
        column->name = i ? dataset->names[i - 1] : "unix_ns";
        column->type = i ? dataset->table->columns[i - 1].type : COLUMN_INTEGER;
        /* A short record lacks its last fields, whatever the column says. */
        column->nullable =
            i && (dataset->table->columns[i - 1].nullable || (dataset->events && i > EVENT_FIELDS));
    }
    return 0;
}

static int make_part(struct exporter *exporter, struct dataset *dataset, uint16_t day,
                     struct part **ret_part)
{
    struct text path = TEXT_IN_MEMORY;
    struct part *part = calloc(1, sizeof *part);
    int r;

    if (!part)
        return -ENOMEM;
    part->file.group = TEXT_IN_MEMORY;
    part->day = day;
    r = make_columns(dataset, &part->file);
    put_path(exporter, dataset, day, &path);
    if (r == 0)
        r = path.error ? -ENOMEM : make_parents(exporter->dir, path.start);
    if (r < 0) {
        text_done(&path);
        parquet_file_done(&part->file);
        free(part);
        return r;
    }
    part->file.path = path.start;
    part->next_day = dataset->parts;
    dataset->parts = part;
    *(exporter->last ? &exporter->last->next : &exporter->parts) = part;
    exporter->last = part;
    *ret_part = part;
    return 0;
}

static int get_part(struct exporter *exporter, struct dataset *dataset, uint16_t day,
                    struct part **ret_part)
{
    for (struct part *part = dataset->parts; part; part = part->next_day)
        if (likely(part->day == day)) {
            *ret_part = part;
            return 0;
        }
    return make_part(exporter, dataset, day, ret_part);
}

static int flush(struct exporter *exporter, struct part *part)
{
    exporter->held -= part->file.size;
    return parquet_flush(&exporter->writer, &part->file, exporter->dir);
}

/* Writes the parts that hold most, until half of the memory is free. */
static int make_room(struct exporter *exporter)
{
    int r = 0;

    while (r == 0 && exporter->held > HELD_MAX / 2) {
        struct part *largest = exporter->parts;

        for (struct part *part = exporter->parts; part; part = part->next)
            if (part->file.size > largest->file.size)
                largest = part;
        r = flush(exporter, largest);
    }
    return r;
}

/* ---- Rows ---- */

static void note_error(struct exporter *exporter, const struct value *error_ns)
{
    exporter->has_error_unknown |= exporter->options->errors && !error_ns->present;
    if (!error_ns->present)
        return;
    exporter->has_error = true;
    exporter->error_ns = MAX(exporter->error_ns, error_ns->i);
}

static void note_loss(struct exporter *exporter, const struct value *cells)
{
    const struct value *lost = &cells[LOSS_COL_LOST];

    note_error(exporter, &cells[LOSS_COL_ERROR]);
    exporter->n_losses++;
    exporter->n_lost = add_saturated(exporter->n_lost, lost->present ? lost->u : 0);
    exporter->has_lost_unknown |= !lost->present;
}

static int put_cells(struct exporter *exporter, struct dataset *dataset, int64_t unix_ns,
                     uint16_t day, const struct value *cells)
{
    const struct value first = cell_integer(unix_ns);
    struct part *part;
    size_t before;
    int r = get_part(exporter, dataset, day, &part);

    if (r < 0)
        return fail(exporter, r);
    before = part->file.size;
    parquet_put(&part->file, 0, &first);
    for (unsigned i = 0; i < dataset->table->n_columns; i++)
        parquet_put(&part->file, i + 1, &cells[i]);
    exporter->held += part->file.size - before;
    if (++part->file.n_rows == PARQUET_ROWS_MAX)
        r = flush(exporter, part);
    if (r == 0 && exporter->held > HELD_MAX)
        r = make_room(exporter);
    return r < 0 ? fail(exporter, r) : 0;
}

static uint16_t first_day(struct exporter *exporter)
{
    const struct value first = cell_integer(exporter->calendar.first_ns);

    return calendar_day(calendar_cell(&exporter->calendar, &first));
}

static int add_table(void *arg, struct event_table *table)
{
    struct exporter *exporter = arg;
    struct dataset *dataset = arena_alloc(&exporter->arena, sizeof *dataset);

    if (!dataset)
        return fail(exporter, -ENOMEM);
    *dataset = (struct dataset){.table = &table->table, .events = table};
    table->data = dataset;
    return name_columns(exporter, dataset) < 0 ? fail(exporter, -ENOMEM) : 0;
}

static int put_event(void *arg, const struct event_row *row)
{
    struct exporter *exporter = arg;
    struct value cells[EVENT_COLUMNS_MAX];
    int64_t unix_ns;

    if (event_row_cells(row, &exporter->buffer, cells) < 0)
        return fail(exporter, -ENOMEM);
    note_error(exporter, &cells[EVENT_ERROR]);
    unix_ns = calendar_event(&exporter->calendar, &cells[EVENT_TIME]);
    return put_cells(exporter, row->table->data, unix_ns, calendar_day(unix_ns), cells);
}

static int put_row(void *arg, enum fixed_table number, const struct value *cells)
{
    static const struct value unknown;
    struct exporter *exporter = arg;
    const struct value *begin = &unknown, *end = &unknown;
    bool has_times = fixed_row_times(number, cells, &begin, &end);
    int64_t unix_ns = calendar_cell(&exporter->calendar, begin);
    uint16_t day =
        has_times ? calendar_day(calendar_cell(&exporter->calendar, end)) : first_day(exporter);

    if (number == TABLE_LOSS)
        note_loss(exporter, cells);
    return put_cells(exporter, &exporter->fixed[number], unix_ns, day, cells);
}

/* ---- The sink ---- */

static int parquet_sink_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct exporter *exporter = container_of(sink, struct exporter, sink);
    int r = sink_put(exporter->tables, items, n);

    return r < 0 && !sink->error.code ? sink_fail(sink, exporter->tables, r) : r;
}

static int parquet_sink_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(container_of(sink, struct exporter, sink)->tables, item);
}

static int finish_files(struct exporter *exporter)
{
    char losses[NUMBER_SIZE], lost[NUMBER_SIZE], error_ns[NUMBER_SIZE];
    struct parquet_fact facts[8] = {
        {"strata.version", STRATA_VERSION},
        {"strata.host", exporter->options->host},
        {"strata.day_is_known", exporter->calendar.is_known ? "true" : "false"},
        {"strata.losses", losses},
        {"strata.lost", lost},
        {"strata.lost_unknown", exporter->has_lost_unknown ? "true" : "false"},
    };
    unsigned n = 6;
    int r = 0;

    snprintf(losses, sizeof losses, "%" PRIu64, exporter->n_losses);
    snprintf(lost, sizeof lost, "%" PRIu64, exporter->n_lost);
    snprintf(error_ns, sizeof error_ns, "%" PRId64, exporter->error_ns);
    if (exporter->has_error || exporter->has_error_unknown)
        facts[n++] = (struct parquet_fact){"strata.error_ns",
                                           exporter->has_error_unknown ? "unknown" : error_ns};
    if (exporter->options->trace_id[0])
        facts[n++] = (struct parquet_fact){"strata.trace", exporter->options->trace_id};
    for (struct part *part = exporter->parts; part && r == 0; part = part->next)
        r = parquet_finish(&exporter->writer, &part->file, exporter->dir, facts, n);
    return r;
}

static int parquet_sink_finish(struct sink *sink)
{
    struct exporter *exporter = container_of(sink, struct exporter, sink);
    int r = sink_finish(exporter->tables);

    if (r < 0 && !sink->error.code)
        return sink_fail(sink, exporter->tables, r);
    /* A query finds no rows, not no files. */
    for (unsigned i = 0; i < FIXED_TABLES && r == 0; i++) {
        struct part *part;

        if (exporter->fixed[i].table && !exporter->fixed[i].parts)
            r = get_part(exporter, &exporter->fixed[i], first_day(exporter), &part);
    }
    if (r == 0)
        r = finish_files(exporter);
    return r < 0 ? fail(exporter, r) : 0;
}

static void parquet_sink_free(struct sink *sink)
{
    struct exporter *exporter = container_of(sink, struct exporter, sink);
    struct part *next;

    sink_free(exporter->tables);
    for (struct part *part = exporter->parts; part; part = next) {
        next = part->next;
        parquet_file_done(&part->file);
        free(part);
    }
    parquet_writer_done(&exporter->writer);
    row_buffer_done(&exporter->buffer);
    arena_done(&exporter->arena);
    if (exporter->dir >= 0)
        close(exporter->dir);
    free(exporter);
}

static int open_directory(struct exporter *exporter)
{
    const struct export_options *options = exporter->options;
    int r = parquet_writer_init(&exporter->writer);

    for (unsigned i = 0; i < FIXED_TABLES && r == 0; i++)
        if (WANTED & TABLE_BIT(i)) {
            exporter->fixed[i].table = &fixed_tables[i];
            r = name_columns(exporter, &exporter->fixed[i]);
        }
    if (r < 0)
        return r;
    exporter->calendar = options->calendar;
    exporter->dir = open(options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return exporter->dir < 0 ? -errno : 0;
}

int export_parquet_open(const struct export_options *options, struct sink **ret_sink,
                        struct error *error)
{
    static const struct sink_ops sink_ops = {.put = parquet_sink_put,
                                             .begin_loss = parquet_sink_begin_loss,
                                             .finish = parquet_sink_finish,
                                             .free = parquet_sink_free};
    static const struct tables_ops tables_ops = {
        .table = add_table, .event = put_event, .row = put_row};
    struct exporter *exporter = calloc(1, sizeof *exporter);
    struct tables_options tables_options;
    int r;

    if (!exporter)
        return export_no_memory(error);
    exporter->sink.ops = &sink_ops;
    exporter->options = options;
    exporter->dir = -1;
    row_buffer_init(&exporter->buffer);
    export_tables_options(options, WANTED, &tables_options);
    r = open_directory(exporter);
    if (r < 0) {
        (void)fail(exporter, r);
        *error = exporter->sink.error;
    } else {
        r = tables_sink_open(&tables_options, &tables_ops, exporter, &exporter->tables, error);
    }
    if (r < 0) {
        parquet_sink_free(&exporter->sink);
        return r;
    }
    *ret_sink = &exporter->sink;
    return 0;
}
