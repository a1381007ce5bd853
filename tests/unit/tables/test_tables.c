/* SPDX-License-Identifier: MIT */
/* Tables of a made trace: their names and columns, the cells of events, spans with their keys, losses. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "byte_order.h"
#include "tables/sink.h"

static const char *const mode_names[] = {"off", "on"};
static const struct value_names modes = {.names = mode_names, .n = ARRAY_SIZE(mode_names)};

#define NUMBER(title, at, bytes)                                                              \
    {                                                                                         \
        .name = (title), .c_type = "int", .type = FIELD_UINT, .offset = (at), .size = (bytes) \
    }

static const struct field fields[] = {
    NUMBER("id", 0, 8),
    {.name = "Mode", .c_type = "int", .type = FIELD_INT, .offset = 8, .size = 4, .names = &modes},
    {.name = "mode_NAME",
     .c_type = "char[]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .offset = 12,
     .size = 4},
    {.name = "list",
     .c_type = "u16[]",
     .type = FIELD_BYTES,
     .storage = STORE_ARRAY,
     .offset = 16,
     .size = 4,
     .element = 2},
};
/* Another record of the same event. */
static const struct field other_fields[] = {NUMBER("id", SWAP_LITTLE ? 4 : 0, 4)};

struct payload {
    uint64_t id;
    int32_t mode;
    char name[4];
    uint16_t list[2];
};

struct world {
    struct catalogue catalogue;
    struct origin *origin;
    struct event_class *begin, *end, *variant, *folded;
    struct sink *sink;
    unsigned n_tables, n_events, n_rows[FIXED_TABLES];
    char log[4096];
};

static void put_vcpu(const struct origin *origin, int32_t vcpu, struct text *text)
{
    (void)origin;
    text_printf(text, "v%d", vcpu);
}

/* Writes cells as "1|text||2". */
static void log_cells(struct world *world, const struct trace_table *table,
                      const struct value *cells)
{
    size_t len = strlen(world->log);

    for (unsigned i = 0; i < table->n_columns; i++) {
        enum column_type type = table->columns[i].type;
        bool is_text = type == COLUMN_TEXT || (type == COLUMN_EITHER && cells[i].len > 0);

        assert_true(cells[i].present || table->columns[i].nullable);
        if (!cells[i].present)
            len += (size_t)snprintf(world->log + len, sizeof world->log - len, "|");
        else if (is_text)
            len += (size_t)snprintf(world->log + len, sizeof world->log - len, "%.*s|",
                                    (int)cells[i].len, cells[i].s);
        else if (type == COLUMN_UNSIGNED)
            len += (size_t)snprintf(world->log + len, sizeof world->log - len, "%llu|",
                                    (unsigned long long)cells[i].u);
        else
            len += (size_t)snprintf(world->log + len, sizeof world->log - len, "%lld|",
                                    (long long)cells[i].i);
    }
    snprintf(world->log + len, sizeof world->log - len, "\n");
}

static int note_table(void *arg, struct event_table *table)
{
    struct world *world = arg;

    assert_int_equal(table->number, world->n_tables++);
    table->data = world;
    return 0;
}

static int note_event(void *arg, const struct event_row *row)
{
    struct world *world = arg;
    struct value cells[EVENT_COLUMNS_MAX];
    struct row_buffer buffer;

    assert_ptr_equal(row->table->data, world);
    world->n_events++;
    row_buffer_init(&buffer);
    assert_int_equal(event_row_cells(row, &buffer, cells), 0);
    log_cells(world, &row->table->table, cells);
    /* One by one they are the same. */
    for (unsigned i = 0; i < row->table->table.n_columns; i++) {
        struct row_buffer single;
        struct value cell;

        row_buffer_init(&single);
        assert_int_equal(event_row_cell(row, i, &single, &cell), 0);
        assert_int_equal(cell.present, cells[i].present);
        if (cell.len > 0) {
            assert_int_equal(cell.len, cells[i].len);
            assert_memory_equal(cell.s, cells[i].s, cell.len);
        } else if (cell.present && row->table->table.columns[i].type != COLUMN_TEXT) {
            assert_int_equal(cell.u, cells[i].u);
        }
        row_buffer_done(&single);
    }
    assert_int_equal(all_event_cells(row, &buffer, cells), 0);
    assert_int_equal(cells[ALL_EVENT_ID].i, row->id);
    assert_string_equal(cells[ALL_EVENT_EVENT].s, row->item->class->name);
    row_buffer_done(&buffer);
    return 0;
}

static int note_row(void *arg, enum fixed_table table, const struct value *cells)
{
    struct world *world = arg;

    world->n_rows[table]++;
    if (table == TABLE_SPAN || table == TABLE_LOSS || table == TABLE_CPU || table == TABLE_CLASS)
        log_cells(world, &fixed_tables[table], cells);
    return 0;
}

static struct event_class *add(struct world *world, const char *name, const struct field *of,
                               unsigned n)
{
    struct event_class class = {
        .name = name, .group = "made", .origin = world->origin, .fields = of, .n_fields = n};
    struct event_class *added;

    assert_int_equal(catalogue_add(&world->catalogue, &class, &added), 0);
    return added;
}

static void put(struct world *world, const struct event_class *class, int64_t time, uint64_t id,
                int mode)
{
    struct payload payload = {.id = id, .mode = mode, .name = "xy", .list = {1, 65535}};
    const struct item item = {.time = time,
                              .origin = world->origin,
                              .class = class,
                              .payload = (const uint8_t *)&payload,
                              .size = sizeof payload,
                              .cpu = 3,
                              .pid = 7,
                              .vcpu = mode};

    assert_int_equal(sink_put(world->sink, &item, 1), 0);
}

static void open_world(struct world *world)
{
    static const struct tables_ops ops = {
        .table = note_table, .event = note_event, .row = note_row};
    static struct span_rule rules[1];
    static struct arena arena;
    const struct origin origin = {.layer = LAYER_VMM,
                                  .format = "made",
                                  .clock = {.name = "made", .hz = NANOSECONDS / 10},
                                  .put_vcpu = put_vcpu};
    struct tables_options options = {.catalogue = &world->catalogue,
                                     .wanted = TABLE_BIT(FIXED_TABLES) - 1,
                                     .rules = rules,
                                     .n_rules = 1};
    struct error error = {0};

    *world = (struct world){0};
    world->origin = catalogue_add_origin(&world->catalogue, &origin);
    world->begin = add(world, "job-begin", fields, ARRAY_SIZE(fields));
    world->end = add(world, "job-end", fields, ARRAY_SIZE(fields));
    world->variant = add(world, "job-begin", other_fields, ARRAY_SIZE(other_fields));
    world->folded = add(world, "Job_Begin", other_fields, ARRAY_SIZE(other_fields));
    assert_int_equal(
        span_rule_parse("job: job-begin(id) -> job-end(id)", NULL, &arena, &rules[0], &error), 0);
    assert_int_equal(tables_sink_open(&options, &ops, world, &world->sink, &error), 0);
}

static void test_rows(void **state)
{
    struct item loss;
    struct world world;

    (void)state;
    open_world(&world);
    loss = (struct item){.kind = ITEM_LOSS,
                         .time = 400,
                         .since = TIME_UNKNOWN,
                         .lost = LOST_UNKNOWN,
                         .origin = world.origin,
                         .cpu = 3};
    put(&world, world.begin, 100, UINT64_MAX, 1);
    put(&world, world.end, 130, UINT64_MAX, 2);
    put(&world, world.variant, 200, 5, 0);
    put(&world, world.folded, 300, 6, 0);
    assert_int_equal(sink_put(world.sink, &loss, 1), 0);
    assert_int_equal(sink_finish(world.sink), 0);
    assert_int_equal(world.n_tables, 4);
    assert_int_equal(world.n_events, 4);
    assert_string_equal(world.log, "1|1000||0|3|7|v1|18446744073709551615|1|xy|[1,65535]|on|\n"
                                   "2|1300||0|3|7|v2|18446744073709551615|2|xy|[1,65535]||\n"
                                   "job|vmm|0|1000|1300|300||18446744073709551615|3|7|v1||\n"
                                   "3|2000||0|3|7|v0|5|\n"
                                   "4|3000||0|3|7|v0|6|\n"
                                   "5|4000|||0|3||dropped|0|\n"
                                   "job|vmm|0|2000||||5|3|7|v0|lost|\n"
                                   "0|vmm|made|job-begin|vmm_job_begin|vmm_job_begin_1|1||\n"
                                   "1|vmm|made|job-end|vmm_job_end|vmm_job_end|1||\n"
                                   "2|vmm|made|job-begin|vmm_job_begin|vmm_job_begin_2|1||\n"
                                   "3|vmm|made|Job_Begin|vmm_Job_Begin_3|vmm_Job_Begin_3|1||\n"
                                   "0|3|4|\n");
    sink_free(world.sink);
    catalogue_done(&world.catalogue);
}

/* Names are unique whatever the case, and the names of values are columns after those of all fields. */
static void test_columns(void **state)
{
    static const char *const expected[] = {"id",   "time_ns",   "error_ns", "source",
                                           "cpu",  "pid",       "vcpu",     "field_id",
                                           "Mode", "mode_NAME", "list",     "Mode_name_2"};
    struct event_tables tables;
    const struct event_table *table;
    struct world world;

    (void)state;
    open_world(&world);
    assert_int_equal(event_tables_init(&tables), 0);
    table = event_tables_get(&tables, world.begin);
    assert_non_null(table);
    assert_int_equal(table->table.n_columns, ARRAY_SIZE(expected));
    for (unsigned i = 0; i < ARRAY_SIZE(expected); i++)
        assert_string_equal(table->table.columns[i].name, expected[i]);
    assert_int_equal(table->table.columns[EVENT_FIELDS].type, COLUMN_UNSIGNED);
    assert_int_equal(table->table.columns[EVENT_FIELDS + 3].type, COLUMN_TEXT);
    assert_int_equal(trace_table_column(&table->table, "MODE"), EVENT_FIELDS + 1);
    assert_int_equal(trace_table_column(&table->table, "none"), -1);
    assert_ptr_equal(event_tables_get(&tables, world.begin), table);
    event_tables_done(&tables);
    sink_free(world.sink);
    catalogue_done(&world.catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
