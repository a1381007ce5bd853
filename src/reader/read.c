/* SPDX-License-Identifier: MIT */
/* The public reading library: a cursor over trace/. strata/read.h has the interface and its rules. */
#include "strata/read.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cache_dir.h"
#include "base/macro.h"
#include "base/text.h"
#include "event/program.h"
#include "event/select.h"
#include "event/value.h"
#include "reader/tables.h"
#include "trace/read.h"

struct strata_reader {
    struct arena arena;           /* copies of the caller's strings */
    struct trace_options options; /* `events` is set when the trace is opened */
    struct strings paths;
    struct strings events;
    struct select_options select;

    struct trace *trace; /* NULL before it was opened successfully */
    struct selection selection;
    struct reader_tables tables;
    bool started;
    int result; /* 1: there may be more items; otherwise what next() returns from now on */
    const struct item *item;       /* current item, or NULL */
    const struct item *next, *end; /* the lent run of selected items */
    struct trace_reading reading;

    bool has_public_item; /* `public_item` describes the current item */
    bool has_values;      /* `values` are of the current item */
    struct strata_reader_item public_item;
    struct value values[FIELDS_MAX];
    struct text text; /* of the current item */
    unsigned unmatched_wanted;
    const char *unmatched;
    char error[768];
};

const char *strata_read_version(void)
{
    return STRATA_VERSION;
}

struct strata_reader *strata_reader_new(void)
{
    struct strata_reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return NULL;
    reader->text = TEXT_IN_MEMORY;
    reader->result = 1;
    return reader;
}

void strata_reader_free(struct strata_reader *reader)
{
    if (!reader)
        return;
    selection_done(&reader->selection);
    trace_reading_done(&reader->reading);
    reader_tables_done(&reader->tables);
    trace_free(reader->trace);
    select_options_done(&reader->select);
    strings_done(&reader->paths);
    strings_done(&reader->events);
    arena_done(&reader->arena);
    text_done(&reader->text);
    free(reader);
}

const char *strata_reader_error(const struct strata_reader *reader)
{
    return reader->error;
}

static int fail(struct strata_reader *reader, int error, const char *what)
{
    snprintf(reader->error, sizeof reader->error, "%s", what);
    return error;
}

static int fail_memory(struct strata_reader *reader)
{
    return fail(reader, -ENOMEM, "out of memory");
}

static int fail_with(struct strata_reader *reader, int err, struct error *error,
                     const char *otherwise)
{
    if (!error->code)
        error_set(error, err, NULL, "%s: %s", otherwise, strerror(-err));
    error_print(error, reader->error, sizeof reader->error);
    return err;
}

/* ---- Input ---- */

static int check_not_started(struct strata_reader *reader)
{
    if (reader->started)
        return fail(reader, -EBUSY, "traces and options must be given before reading begins");
    return 0;
}

/* Makes *RET a modifiable copy of S. */
static int copy_string(struct strata_reader *reader, const char *s, char **ret)
{
    int r = check_not_started(reader);

    if (r < 0)
        return r;
    *ret = arena_strdup(&reader->arena, s);
    return *ret ? 0 : fail_memory(reader);
}

static int add_string(struct strata_reader *reader, struct strings *strings, const char *s)
{
    char *copy;
    int r = copy_string(reader, s, &copy);

    if (r < 0)
        return r;
    return strings_add(strings, copy) < 0 ? fail_memory(reader) : 0;
}

static int set_string(struct strata_reader *reader, const char **place, const char *s)
{
    char *copy;
    int r = copy_string(reader, s, &copy);

    if (r == 0)
        *place = copy;
    return r;
}

static int set_bool(struct strata_reader *reader, bool *place, bool value)
{
    int r = check_not_started(reader);

    if (r == 0)
        *place = value;
    return r;
}

int strata_reader_add(struct strata_reader *reader, const char *path)
{
    return add_string(reader, &reader->paths, path);
}

int strata_reader_add_events(struct strata_reader *reader, const char *path)
{
    return add_string(reader, &reader->events, path);
}

int strata_reader_set_source(struct strata_reader *reader, const char *name)
{
    return set_string(reader, &reader->options.source, name);
}

int strata_reader_set_keep_going(struct strata_reader *reader, bool keep_going)
{
    return set_bool(reader, &reader->options.reader.keep_going, keep_going);
}

int strata_reader_set_host_time(struct strata_reader *reader, bool host_time)
{
    return set_bool(reader, &reader->options.host_time, host_time);
}

int strata_reader_set_stated_clocks(struct strata_reader *reader, bool stated_clocks)
{
    return set_bool(reader, &reader->options.stated_clocks, stated_clocks);
}

int strata_reader_set_cpu_hz(struct strata_reader *reader, uint64_t hz)
{
    int r = check_not_started(reader);

    if (r == 0)
        reader->options.cpu_hz = hz;
    return r;
}

int strata_reader_set_xen_version(struct strata_reader *reader, const char *version)
{
    return set_string(reader, &reader->options.xen_version, version);
}

int strata_reader_set_cpu_vendor(struct strata_reader *reader, const char *vendor)
{
    return set_string(reader, &reader->options.cpu_vendor, vendor);
}

int strata_reader_set_tracefs(struct strata_reader *reader, const char *path)
{
    return set_string(reader, &reader->options.tracefs, path);
}

int strata_reader_set_kallsyms(struct strata_reader *reader, const char *path)
{
    return set_string(reader, &reader->options.kallsyms, path);
}

int strata_reader_set_no_header(struct strata_reader *reader, bool no_header)
{
    return set_bool(reader, &reader->options.no_header, no_header);
}

int strata_reader_set_file_order(struct strata_reader *reader, bool file_order)
{
    return set_bool(reader, &reader->options.file_order, file_order);
}

int strata_reader_set_temporary_dir(struct strata_reader *reader, const char *path)
{
    return set_string(reader, &reader->options.reader.temporary_dir, path);
}

/* ---- Selection ---- */

/* Handles the result R and ERROR of parsing VALUE, a WHAT. */
static int parsed(struct strata_reader *reader, int r, const char *what, const char *value,
                  const struct error *error)
{
    if (r == -ENOMEM)
        return fail_memory(reader);
    if (r < 0)
        snprintf(reader->error, sizeof reader->error, "%s '%s' %s", what, value, error->what);
    return r;
}

int strata_reader_add_filter(struct strata_reader *reader, const char *patterns)
{
    struct error error;
    char *copy;
    int r = copy_string(reader, patterns, &copy);

    error_clear(&error);
    if (r < 0)
        return r;
    return parsed(reader, strings_split(&reader->select.events, copy, &error), "filter", patterns,
                  &error);
}

static int parse(struct strata_reader *reader,
                 int (*function)(void *member, const char *value, struct error *error),
                 void *member, const char *what, const char *value)
{
    struct error error;
    int r = check_not_started(reader);

    error_clear(&error);
    if (r < 0)
        return r;
    return parsed(reader, function(member, value, &error), what, value, &error);
}

int strata_reader_set_from(struct strata_reader *reader, const char *time)
{
    return parse(reader, select_parse_time, &reader->select.from, "time", time);
}

int strata_reader_set_until(struct strata_reader *reader, const char *time)
{
    return parse(reader, select_parse_time, &reader->select.to, "time", time);
}

int strata_reader_set_cpus(struct strata_reader *reader, const char *list)
{
    return parse(reader, select_parse_ranges, &reader->select.cpus, "CPU list", list);
}

int strata_reader_set_pids(struct strata_reader *reader, const char *list)
{
    return parse(reader, select_parse_ranges, &reader->select.pids, "thread list", list);
}

int strata_reader_set_vcpus(struct strata_reader *reader, const char *list)
{
    return parse(reader, select_parse_ranges, &reader->select.vcpus, "vCPU list", list);
}

int strata_reader_set_layers(struct strata_reader *reader, const char *list)
{
    return parse(reader, select_parse_layers, &reader->select.layers, "layer list", list);
}

int strata_reader_set_limit(struct strata_reader *reader, uint64_t n)
{
    int r = check_not_started(reader);

    if (r == 0) {
        reader->select.limit = n;
        reader->select.limited = true;
    }
    return r;
}

/* ---- Opening and moving ---- */

static int open_trace(struct strata_reader *reader)
{
    _cleanup_(text_done) struct text cache_dir = TEXT_IN_MEMORY;
    struct error error;
    int r;

    if (reader->paths.n == 0)
        return fail(reader, -EINVAL, "no trace was added");
    reader->options.events = reader->events.items;
    reader->options.n_events = reader->events.n;
    cache_dir_put_path(&cache_dir);
    if (cache_dir.error)
        return fail_memory(reader);
    if (*cache_dir.start)
        reader->options.cache_dir = cache_dir.start;
    if (selection_init(&reader->selection, &reader->select) < 0)
        return fail_memory(reader);

    error_clear(&error);
    r = trace_open(reader->paths.items, reader->paths.n, &reader->options, &reader->trace, &error);
    reader->options.cache_dir = NULL;
    reader->reading =
        (struct trace_reading){.trace = reader->trace, .selection = &reader->selection};
    return r < 0 ? fail_with(reader, r, &error, "cannot open") : 0;
}

int strata_reader_open(struct strata_reader *reader)
{
    if (!reader->started) {
        int r = open_trace(reader);

        reader->started = true;
        if (r < 0)
            reader->result = r;
    }
    return MIN(reader->result, 0);
}

/* Gets the next run of selected items. Returns the new reader->result. */
static int next_run(struct strata_reader *reader)
{
    int r = trace_reading_next(&reader->reading, &reader->next);

    if (r < 0)
        return fail_with(reader, r, &reader->reading.error, "cannot continue reading");
    reader->end = reader->next + r;
    return MIN(r, 1);
}

int strata_reader_next(struct strata_reader *reader)
{
    reader->has_values = reader->has_public_item = false;
    if (reader->next == reader->end) {
        reader->item = NULL;
        if (strata_reader_open(reader) == 0 && reader->result == 1)
            reader->result = next_run(reader);
        if (reader->result <= 0)
            return reader->result;
    }
    reader->item = reader->next++;
    return reader->item->kind == ITEM_EVENT ? STRATA_READER_EVENT : STRATA_READER_LOSS;
}

const char *strata_reader_note(const struct strata_reader *reader, unsigned i)
{
    return reader->trace && i < reader->trace->n_notes ? reader->trace->notes[i] : NULL;
}

static void count_unmatched(void *arg, const char *pattern)
{
    struct strata_reader *reader = arg;

    if (reader->unmatched_wanted-- == 0)
        reader->unmatched = pattern;
}

const char *strata_reader_unmatched(struct strata_reader *reader, unsigned i)
{
    const struct catalogue *catalogue = reader->trace ? &reader->trace->catalogue : NULL;

    reader->unmatched = NULL;
    reader->unmatched_wanted = i;
    if (catalogue)
        selection_unmatched(&reader->selection, catalogue->classes, catalogue->n_classes,
                            count_unmatched, reader);
    return reader->unmatched;
}

/* ---- Sources and classes ---- */

const struct strata_reader_source *strata_reader_source(struct strata_reader *reader, unsigned i)
{
    const struct catalogue *catalogue = reader->trace ? &reader->trace->catalogue : NULL;
    const struct strata_reader_source *source;

    if (!catalogue || i >= catalogue->n_origins)
        return NULL;
    source = reader_tables_source(&reader->tables, catalogue, catalogue->origins[i]);
    if (!source)
        fail_memory(reader);
    return source;
}

const struct strata_reader_class *strata_reader_class(struct strata_reader *reader, unsigned i)
{
    const struct catalogue *catalogue = reader->trace ? &reader->trace->catalogue : NULL;
    const struct strata_reader_class *class;

    if (!catalogue || i >= catalogue->n_classes)
        return NULL;
    class = reader_tables_class(&reader->tables, catalogue, catalogue->classes[i]);
    if (!class)
        fail_memory(reader);
    return class;
}

/* ---- The item ---- */

static const struct event_class *class_of(const struct strata_reader *reader)
{
    return reader->item && reader->item->kind == ITEM_EVENT ? reader->item->class : NULL;
}

/* False if out of memory. */
static bool fill_item(struct strata_reader *reader)
{
    const struct catalogue *catalogue = &reader->trace->catalogue;
    const struct item *item = reader->item;
    struct strata_reader_item *to = &reader->public_item;

    *to = (struct strata_reader_item){
        .kind = STRATA_READER_EVENT,
        .cpu = item->cpu,
        .pid = item->pid,
        .vcpu = item->vcpu,
        .time = item->time,
        .time_error_ns = item_error_is_known(item) ? item->error_ns : ERROR_UNKNOWN,
        .source = reader_tables_source(&reader->tables, catalogue, item->origin),
        .lost_since = STRATA_READER_TIME_UNKNOWN,
    };
    if (item->kind == ITEM_EVENT) {
        to->event_class = reader_tables_class(&reader->tables, catalogue, item->class);
        return to->source && to->event_class;
    }
    to->kind = STRATA_READER_LOSS;
    to->lost = item->lost;
    to->lost_since = item->since;
    to->skipped = item->cause == LOSS_UNREADABLE ? item->skipped : 0;
    return to->source;
}

const struct strata_reader_item *strata_reader_item(struct strata_reader *reader)
{
    if (!reader->item)
        return NULL;
    if (!reader->has_public_item) {
        if (!fill_item(reader)) {
            fail_memory(reader);
            return NULL;
        }
        reader->has_public_item = true;
    }
    return &reader->public_item;
}

static struct strata_value public_value(const struct field *field, const struct value *value)
{
    struct strata_value v = {.type = STRATA_VALUE_ABSENT};

    if (!value->present)
        return v;
    v.type = reader_value_type(field);
    if (v.type == STRATA_VALUE_STRING || v.type == STRATA_VALUE_BYTES ||
        v.type == STRATA_VALUE_ARRAY) {
        v.data = value->s;
        v.size = value->len;
        if (v.type == STRATA_VALUE_ARRAY) {
            v.element_size = field->element;
            v.element_is_signed = field->element_signed;
            v.element_is_swapped = field->swap;
        }
        return v;
    }
    v.u = v.type == STRATA_VALUE_BOOL ? value->u != 0 : value->u;
    if (field->names && !field->names->bits)
        v.name = value_name(field->names, value->u);
    return v;
}

struct strata_value strata_reader_field(struct strata_reader *reader, unsigned field)
{
    const struct event_class *class = class_of(reader);

    if (!class || field >= class->n_fields)
        return (struct strata_value){.type = STRATA_VALUE_ABSENT};
    if (!reader->has_values) {
        item_values(reader->item, reader->values);
        reader->has_values = true;
    }
    return public_value(&class->fields[field], &reader->values[field]);
}

struct strata_value strata_reader_field_named(struct strata_reader *reader, const char *name)
{
    const struct event_class *class = class_of(reader);
    int field = class ? event_class_field(class, name) : -1;

    return strata_reader_field(reader, field < 0 ? UINT_MAX : (unsigned)field);
}

int strata_reader_text(struct strata_reader *reader, char *buf, size_t size)
{
    struct text *text = &reader->text;
    size_t len;

    text->next = text->start;
    if (class_of(reader))
        item_put_text(reader->item, text);
    if (text->error < 0) {
        text_done(text);
        *text = TEXT_IN_MEMORY;
        return fail_memory(reader);
    }
    len = text_len(text);
    if (size > 0) {
        size_t n = MIN(len, size - 1);

        if (n > 0)
            memcpy(buf, text->start, n);
        buf[n] = '\0';
    }
    return len > INT32_MAX ? INT32_MAX : (int)len;
}
