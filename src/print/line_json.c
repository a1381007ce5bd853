/* SPDX-License-Identifier: MIT */
#include "base/number.h"
#include "event/kernel_event.h"
#include "print/class_table.h"
#include "print/json.h"
#include "print/name_cells.h"
#include "print/time_column.h"
#include "print/view.h"

struct line_json {
    struct sink sink;
    struct text *out; /* borrowed; the caller checks its error */
    struct view_options options;
    struct time_column time;
    /* `,"group":"sched","event":"sched_switch","fields":{`, then what json_fields_make() makes. */
    struct class_table classes;
    struct name_cells names;
};

static void make_class(const struct event_class *class, struct text *text)
{
    struct text piece = TEXT_IN_MEMORY;

    if (class->group && *class->group) {
        text_put_literal(&piece, ",\"group\":");
        json_put_str(&piece, class->group);
    }
    text_put_literal(&piece, ",\"event\":");
    json_put_str(&piece, class->name);
    text_put_literal(&piece, ",\"fields\":{");
    json_piece_put(text, &piece);
    text_done(&piece);
    json_fields_make(class, text);
}

/* Puts `"KEY":12.000000000,"KEY_ns":12000000000`. */
static void put_seconds(struct line_json *line, struct text *out, const struct clock *clock,
                        const char *key, size_t key_len, int64_t time)
{
    char *p = text_room(out, 4 * TIME_COLUMN_MAX);
    char *seconds;
    size_t whole;

    *p++ = '"';
    memcpy(p, key, key_len);
    memcpy(p + key_len, "\":", 2);
    seconds = p + key_len + 2;
    p = time_column_put(&line->time, clock, seconds, time);
    whole = (size_t)(p - seconds) - 10;
    memcpy(p, ",\"", 2);
    memcpy(p + 2, key, key_len);
    p += 2 + key_len;
    memcpy(p, "_ns\":", 5);
    p += 5;
    if (likely(*seconds >= '1' && *seconds <= '9')) {
        /* The same digits without the point. */
        memmove(p, seconds, whole);
        memmove(p + whole, seconds + whole + 1, 9);
        p += whole + 9;
    } else {
        p = number_sdec(p, clock_to_ns(clock, time));
    }
    out->next = p;
}

/* If the rate is unknown, puts `"ticks":12` or `"since_ticks":12`. */
static void put_time(struct line_json *line, struct text *out, const struct item *item)
{
    const struct clock *clock = &item->origin->clock;

    if (likely(clock->hz != 0)) {
        put_seconds(line, out, clock, "time", 4, item->time);
        return;
    }
    text_put_literal(out, "\"ticks\":");
    text_put_i64(out, item->time);
}

static void put_since(struct line_json *line, struct text *out, const struct item *item)
{
    const struct clock *clock = &item->origin->clock;

    if (clock->hz != 0) {
        put_seconds(line, out, clock, "since", 5, item->since);
        return;
    }
    text_put_literal(out, "\"since_ticks\":");
    text_put_i64(out, item->since);
}

static void put_number(struct text *out, const char *key, size_t key_len, int32_t v)
{
    text_put(out, key, key_len);
    text_put_i64(out, v);
}
#define PUT_NUMBER(out, key, v) put_number((out), "" key, sizeof(key) - 1, (v))

static void put_vcpu(struct text *out, const struct origin *origin, int32_t vcpu)
{
    struct text name = TEXT_IN_MEMORY;

    if (!origin->put_vcpu) {
        PUT_NUMBER(out, ",\"vcpu\":", vcpu);
        return;
    }
    origin->put_vcpu(origin, vcpu, &name);
    text_put_literal(out, ",\"vcpu\":");
    json_put_string(out, name.start ? name.start : "", text_len(&name));
    text_done(&name);
}

/* Puts the members that events and losses have in common. */
static void put_common(struct line_json *line, struct text *out, const struct item *item)
{
    const struct origin *origin = item->origin;
    const char *name = item_task_name(item);

    text_put_char(out, '{');
    if (likely(item->time != TIME_UNKNOWN)) {
        put_time(line, out, item);
        text_put_char(out, ',');
    }
    if (line->options.errors || item->error_ns) {
        text_put_literal(out, "\"error_ns\":");
        if (item_error_is_known(item))
            text_put_u64(out, item->error_ns);
        else
            text_put_literal(out, "null");
        text_put_char(out, ',');
    }
    text_put_literal(out, "\"layer\":\"");
    text_put_str(out, layer_name(origin->layer));
    text_put_char(out, '"');
    if (line->options.origin_number)
        PUT_NUMBER(out, ",\"source\":",
                   (int32_t)line->options.origin_number(line->options.origin_arg, origin));
    if (item->cpu != CPU_UNKNOWN)
        PUT_NUMBER(out, ",\"cpu\":", item->cpu);
    if (item->pid != PID_UNKNOWN)
        PUT_NUMBER(out, ",\"pid\":", item->pid);
    if (name && *name) {
        text_put_literal(out, ",\"comm\":");
        json_put_str(out, name);
    }
    if (item->vcpu != VCPU_UNKNOWN)
        put_vcpu(out, origin, item->vcpu);
}

static int put_event(struct line_json *line, const struct item *item)
{
    struct text *out = line->out;
    const struct event_class *class = item->class;
    const struct class_piece *piece = class_table_get(&line->classes, class);
    struct kernel_context context;
    struct value values[FIELDS_MAX];

    if (unlikely(!piece))
        return -ENOMEM;
    put_common(line, out, item);
    if (line->options.flags && kernel_event_context(item, &context)) {
        PUT_NUMBER(out, ",\"flags\":", context.flags);
        PUT_NUMBER(out, ",\"preempt_count\":", context.preempt_count);
    }
    json_piece_copy(out, piece->text);
    item_values(item, values);
    json_fields_put(out, class, values, json_piece_next(piece->text));
    text_put_char(out, '}');
    if (piece->named)
        name_cells_put(&line->names, out, item, values, piece);
    text_put_literal(out, "}\n");
    return 0;
}

static void put_loss(struct line_json *line, const struct item *item)
{
    struct text *out = line->out;

    put_common(line, out, item);
    text_put_literal(out, ",\"lost\":");
    if (item->lost == LOST_UNKNOWN)
        text_put_literal(out, "null");
    else
        text_put_u64(out, item->lost);
    if (item->since != TIME_UNKNOWN) {
        text_put_char(out, ',');
        put_since(line, out, item);
    }
    if (item->cause == LOSS_UNREADABLE) {
        text_put_literal(out, ",\"cause\":\"unreadable\",\"skipped_bytes\":");
        text_put_u64(out, item->skipped);
    } else {
        text_put_literal(out, ",\"cause\":\"dropped\"");
    }
    text_put_literal(out, "}\n");
}

static int line_json_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct line_json *line = container_of(sink, struct line_json, sink);

    for (unsigned i = 0; i < n; i++) {
        if (likely(items[i].kind == ITEM_EVENT)) {
            if (put_event(line, &items[i]) < 0)
                return -ENOMEM;
        } else {
            put_loss(line, &items[i]);
        }
    }
    return 0;
}

static void line_json_free(struct sink *sink)
{
    struct line_json *line = container_of(sink, struct line_json, sink);

    class_table_done(&line->classes);
    name_cells_done(&line->names);
    free(line);
}

int line_json_open(const struct view_options *options, struct text *out, struct sink **ret_sink)
{
    static const struct sink_ops ops = {.put = line_json_put, .free = line_json_free};
    struct line_json *line = calloc(1, sizeof *line);

    if (!line)
        return -ENOMEM;
    line->sink.ops = &ops;
    line->out = out;
    line->options = *options;
    line->classes.make = make_class;
    name_cells_init(&line->names, ",\"names\":{", "}", text_put);
    *ret_sink = &line->sink;
    return 0;
}
