/* SPDX-License-Identifier: MIT */
/* The public reading library: a cursor over trace/. The interface and its rules: strata/read.h. */
#include "strata/read.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "event/program.h"
#include "event/value.h"
#include "trace/trace.h"

/* Strings that the user gave, ours to free. */
struct names {
    char **items;
    unsigned n;
};

struct strata_reader {
    struct trace_options options; /* its pointers are set when the trace is opened */
    struct names paths;
    struct names events;
    char *xen_version;
    char *cpu_vendor;
    char *tracefs;
    char *kallsyms;

    struct trace *trace; /* NULL: not opened yet, or that failed */
    bool started;
    int result; /* what next() goes on to return: 0 the end, or an error; 1: there may be more */
    const struct item *item;       /* where the cursor stands, or NULL */
    const struct item *next, *end; /* of the run that the trace has lent */

    bool has_values; /* `values` are the item's */
    struct value values[FIELDS_MAX];
    struct text text; /* room for the item's text */
    char error[768];
};

const char *strata_read_version(void)
{
    return STRATA_VERSION;
}

strata_reader *strata_reader_new(void)
{
    strata_reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return NULL;
    reader->text = TEXT_IN_MEMORY;
    reader->result = 1;
    return reader;
}

static void names_done(struct names *names)
{
    for (unsigned i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
}

void strata_reader_free(strata_reader *reader)
{
    if (!reader)
        return;
    trace_free(reader->trace);
    names_done(&reader->paths);
    names_done(&reader->events);
    free(reader->xen_version);
    free(reader->cpu_vendor);
    free(reader->tracefs);
    free(reader->kallsyms);
    text_done(&reader->text);
    free(reader);
}

const char *strata_reader_error(const strata_reader *reader)
{
    return reader->error;
}

static int fail(strata_reader *reader, int error, const char *what)
{
    snprintf(reader->error, sizeof reader->error, "%s", what);
    return error;
}

/* ---- Opening ---- */

/* Whether options may still be set. */
static int may_set(strata_reader *reader)
{
    if (reader->started)
        return fail(reader, -EBUSY,
                    "captures and options are to be given before the first item is read");
    return 0;
}

static int add_name(strata_reader *reader, struct names *names, const char *name)
{
    int r = may_set(reader);
    char **items;
    char *copy;

    if (r < 0)
        return r;
    items = realloc(names->items, (names->n + 1) * sizeof *items);
    if (!items)
        return fail(reader, -ENOMEM, "out of memory");
    names->items = items;
    copy = strdup(name);
    if (!copy)
        return fail(reader, -ENOMEM, "out of memory");
    items[names->n++] = copy;
    return 0;
}

static int set_name(strata_reader *reader, char **place, const char *name)
{
    int r = may_set(reader);
    char *copy;

    if (r < 0)
        return r;
    copy = strdup(name);
    if (!copy)
        return fail(reader, -ENOMEM, "out of memory");
    free(*place);
    *place = copy;
    return 0;
}

int strata_reader_add(strata_reader *reader, const char *path)
{
    return add_name(reader, &reader->paths, path);
}

int strata_reader_add_events(strata_reader *reader, const char *path)
{
    return add_name(reader, &reader->events, path);
}

int strata_reader_set_xen_version(strata_reader *reader, const char *version)
{
    return set_name(reader, &reader->xen_version, version);
}

int strata_reader_set_cpu_vendor(strata_reader *reader, const char *vendor)
{
    return set_name(reader, &reader->cpu_vendor, vendor);
}

int strata_reader_set_tracefs(strata_reader *reader, const char *path)
{
    return set_name(reader, &reader->tracefs, path);
}

int strata_reader_set_kallsyms(strata_reader *reader, const char *path)
{
    return set_name(reader, &reader->kallsyms, path);
}

int strata_reader_set_host_time(strata_reader *reader, int host_time)
{
    int r = may_set(reader);

    if (r == 0)
        reader->options.host_time = host_time != 0;
    return r;
}

int strata_reader_set_no_header(strata_reader *reader, int no_header)
{
    int r = may_set(reader);

    if (r == 0)
        reader->options.no_header = no_header != 0;
    return r;
}

int strata_reader_set_keep_going(strata_reader *reader, int keep_going)
{
    int r = may_set(reader);

    if (r == 0)
        reader->options.reader.keep_going = keep_going != 0;
    return r;
}

int strata_reader_set_cpu_hz(strata_reader *reader, uint64_t hz)
{
    int r = may_set(reader);

    if (r == 0)
        reader->options.cpu_hz = hz;
    return r;
}

static int open_trace(strata_reader *reader)
{
    struct fault fault;
    int r;

    reader->started = true;
    if (reader->paths.n == 0)
        return fail(reader, -EINVAL, "no capture was added to read");
    reader->options.events = (const char *const *)reader->events.items;
    reader->options.n_events = reader->events.n;
    reader->options.xen_version = reader->xen_version;
    reader->options.cpu_vendor = reader->cpu_vendor;
    reader->options.tracefs = reader->tracefs;
    reader->options.kallsyms = reader->kallsyms;

    fault_clear(&fault);
    r = trace_open((const char *const *)reader->paths.items, reader->paths.n, &reader->options,
                   &reader->trace, &fault);
    if (r < 0) {
        if (!fault.error)
            fault_plain(&fault, r, NULL, "cannot open: %s", strerror(-r));
        fault_print(&fault, reader->error, sizeof reader->error);
    }
    return r;
}

/* ---- Moving ---- */

/* Takes the next run. What it returns is reader->result's. */
static int next_run(strata_reader *reader)
{
    const struct item *items;
    int r = 0;

    if (!reader->started)
        r = open_trace(reader);
    if (r < 0)
        return r;
    r = trace_next(reader->trace, &items);
    if (r > 0) {
        reader->next = items;
        reader->end = items + r;
        return 1;
    }
    if (r < 0) {
        struct fault fault = reader->trace->source->fault;

        if (!fault.error)
            fault_plain(&fault, r, NULL, "cannot read on: %s", strerror(-r));
        fault_print(&fault, reader->error, sizeof reader->error);
    }
    return r;
}

int strata_reader_next(strata_reader *reader)
{
    reader->has_values = false;
    if (reader->next == reader->end) {
        reader->item = NULL;
        if (reader->result == 1)
            reader->result = next_run(reader);
        if (reader->result <= 0)
            return reader->result;
    }
    reader->item = reader->next++;
    return reader->item->kind == ITEM_EVENT ? STRATA_EVENT : STRATA_LOSS;
}

/* ---- The item ---- */

static const struct origin *origin_of(const strata_reader *reader)
{
    return reader->item ? reader->item->origin : NULL;
}

static const struct event_class *class_of(const strata_reader *reader)
{
    return reader->item && reader->item->kind == ITEM_EVENT ? reader->item->class : NULL;
}

static const struct item *loss_of(const strata_reader *reader)
{
    return reader->item && reader->item->kind == ITEM_LOSS ? reader->item : NULL;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

int64_t strata_reader_time(const strata_reader *reader)
{
    return reader->item ? reader->item->time : STRATA_TIME_UNKNOWN;
}

uint64_t strata_reader_clock_hz(const strata_reader *reader)
{
    const struct origin *origin = origin_of(reader);

    return origin ? origin->clock.hz : 0;
}

const char *strata_reader_clock(const strata_reader *reader)
{
    const struct origin *origin = origin_of(reader);

    return or_empty(origin ? origin->clock.name : NULL);
}

const char *strata_reader_layer(const strata_reader *reader)
{
    const struct origin *origin = origin_of(reader);

    return or_empty(origin ? layer_name(origin->layer) : NULL);
}

const char *strata_reader_format(const strata_reader *reader)
{
    const struct origin *origin = origin_of(reader);

    return or_empty(origin ? origin->format : NULL);
}

const char *strata_reader_path(const strata_reader *reader)
{
    const struct origin *origin = origin_of(reader);

    return or_empty(origin ? origin->path : NULL);
}

int32_t strata_reader_cpu(const strata_reader *reader)
{
    return reader->item ? reader->item->cpu : CPU_UNKNOWN;
}

int32_t strata_reader_pid(const strata_reader *reader)
{
    return reader->item ? reader->item->pid : PID_UNKNOWN;
}

uint32_t strata_reader_error_ns(const strata_reader *reader)
{
    return reader->item ? reader->item->error_ns : 0;
}

int32_t strata_reader_vcpu(const strata_reader *reader)
{
    return reader->item ? reader->item->vcpu : VCPU_UNKNOWN;
}

uint64_t strata_reader_lost(const strata_reader *reader)
{
    const struct item *loss = loss_of(reader);

    return loss ? loss->lost : 0;
}

int64_t strata_reader_lost_since(const strata_reader *reader)
{
    const struct item *loss = loss_of(reader);

    return loss ? loss->since : STRATA_TIME_UNKNOWN;
}

uint64_t strata_reader_skipped(const strata_reader *reader)
{
    const struct item *loss = loss_of(reader);

    return loss && loss->cause == LOSS_UNREADABLE ? loss->skipped : 0;
}

const char *strata_reader_name(const strata_reader *reader)
{
    const struct event_class *class = class_of(reader);

    return or_empty(class ? class->name : NULL);
}

const char *strata_reader_group(const strata_reader *reader)
{
    const struct event_class *class = class_of(reader);

    return or_empty(class ? class->group : NULL);
}

/* ---- Fields ---- */

unsigned strata_reader_n_fields(const strata_reader *reader)
{
    const struct event_class *class = class_of(reader);

    return class ? class->n_fields : 0;
}

const char *strata_reader_field_name(const strata_reader *reader, unsigned field)
{
    return field < strata_reader_n_fields(reader) ? class_of(reader)->fields[field].name : NULL;
}

const char *strata_reader_field_type(const strata_reader *reader, unsigned field)
{
    return field < strata_reader_n_fields(reader) ? class_of(reader)->fields[field].c_type : NULL;
}

static strata_value public_value(const struct field *field, const struct value *value)
{
    strata_value v = {.type = STRATA_ABSENT};

    if (!value->present)
        return v;
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_CHAR: v.type = STRATA_UINT; break;
    case FIELD_INT: v.type = STRATA_INT; break;
    case FIELD_BOOL: v.type = STRATA_BOOL; break;
    case FIELD_POINTER: v.type = STRATA_POINTER; break;
    case FIELD_FLOAT: v.type = STRATA_FLOAT; break;
    case FIELD_STRING:
    case FIELD_BYTES:
        v.type = field->type == FIELD_STRING ? STRATA_STRING : STRATA_BYTES;
        v.data = value->s;
        v.size = value->len;
        return v;
    }
    v.u = v.type == STRATA_BOOL ? value->u != 0 : value->u;
    return v;
}

strata_value strata_reader_field(strata_reader *reader, unsigned field)
{
    if (field >= strata_reader_n_fields(reader))
        return (strata_value){.type = STRATA_ABSENT};
    if (!reader->has_values) {
        item_values(reader->item, reader->values);
        reader->has_values = true;
    }
    return public_value(&reader->item->class->fields[field], &reader->values[field]);
}

strata_value strata_reader_field_named(strata_reader *reader, const char *name)
{
    unsigned n = strata_reader_n_fields(reader);
    unsigned i = 0;

    while (i < n && strcmp(reader->item->class->fields[i].name, name) != 0)
        i++;
    return strata_reader_field(reader, i);
}

int strata_reader_text(strata_reader *reader, char *buf, size_t size)
{
    struct text *text = &reader->text;
    size_t len;

    text->next = text->start;
    if (class_of(reader))
        item_put_text(reader->item, text);
    if (text->error < 0) {
        text_done(text);
        *text = TEXT_IN_MEMORY;
        return fail(reader, -ENOMEM, "out of memory");
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
