/* SPDX-License-Identifier: MIT */
/* Writes files of QEMU's simple trace backend, version 4, in this machine's byte order:
 *
 *   file header      u64 0xffffffffffffffff, u64 0xf2b177cb0aa429b4, u64 4
 *   names an event   u64 0, u64 event id, u32 length, name without a NUL
 *   event            u64 1, u64 event id, u64 time in ns, u32 length (from the id on),
 *                    u32 pid, then the arguments: u64, or u32 length and bytes of a string
 *   dropped events   an event with the id 0xfffffffffffffffe and one argument: how many; 0 if the
 *                    number is unknown
 *
 * Fields that a record lacks, because its layout has grown since, are 0 or "". If an event has more than ten fields,
 * its tenth argument has the last ones as text (export/simpletrace/simpletrace.h).
 *
 * The format has no CPUs and no vCPUs. A reader needs the declarations of the events: from the traced QEMU, or written
 * by export/simpletrace/trace_events.c.
 *
 * Source of the facts: the writer (trace/simple.c) and the reader (scripts/simpletrace.py) of QEMU 7.2. */

#include "export/simpletrace/simpletrace.h"

#include <string.h>

#include "base/bytes.h"
#include "event/class_map.h"
#include "event/program.h"
#include "export/export.h"
#include "export/put_binary.h"
#include "tables/names.h"

#define HEADER_ID UINT64_C(0xffffffffffffffff)
#define HEADER_MAGIC UINT64_C(0xf2b177cb0aa429b4)
#define DROPPED_ID UINT64_C(0xfffffffffffffffe)

enum {
    TYPE_MAPPING = 0,
    TYPE_EVENT = 1,
};

#define TYPE_SIZE 8
#define HEAD_SIZE 24 /* of a record, from its id on */
/* Longest record; strings are cut. No writer makes longer records, so readers need not accept them. */
#define RECORD_MAX (192 * 1024)

/* How an event's arguments are made. */
struct simpletrace_class {
    uint64_t id;
    bool known;
    bool words; /* no argument is a string */
};

struct simpletrace {
    struct sink sink;
    struct text *out;
    struct class_names names;
    struct simpletrace_class *classes; /* by class->index */
    unsigned n_classes;
    uint64_t n_ids;
    struct map id_of; /* id + 1 by name */
    struct text arguments;
    struct text scratch;
};

static _cold_ struct simpletrace_class *make_class(struct simpletrace *st,
                                                   const struct event_class *class)
{
    struct simpletrace_class *c;
    const char *name;
    bool is_new;

    if (class_map_grow(st->classes, st->n_classes, class) < 0)
        return NULL;
    c = &st->classes[class->index];
    name = class_names_get(&st->names, class, &is_new);
    if (!name)
        return NULL;
    if (is_new) {
        uint64_t id = st->n_ids++;

        if (map_put_str(&st->id_of, name, strlen(name), (void *)(uintptr_t)(id + 1)) < 0)
            return NULL;
        put_u64(st->out, TYPE_MAPPING);
        put_u64(st->out, id);
        put_u32(st->out, (uint32_t)strlen(name));
        text_put_str(st->out, name);
    }
    c->id = (uintptr_t)map_get_str(&st->id_of, name, strlen(name)) - 1;
    c->words = !simpletrace_has_rest(class);
    for (unsigned i = 0; i < class->n_fields; i++)
        c->words = c->words && !simpletrace_is_string(&class->fields[i]);
    c->known = true;
    return c;
}

static void put_head(struct text *out, uint64_t id, const struct item *item, size_t size)
{
    char *p = text_room(out, TYPE_SIZE + HEAD_SIZE);

    store_u64(p, TYPE_EVENT);
    store_u64(p + 8, id);
    store_u64(p + 16, item->time == TIME_UNKNOWN ? 0 : (uint64_t)export_ns(item, item->time));
    store_u32(p + 24, (uint32_t)(HEAD_SIZE + size));
    store_u32(p + 28, item->pid == PID_UNKNOWN ? 0 : (uint32_t)item->pid);
    out->next = p + TYPE_SIZE + HEAD_SIZE;
}

static void put_string(struct simpletrace *st, const char *s, size_t len)
{
    size_t left = RECORD_MAX - MIN(text_len(&st->arguments), (size_t)RECORD_MAX);

    len = MIN(len, left);
    put_u32(&st->arguments, (uint32_t)len);
    text_put(&st->arguments, s, len);
}

static void put_argument(struct simpletrace *st, const struct field *field,
                         const struct value *value)
{
    if (!simpletrace_is_string(field)) {
        put_u64(&st->arguments, value->present ? value->u : 0);
    } else if (field->type == FIELD_STRING) {
        put_string(st, value->s, value->len);
    } else {
        st->scratch.next = st->scratch.start;
        if (value->present)
            value_put(field, value, &st->scratch);
        put_string(st, st->scratch.start ? st->scratch.start : "", text_len(&st->scratch));
    }
}

/* Puts the fields that are not separate arguments. */
static void put_rest(struct simpletrace *st, const struct event_class *class,
                     const struct value *values)
{
    struct text *text = &st->scratch;

    text->next = text->start;
    for (unsigned i = simpletrace_arguments(class); i < class->n_fields; i++) {
        if (!values[i].present)
            continue;
        if (text_len(text) > 0)
            text_put_char(text, ' ');
        text_put_str(text, class->fields[i].name);
        text_put_char(text, '=');
        value_put(&class->fields[i], &values[i], text);
    }
    put_string(st, text->start ? text->start : "", text_len(text));
}

static int put_event(struct simpletrace *st, const struct item *item)
{
    const struct event_class *class = item->class;
    const struct simpletrace_class *c =
        likely(class->index < st->n_classes && st->classes[class->index].known)
            ? &st->classes[class->index]
            : make_class(st, class);
    struct value values[FIELDS_MAX];

    if (unlikely(!c))
        return export_no_memory(&st->sink.error);
    item_values(item, values);
    if (likely(c->words)) {
        char *p;

        put_head(st->out, c->id, item, 8 * (size_t) class->n_fields);
        p = text_room(st->out, 8 * FIELDS_MAX);
        for (unsigned i = 0; i < class->n_fields; i++)
            store_u64(p + 8 * i, values[i].present ? values[i].u : 0);
        st->out->next = p + 8 * class->n_fields;
        return 0;
    }
    st->arguments.next = st->arguments.start;
    for (unsigned i = 0; i < simpletrace_arguments(class); i++)
        put_argument(st, &class->fields[i], &values[i]);
    if (simpletrace_has_rest(class))
        put_rest(st, class, values);
    if (st->arguments.error || st->scratch.error)
        return export_no_memory(&st->sink.error);
    put_head(st->out, c->id, item, text_len(&st->arguments));
    text_put(st->out, st->arguments.start, text_len(&st->arguments));
    return 0;
}

static void put_loss(struct simpletrace *st, const struct item *item)
{
    put_head(st->out, DROPPED_ID, item, 8);
    put_u64(st->out, item->lost == LOST_UNKNOWN ? 0 : item->lost);
}

static int simpletrace_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct simpletrace *st = container_of(sink, struct simpletrace, sink);

    for (unsigned i = 0; i < n; i++) {
        if (likely(items[i].kind == ITEM_EVENT)) {
            int r = put_event(st, &items[i]);
            if (r < 0)
                return r;
        } else {
            put_loss(st, &items[i]);
        }
    }
    return 0;
}

static int simpletrace_finish(struct sink *sink)
{
    (void)sink;
    return 0;
}

static void simpletrace_free(struct sink *sink)
{
    struct simpletrace *st = container_of(sink, struct simpletrace, sink);

    class_names_done(&st->names);
    map_done(&st->id_of);
    text_done(&st->arguments);
    text_done(&st->scratch);
    free(st->classes);
    free(st);
}

int export_simpletrace_open(const struct export_options *options, struct sink **ret_sink,
                            struct error *error)
{
    static const struct sink_ops ops = {
        .put = simpletrace_put, .finish = simpletrace_finish, .free = simpletrace_free};
    struct simpletrace *st = calloc(1, sizeof *st);

    if (!st)
        return export_no_memory(error);
    st->sink.ops = &ops;
    st->out = options->out;
    st->names.share = true;
    st->arguments = TEXT_IN_MEMORY;
    st->scratch = TEXT_IN_MEMORY;
    put_u64(st->out, HEADER_ID);
    put_u64(st->out, HEADER_MAGIC);
    put_u64(st->out, 4);
    *ret_sink = &st->sink;
    return 0;
}
