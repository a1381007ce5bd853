/* SPDX-License-Identifier: MIT */
/* strata.table(): the rows of a table of a trace (tables/columns.h), as a Batch. */
#include "python/strata_module.h"

#include "analysis/spans/span_rule.h"
#include "base/cache_dir.h"
#include "tables/sink.h"
#include "trace/trace.h"

/* Items between two checks for Ctrl-C, while spans or states are computed. */
#define ITEMS_PER_LOOK 200000u

struct table_arguments {
    PyObject *paths; /* a tuple of bytes */
    PyObject *rules; /* a tuple of str */
    enum fixed_table table;
    struct trace_options options;
};

struct table_reading {
    struct py_batch *rows;
    unsigned n_columns;
};

static int find_table(const char *name)
{
    for (int i = 0; i < FIXED_TABLES; i++)
        if (strcmp(fixed_tables[i].name, name) == 0)
            return i;
    PyErr_Format(PyExc_ValueError, "unknown table '%s' (examples: span, state, loss, thread)",
                 name);
    return -1;
}

static char column_format(enum column_type type)
{
    switch (type) {
    case COLUMN_INTEGER: return 'q';
    case COLUMN_UNSIGNED: return 'Q';
    case COLUMN_REAL: return 'd';
    default: return 0;
    }
}

/* Makes a cell of a column of texts or bytes. */
static PyObject *cell_object(const struct value *cell, enum column_type type)
{
    if (!cell->present)
        Py_RETURN_NONE;
    if (type == COLUMN_BLOB)
        return PyBytes_FromStringAndSize(cell->s, cell->len);
    if (type == COLUMN_EITHER && cell->len == 0)
        return PyLong_FromLongLong(cell->i);
    return PyUnicode_DecodeUTF8(cell->s, cell->len, "surrogateescape");
}

static int put_row(void *arg, enum fixed_table table, const struct value *cells)
{
    const struct table_reading *reading = arg;
    const struct trace_column *columns = fixed_tables[table].columns;

    for (unsigned i = 0; i < reading->n_columns; i++) {
        bool done;

        if (column_format(columns[i].type)) {
            done = py_batch_put_number(reading->rows, i, cells[i].u, cells[i].present);
        } else {
            PyObject *object = cell_object(&cells[i], columns[i].type);

            done = object && py_batch_put_object(reading->rows, i, object);
            Py_XDECREF(object);
        }
        if (!done)
            return -ENOMEM;
    }
    reading->rows->n++;
    return 0;
}

/* Raises ERROR, the message of a library below. */
static void raise_error(const struct error *error, int r)
{
    char text[sizeof *error + 64];

    if (PyErr_Occurred())
        return;
    error_print(error, text, sizeof text);
    py_raise_text(text, error->code ? error->code : r);
}

static int read_all(struct trace *trace, struct sink *sink, struct error *error)
{
    const struct item *items;
    unsigned since_look = 0;
    int n, r = 0;

    sink_begin(sink);
    while ((n = trace_next(trace, &items)) > 0) {
        r = sink_put(sink, items, (unsigned)n);
        if (r < 0) {
            *error = sink->error;
            return r;
        }
        since_look += (unsigned)n;
        if (since_look > ITEMS_PER_LOOK && PyErr_CheckSignals() < 0)
            return -EINTR;
        since_look = since_look > ITEMS_PER_LOOK ? 0 : since_look;
    }
    if (n < 0) {
        *error = trace->source->error;
        return n;
    }
    r = sink_finish(sink);
    if (r < 0)
        *error = sink->error;
    return r;
}

static unsigned input_of(void *arg, const struct origin *origin)
{
    return trace_input_of(arg, origin);
}

static int read_table(struct trace *trace, const struct table_arguments *arguments,
                      const struct span_rule_list *rules, struct table_reading *reading,
                      struct error *error)
{
    const struct tables_ops ops = {.row = put_row};
    const struct tables_options options = {
        .catalogue = &trace->catalogue,
        .trace = trace,
        .origin_number = trace->n_inputs > 1 ? input_of : NULL,
        .origin_arg = trace,
        .errors = trace_has_errors(trace),
        .wanted = TABLE_BIT(arguments->table),
        .rules = rules->rules,
        .n_rules = rules->n,
    };
    struct sink *sink = NULL;
    int r = tables_sink_open(&options, &ops, reading, &sink, error);

    if (r == 0)
        r = read_all(trace, sink, error);
    sink_free(sink);
    return r;
}

static int parse_rules(PyObject *texts, struct arena *arena, struct span_rule_list *list,
                       struct error *error)
{
    int r = 0;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts) && r == 0; i++) {
        const char *text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(texts, i));
        struct span_rule rule;

        if (!text)
            return -EINVAL;
        r = span_rule_parse(text, "pairs", arena, &rule, error);
        if (r == 0)
            r = span_rule_list_add(list, &rule);
    }
    return r;
}

static struct py_batch *new_rows(enum fixed_table table)
{
    const struct trace_table *definition = &fixed_tables[table];
    const char *names[FIXED_COLUMNS_MAX];
    char formats[FIXED_COLUMNS_MAX];

    for (unsigned i = 0; i < definition->n_columns; i++) {
        names[i] = definition->columns[i].name;
        formats[i] = column_format(definition->columns[i].type);
    }
    return py_batch_of(definition->name, names, formats, definition->n_columns);
}

static PyObject *make_table(struct table_arguments *arguments, const char *const *paths, unsigned n)
{
    struct table_reading reading = {.rows = new_rows(arguments->table),
                                    .n_columns = fixed_tables[arguments->table].n_columns};
    struct text cache_dir = TEXT_IN_MEMORY;
    struct arena arena = {0};
    struct span_rule_list rules = {0};
    struct trace *trace = NULL;
    struct error error = {0};
    int r;

    if (!reading.rows)
        return NULL;
    cache_dir_put_path(&cache_dir);
    if (!cache_dir.error && *cache_dir.start)
        arguments->options.cache_dir = cache_dir.start;
    r = parse_rules(arguments->rules, &arena, &rules, &error);
    if (r == 0)
        r = trace_open(paths, n, &arguments->options, &trace, &error);
    if (r == 0)
        r = read_table(trace, arguments, &rules, &reading, &error);
    if (r < 0) {
        raise_error(&error, r);
        Py_CLEAR(reading.rows);
    }
    trace_free(trace);
    span_rule_list_done(&rules);
    arena_done(&arena);
    text_done(&cache_dir);
    return (PyObject *)reading.rows;
}

/* _table(name, (path, …), (rule, …), (declarations, …), cpu_hz, xen_version, cpu_vendor, keep_going, host_time, stated_clocks) */
PyObject *py_table(PyObject *module, PyObject *args)
{
    struct table_arguments arguments = {0};
    const char *strings[2][64];
    PyObject *tuples[2];
    const char *name;
    unsigned long long cpu_hz;
    int keep_going, host_time, stated_clocks, table;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO!O!O!Kzzppp:_table", &name, &PyTuple_Type, &tuples[0],
                          &PyTuple_Type, &arguments.rules, &PyTuple_Type, &tuples[1], &cpu_hz,
                          &arguments.options.xen_version, &arguments.options.cpu_vendor,
                          &keep_going, &host_time, &stated_clocks))
        return NULL;
    table = find_table(name);
    if (table < 0)
        return NULL;
    if (table == TABLE_EVENT) {
        PyErr_SetString(PyExc_ValueError, "events are what strata.open() returns");
        return NULL;
    }
    for (unsigned k = 0; k < 2; k++) {
        if (PyTuple_GET_SIZE(tuples[k]) > 64) {
            PyErr_SetString(PyExc_ValueError, "more than 64 paths");
            return NULL;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuples[k]); i++)
            strings[k][i] = PyBytes_AsString(PyTuple_GET_ITEM(tuples[k], i));
    }
    if (PyErr_Occurred())
        return NULL;
    arguments.table = (enum fixed_table)table;
    arguments.options.cpu_hz = cpu_hz;
    arguments.options.reader.keep_going = keep_going;
    arguments.options.host_time = host_time;
    arguments.options.stated_clocks = stated_clocks;
    arguments.options.events = strings[1];
    arguments.options.n_events = (unsigned)PyTuple_GET_SIZE(tuples[1]);
    return make_table(&arguments, strings[0], (unsigned)PyTuple_GET_SIZE(tuples[0]));
}
