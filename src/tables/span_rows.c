/* SPDX-License-Identifier: MIT */
/* Makes the rows of `span`. A span has the keys of the event that begins it, so their text is made then, and kept in a
 * slot until the span ends. An exit has its reason as the key, because its rule has no keys. */
#include <errno.h>

#include "base/macro.h"
#include "event/kernel_event.h"
#include "event/program.h"
#include "tables/internal.h"

/* Longer keys are cut. */
#define KEY_MAX_LEN 512u

static struct key_slot *new_slot(struct span_rows *rows)
{
    struct key_slot *slot;

    if (rows->free) {
        slot = &rows->slots[rows->free];
        rows->free = slot->next_free;
        return slot;
    }
    if ((rows->n_slots & (rows->n_slots - 1)) == 0) {
        uint32_t room = MAX(rows->n_slots * 2, 64u);
        struct key_slot *bigger = realloc(rows->slots, room * sizeof *bigger);

        if (!bigger)
            return NULL;
        rows->slots = bigger;
    }
    if (rows->n_slots == 0)
        rows->slots[rows->n_slots++] = (struct key_slot){0};
    rows->slots[rows->n_slots] = (struct key_slot){0};
    return &rows->slots[rows->n_slots++];
}

static const struct rule_fields *find_fields(struct span_rows *rows, const struct span_kind *kind,
                                             const struct event_class *class)
{
    struct rule_fields *found = &rows->fields[kind->rule_number];

    if (found->class == class)
        return found;
    for (unsigned i = 0; i < kind->rule->n_keys; i++)
        found->fields[i] = kernel_event_field(class, kind->rule->steps[0].keys[i].field);
    if (kind->rule->n_keys == 0)
        exit_class_find(class, &found->exit);
    found->class = class;
    return found;
}

static void put_key(const struct span_key *key, int field, const struct item *item,
                    struct text *text)
{
    struct value value;

    switch (key->kind) {
    case SPAN_KEY_TASK: text_put_i64(text, item->pid); return;
    case SPAN_KEY_CPU: text_put_i64(text, item->cpu); return;
    case SPAN_KEY_VCPU:
        if (item->origin->put_vcpu)
            item->origin->put_vcpu(item->origin, item->vcpu, text);
        else
            text_put_i64(text, item->vcpu);
        return;
    case SPAN_KEY_FIELD: break;
    }
    if (field < 0)
        return;
    value = item_value(item, (unsigned)field);
    if (item->class->fields[field].storage == STORE_SCALAR) {
        value.u >>= key->shift;
        if (key->mask)
            value.u &= key->mask;
    } else {
        value.s += MIN(key->shift, value.len);
        value.len -= MIN(key->shift, value.len);
    }
    value_put(&item->class->fields[field], &value, text);
}

static void put_keys(const struct span_rule *rule, const struct rule_fields *fields,
                     const struct item *item, struct text *text)
{
    if (rule->n_keys == 0)
        exit_item_put_reason(&fields->exit, item, text);
    for (unsigned i = 0; i < rule->n_keys; i++) {
        if (i)
            text_put_char(text, ',');
        put_key(&rule->steps[0].keys[i], fields->fields[i], item, text);
    }
}

static uint64_t begin_span(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct tables_sink *sink = arg;
    struct span_rows *rows = &sink->spans;
    const struct rule_fields *fields = find_fields(rows, kind, item->class);
    struct key_slot *slot;
    uint32_t len;

    if (kind->rule->n_keys == 0 && !fields->exit.begins)
        return 0;
    slot = new_slot(rows);
    if (!slot) {
        rows->no_memory = true;
        return 0;
    }
    rows->text.next = rows->text.start;
    put_keys(kind->rule, fields, item, &rows->text);
    len = (uint32_t)MIN(text_len(&rows->text), (size_t)KEY_MAX_LEN);
    slot->known = !rows->text.error;
    rows->no_memory |= rows->text.error == -ENOMEM;
    if (len > slot->room) {
        uint32_t room = MAX(len, 32u);
        char *bigger = realloc(slot->text, room);

        slot->known = slot->known && bigger;
        rows->no_memory |= !bigger;
        if (bigger) {
            slot->text = bigger;
            slot->room = room;
        }
    }
    slot->len = slot->known ? len : 0;
    if (slot->len)
        memcpy(slot->text, rows->text.start, slot->len);
    return (uint64_t)(slot - rows->slots);
}

static int put_span(struct tables_sink *sink, const struct span *span, enum span_fate fate)
{
    struct span_rows *rows = &sink->spans;
    const struct clock *clock = &span->origin->clock;
    const struct key_slot *slot = span->tag ? &rows->slots[span->tag] : NULL;
    bool complete = fate == SPAN_COMPLETE;
    bool has_duration = complete && !clock_is_order(clock);
    int64_t begin = span_begin(span), end = span_end(span);
    const struct value cells[SPAN_COLUMNS] = {
        [SPAN_COL_NAME] = cell_text(span->kind->name),
        [SPAN_COL_LAYER] = cell_text(layer_name(span->origin->layer)),
        [SPAN_COL_SOURCE] = cell_integer(tables_source(sink, span->origin)),
        [SPAN_COL_BEGIN] = cell_integer(clock_to_ns(clock, begin)),
        [SPAN_COL_END] = cell_integer_if(complete ? clock_to_ns(clock, end) : 0, complete),
        [SPAN_COL_DURATION] =
            cell_integer_if(has_duration ? clock_to_ns(clock, end - begin) : 0, has_duration),
        [SPAN_COL_ERROR] = cell_integer_if(
            span->error_ns,
            has_duration && (sink->options.errors || span->origin->duration_error_ns > 0) &&
                (span->error_ns == 0 || catalogue_errors_are_known(sink->options.catalogue))),
        [SPAN_COL_KEY] = slot && slot->known ? cell_text_of(slot->len ? slot->text : "", slot->len)
                                             : cell_null(),
        [SPAN_COL_CPU] = cell_integer_if(span->cpu, span->cpu != CPU_UNKNOWN),
        [SPAN_COL_PID] = cell_integer_if(span->pid, span->pid != PID_UNKNOWN),
        [SPAN_COL_VCPU] = tables_vcpu(span->origin, span->vcpu, &sink->text),
        [SPAN_COL_CUT] = complete ? cell_null() : cell_text(span_fate_name(fate)),
    };
    int r = sink->ops->row(sink->arg, TABLE_SPAN, cells);

    if (slot) {
        rows->slots[span->tag].next_free = rows->free;
        rows->free = (uint32_t)span->tag;
    }
    return r;
}

static int complete_span(void *arg, const struct span *span, const struct item *item)
{
    (void)item;
    return put_span(arg, span, SPAN_COMPLETE);
}

/* An error is kept as the sink's error. */
static void incomplete_span(void *arg, const struct span *span, enum span_fate fate)
{
    struct tables_sink *sink = arg;

    if (sink->sink.error.code == 0 && put_span(sink, span, fate) < 0)
        (void)tables_no_memory(sink);
}

static const struct spans_ops ops = {
    .begin = begin_span, .complete = complete_span, .incomplete = incomplete_span};

int span_rows_open(struct tables_sink *sink)
{
    struct span_rows *rows = &sink->spans;
    const struct span_rule *rules = sink->options.rules;
    unsigned n = sink->options.n_rules;
    int r = 0;

    rows->text = TEXT_IN_MEMORY;
    for (const struct span_builtin *builtin = span_builtins; n == 0 && builtin->rule && r >= 0;
         builtin++) {
        struct span_rule rule;

        r = span_rule_parse(builtin->rule, NULL, &sink->arena, &rule, &sink->sink.error);
        if (r >= 0)
            r = span_rule_list_add(&rows->builtin, &rule);
    }
    if (r < 0)
        return r;
    if (n == 0) {
        rules = rows->builtin.rules;
        n = rows->builtin.n;
    }
    rows->fields = calloc(n, sizeof *rows->fields);
    if (!rows->fields)
        return -ENOMEM;
    r = spans_init(&rows->spans, sink->options.catalogue, rules, n, &ops, sink);
    rows->wanted = r == 0;
    return r;
}

int span_rows_put(struct tables_sink *sink, const struct item *items, unsigned n)
{
    int r = spans_put(&sink->spans.spans, items, n);

    if (r == 0 && sink->spans.no_memory)
        return tables_no_memory(sink);
    return r < 0 ? r : sink->sink.error.code;
}

void span_rows_done(struct tables_sink *sink)
{
    struct span_rows *rows = &sink->spans;

    if (rows->wanted)
        spans_done(&rows->spans);
    for (uint32_t i = 0; i < rows->n_slots; i++)
        free(rows->slots[i].text);
    free(rows->slots);
    free(rows->fields);
    span_rule_list_done(&rows->builtin);
    text_done(&rows->text);
}
