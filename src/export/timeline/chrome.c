/* SPDX-License-Identifier: MIT */
/* A JSON trace of Chrome's trace viewer: chrome://tracing, and ui.perfetto.dev, open it. Source: "Trace Event
 * Format", of the catapult project.
 *
 * One object with an array of events, a line each; times are microseconds with three decimals. A group of tracks
 * is a process, whose number it has as pid, and a track is a thread, with its number as tid.
 *
 *   M        names and order of processes and threads, when they first occur
 *   i        an event
 *   B, E     begin and end of a slice; "strata.begin" and "strata.end" in its args are the events
 *   C        a value of a counter
 *   s, f     a flow from the slice before it, or to it
 *
 * "args" has the event's fields, as in strata report's JSON but that addresses, and integers that a double cannot
 * hold, are text, and what strata adds to them. */

#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "event/program.h"
#include "event/value.h"
#include "export/export.h"
#include "print/class_table.h"
#include "print/json.h"
#include "tracks/slices.h"

/* The JSON of a slice up to its time, kept per track. */
struct head {
    const struct track *track;
    size_t len;
    char text[2 * NUMBER_MAX + 64];
};

#define HEADS 64 /* a power of two */

struct chrome {
    struct sink sink;
    struct slices slices;
    struct text *out;
    /* `,"name":"sched_switch","cat":"sched","args":{`, the same without the name, then what
     * json_fields_make() makes, then for each field whose values have names `,"strata.name.state":`. */
    struct class_table classes;
    struct head heads[HEADS]; /* by the track's number */
    int64_t second_start;     /* ns, of the second whose digits are kept */
    size_t second_len;        /* 0: none are */
    char second[NUMBER_MAX];
    struct text name; /* in memory: of a value */
    bool started;
    int error;
};

static struct chrome *chrome_of(struct slices *slices)
{
    return container_of(slices, struct chrome, slices);
}

static void make_class(const struct event_class *class, struct text *text)
{
    const char *category =
        class->group && *class->group ? class->group : layer_name(class->origin->layer);
    struct text piece = TEXT_IN_MEMORY;
    struct text key = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < 2; i++) {
        if (i == 0) {
            text_put_literal(&piece, ",\"name\":");
            json_put_str(&piece, class->name);
        }
        text_put_literal(&piece, ",\"cat\":");
        json_put_str(&piece, category);
        text_put_literal(&piece, ",\"args\":{");
        json_piece_put(text, &piece);
    }
    json_fields_make(class, text);
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (!class_may_name(class, i))
            continue;
        text_put_literal(&key, SLICE_OWN "name.");
        text_put_str(&key, class->fields[i].name);
        text_put_char(&piece, ',');
        json_put_string(&piece, key.start, text_len(&key));
        text_put_char(&piece, ':');
        json_piece_put(text, &piece);
        key.next = key.start;
    }
    if (key.error)
        text->error = key.error;
    text_done(&key);
    text_done(&piece);
    json_pieces_end(text);
}

/* The offset of the letter of "ph" in a head. */
#define HEAD_KIND 9

/* `{"ph":" ","pid":1,"tid":2,"ts":` */
static _cold_ void make_head(struct head *head, const struct track *track)
{
    char *p = head->text;

    memcpy(p, ",\n{\"ph\":\" \",\"pid\":", 18);
    p = number_dec(p + 18, track->group->track.number);
    memcpy(p, ",\"tid\":", 7);
    p = number_dec(p + 7, track->number);
    memcpy(p, ",\"ts\":", 6);
    head->len = (size_t)(p + 6 - head->text);
    head->track = track;
}

/* Microseconds. */
static _cold_ char *put_time_slowly(struct chrome *chrome, char *p, int64_t ns)
{
    uint64_t v = (uint64_t)ns;

    chrome->second_len = 0;
    if (ns >= NANOSECONDS) {
        chrome->second_start = ns - ns % NANOSECONDS;
        chrome->second_len = (size_t)(number_dec(chrome->second, v / NANOSECONDS) - chrome->second);
    }
    if (ns < 0) {
        *p++ = '-';
        v = -v;
    }
    p = number_dec(p, v / 1000);
    *p++ = '.';
    return number_dec_fixed(p, v % 1000, 3);
}

/* The same: mostly, the second is that of the event before. */
static inline char *put_time(struct chrome *chrome, char *p, int64_t ns)
{
    uint64_t behind = (uint64_t)ns - (uint64_t)chrome->second_start;

    if (unlikely(behind >= NANOSECONDS || chrome->second_len == 0))
        return put_time_slowly(chrome, p, ns);
    memcpy(p, chrome->second, NUMBER_MAX);
    p = number_dec_fixed(p + chrome->second_len, behind / 1000, 6);
    *p++ = '.';
    return number_dec_fixed(p, behind % 1000, 3);
}

#define BEGIN_MAX (sizeof(struct head) + 2 * NUMBER_MAX)

/* `{"ph":"B","pid":1,"tid":2,"ts":3.456` */
static inline void begin(struct chrome *chrome, char kind, const struct track *track, int64_t ns)
{
    struct head *head = &chrome->heads[track->number % HEADS];
    char *p = text_room(chrome->out, BEGIN_MAX);

    if (unlikely(head->track != track))
        make_head(head, track);
    text_copy_units(p, head->text, head->len);
    p[HEAD_KIND] = kind;
    chrome->out->next = put_time(chrome, p + head->len, ns);
}

/* BETWEEN, a key and a number. */
static inline void put_own_number(struct text *out, const char *between, const char *key,
                                  size_t len, int64_t v)
{
    char *p = text_room(out, 1 + NUMBER_MAX + 64);

    if (*between)
        *p++ = *between;
    memcpy(p, key, len);
    out->next = number_sdec(p + len, v);
}
#define PUT_OWN(out, between, key, v) \
    put_own_number(out, between, "\"" key "\":", sizeof(key) + 2, (v))

static void put_beside(struct text *out, const struct slice *slice, const char *between)
{
    const struct item *item = slice->item;
    const struct origin *origin = item->origin;

    if (slice_tells_cpu(slice)) {
        PUT_OWN(out, between, SLICE_OWN "cpu", item->cpu);
        between = ",";
    }
    if (slice_tells_pid(slice)) {
        const char *name = item_task_name(item);

        PUT_OWN(out, between, SLICE_OWN "pid", item->pid);
        between = ",";
        if (name && *name) {
            text_put_literal(out, ",\"" SLICE_OWN "comm\":");
            json_put_str(out, name);
        }
    }
    if (slice_tells_vcpu(slice)) {
        struct text name = TEXT_IN_MEMORY;

        text_put_str(out, between);
        text_put_literal(out, "\"" SLICE_OWN "vcpu\":");
        if (origin->put_vcpu) {
            origin->put_vcpu(origin, item->vcpu, &name);
            json_put_string(out, name.start ? name.start : "", text_len(&name));
            text_done(&name);
        } else {
            text_put_i64(out, item->vcpu);
        }
        between = ",";
    }
    if (!item_error_is_known(item))
        text_printf(out, "%s\"" SLICE_OWN "error_ns\":null", between);
    else if (item->error_ns)
        PUT_OWN(out, between, SLICE_OWN "error_ns", item->error_ns);
}

static void put_loss(struct text *out, const struct item *item)
{
    text_put_literal(out, "\"lost\":");
    if (item->lost == LOST_UNKNOWN)
        text_put_literal(out, "null");
    else
        text_put_u64(out, item->lost);
    if (item->cause == LOSS_UNREADABLE) {
        text_put_literal(out, ",\"cause\":\"unreadable\"");
        PUT_OWN(out, ",", "skipped_bytes", item->skipped);
    } else {
        text_put_literal(out, ",\"cause\":\"dropped\"");
    }
    put_beside(out, &(struct slice){.item = item, .track = &(struct track){.cpu = item->cpu}}, ",");
}

/* A viewer's numbers are floats: integers beyond this, and addresses, are text. */
#define EXACT_MAX ((int64_t)1 << 53)

#define INTEGER_MAX (NUMBER_MAX + 2)

/* At P, where INTEGER_MAX bytes are free. */
static inline char *put_integer(char *p, bool is_signed, uint64_t v)
{
    bool exact =
        is_signed ? (int64_t)v <= EXACT_MAX && (int64_t)v >= -EXACT_MAX : v <= (uint64_t)EXACT_MAX;

    if (unlikely(!exact))
        *p++ = '"';
    p = is_signed ? number_sdec(p, (int64_t)v) : number_dec(p, v);
    if (unlikely(!exact))
        *p++ = '"';
    return p;
}

static void put_array(struct text *out, const struct field *field, const struct value *value)
{
    unsigned size = field->element;

    text_put_char(out, '[');
    for (uint32_t at = 0; value->len - at >= size; at += size) {
        uint64_t v = load_uint(value->s + at, size, field->swap);
        char *p = text_room(out, 1 + INTEGER_MAX);

        if (at)
            *p++ = ',';
        out->next = put_integer(p, field->element_signed,
                                field->element_signed ? (uint64_t)sign_extend(v, size) : v);
    }
    text_put_char(out, ']');
}

/* Whether its values are hexadecimal, however large they are. */
static bool is_address(const struct field *field)
{
    return field->type == FIELD_POINTER || (field->hex && field->type == FIELD_UINT);
}

static void put_value(struct text *out, const struct field *field, const struct value *value)
{
    if (!value->present) {
        text_put_literal(out, "null");
    } else if (is_address(field)) {
        text_put_literal(out, "\"0x");
        text_put_hex(out, value->u);
        text_put_char(out, '"');
    } else if (field->type == FIELD_INT || field->type == FIELD_UINT) {
        out->next = put_integer(text_room(out, INTEGER_MAX), field->type == FIELD_INT, value->u);
    } else if (field->type == FIELD_BYTES && field_is_array(field)) {
        put_array(out, field, value);
    } else {
        json_put_value(out, field, value);
    }
}

/* The names of values. */
static void name_values(struct chrome *chrome, const struct item *item, const struct value *values,
                        const char *pieces)
{
    const struct event_class *class = item->class;
    struct text *name = &chrome->name;

    for (unsigned i = 0; i < class->n_fields; i++) {
        if (likely(!class_may_name(class, i)))
            continue;
        name->next = name->start;
        if (item_put_name(item, i, &values[i], name)) {
            json_piece_put_units(chrome->out, pieces);
            json_put_string(chrome->out, name->start ? name->start : "", text_len(name));
        }
        pieces = json_piece_next(pieces);
    }
    if (unlikely(name->error))
        chrome->error = name->error;
}

/* The fields of an event; ROOM is enough for all keys, and for values that are numbers. */
static void put_fields(struct chrome *chrome, const struct item *item, const char *pieces,
                       size_t room)
{
    const struct event_class *class = item->class;
    struct text *out = chrome->out;
    struct value values[FIELDS_MAX];
    bool named = false;
    char *p;

    if (class->n_fields == 0)
        return;
    item_values(item, values);
    p = text_room(out, room);
    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct field *field = &class->fields[i];
        const struct value *value = &values[i];

        p = json_piece_copy_units(p, pieces);
        pieces = json_piece_next(pieces);
        named = named || class_may_name(class, i);
        if (likely(value->present && (field->type == FIELD_UINT || field->type == FIELD_INT) &&
                   !is_address(field))) {
            p = put_integer(p, field->type == FIELD_INT, value->u);
        } else if (value->present && is_address(field)) {
            memcpy(p, "\"0x", 3);
            p = number_hex(p + 3, value->u);
            *p++ = '"';
        } else {
            out->next = p;
            put_value(out, field, value);
            p = text_room(out, room);
        }
    }
    out->next = p;
    if (named)
        name_values(chrome, item, values, pieces);
}

/* The same where keys are longer than there is room for at once. */
static void put_long_fields(struct chrome *chrome, const struct item *item, const char *pieces)
{
    const struct event_class *class = item->class;
    struct value values[FIELDS_MAX];

    item_values(item, values);
    for (unsigned i = 0; i < class->n_fields; i++) {
        json_piece_copy(chrome->out, pieces);
        pieces = json_piece_next(pieces);
        put_value(chrome->out, &class->fields[i], &values[i]);
    }
    name_values(chrome, item, values, pieces);
}

/* What is within the args of an event. */
static void put_args(struct chrome *chrome, const struct slice *slice,
                     const struct class_piece *piece, const char *fields)
{
    const struct item *item = slice->item;
    const char *between = item->class->n_fields ? "," : "";
    size_t room = piece->len + item->class->n_fields * (NUMBER_MAX + TEXT_UNIT);
    struct text *out = chrome->out;

    if (likely(room <= TEXT_ROOM_MAX))
        put_fields(chrome, item, fields, room);
    else
        put_long_fields(chrome, item, fields);
    if (slice->kind != SLICE_INSTANT) {
        text_put_str(out, between);
        if (slice->kind == SLICE_BEGIN)
            text_put_literal(out, "\"" SLICE_OWN "begin\":");
        else
            text_put_literal(out, "\"" SLICE_OWN "end\":");
        json_put_str(out, item->class->name);
        between = ",";
    }
    put_beside(out, slice, between);
}

static void put_flow(struct chrome *chrome, const struct slice *slice)
{
    struct text *out = chrome->out;

    begin(chrome, slice->flow_joins ? 'f' : 's', slice->track, slice->ns);
    text_put_literal(out, ",\"bp\":\"e\",\"name\":\"request\",\"cat\":\"flow\",\"id\":");
    text_put_u64(out, slice->flow);
    text_put_char(out, '}');
}

static void put_counter(struct chrome *chrome, const struct slice *slice)
{
    struct text *out = chrome->out;

    begin(chrome, 'C', slice->track, slice->ns);
    text_put_literal(out, ",\"name\":");
    json_put_str(out, slice->track->name);
    text_put_literal(out, ",\"args\":{");
    json_put_str(out, slice->track->unit ? slice->track->unit : "value");
    text_put_char(out, ':');
    text_put_i64(out, slice->value);
    text_put_literal(out, "}}");
}

/* A loss, or the end of a slice that no event ends. */
static void put_other(struct chrome *chrome, const struct slice *slice)
{
    static const char kinds[] = {[SLICE_INSTANT] = 'i', [SLICE_BEGIN] = 'B', [SLICE_END] = 'E'};
    struct text *out = chrome->out;

    begin(chrome, kinds[slice->kind], slice->track, slice->ns);
    if (slice->kind != SLICE_END) {
        text_put_literal(out, ",\"name\":");
        json_put_string(out, slice->name ? slice->name : "lost", slice->name ? slice->name_len : 4);
        text_put_literal(out, ",\"cat\":\"strata\"");
    }
    if (slice->item) {
        text_put_literal(out, ",\"args\":{");
        put_loss(out, slice->item);
        text_put_char(out, '}');
    } else if (slice->cut) {
        text_put_literal(out, ",\"args\":{\"" SLICE_OWN "cut\":");
        json_put_str(out, slice->cut);
        text_put_char(out, '}');
    }
    text_put_char(out, '}');
}

static void chrome_mark(struct slices *slices, const struct slice *slice)
{
    struct chrome *chrome = chrome_of(slices);
    struct text *out = chrome->out;
    const struct class_piece *piece;
    const char *category;

    if (slice->kind == SLICE_COUNTER) {
        put_counter(chrome, slice);
        return;
    }
    if (!slice->item || slice->item->kind != ITEM_EVENT) {
        put_other(chrome, slice);
        return;
    }
    piece = class_table_get(&chrome->classes, slice->item->class);
    if (unlikely(!piece)) {
        chrome->error = -ENOMEM;
        return;
    }
    category = json_piece_next(piece->text);
    if (likely(slice->kind == SLICE_INSTANT)) {
        begin(chrome, 'i', slice->track, slice->ns);
        json_piece_put_units(out, piece->text);
    } else {
        begin(chrome, slice->kind == SLICE_BEGIN ? 'B' : 'E', slice->track, slice->ns);
        if (slice->kind == SLICE_BEGIN) {
            text_put_literal(out, ",\"name\":");
            json_put_string(out, slice->name, slice->name_len);
            json_piece_put_units(out, category);
        } else {
            text_put_literal(out, ",\"args\":{");
        }
    }
    put_args(chrome, slice, piece, json_piece_next(category));
    text_put_literal(out, "}}");
    if (unlikely(slice->flow != 0))
        put_flow(chrome, slice);
}

static void put_metadata(struct text *out, const struct track *track, const char *what)
{
    text_put_literal(out, ",\n{\"ph\":\"M\",\"pid\":");
    text_put_u64(out, track->group->track.number);
    if (track->parent) {
        text_put_literal(out, ",\"tid\":");
        text_put_u64(out, track->number);
    }
    text_put_literal(out, ",\"name\":\"");
    text_put_str(out, track->parent ? "thread_" : "process_");
    text_put_str(out, what);
}

/* The order of tracks that lie in each other, as that of one list. */
static int64_t sort_index(const struct track *track)
{
    const struct track *parent = track->parent;

    if (!parent)
        return track->rank;
    if (parent->kind == TRACK_THREAD)
        return sort_index(parent);
    return parent->parent ? (int64_t)parent->rank * 8 + 1 + track->rank : (int64_t)track->rank * 8;
}

static int chrome_track(struct slices *slices, const struct track *track)
{
    struct text *out = chrome_of(slices)->out;

    /* Threads do not lie in each other. */
    if (track->kind == TRACK_PARENT)
        return 0;
    put_metadata(out, track, "name\",\"args\":{\"name\":");
    json_put_str(out, track->name);
    text_put_literal(out, "}}");
    put_metadata(out, track, "sort_index\",\"args\":{\"sort_index\":");
    text_put_i64(out, sort_index(track));
    text_put_literal(out, "}}");
    return 0;
}

static void start(struct chrome *chrome, const struct clock *clock)
{
    if (chrome->started)
        return;
    text_put_literal(chrome->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":");
    json_put_str(chrome->out, clock ? clock->name : "none");
    text_put_literal(chrome->out,
                     "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_labels\","
                     "\"args\":{\"labels\":\"strata\"}}");
    chrome->started = true;
}

static int chrome_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct chrome *chrome = container_of(sink, struct chrome, sink);
    int r;

    if (n > 0)
        start(chrome, &items[0].origin->clock);
    r = slices_put(&chrome->slices, items, n);
    if (r >= 0)
        r = chrome->error;
    return r < 0 ? export_no_memory(&sink->error) : 0;
}

static int chrome_begin_loss(struct sink *sink, const struct item *item)
{
    struct chrome *chrome = container_of(sink, struct chrome, sink);

    return slices_begin_loss(&chrome->slices, item);
}

static int chrome_finish(struct sink *sink)
{
    struct chrome *chrome = container_of(sink, struct chrome, sink);

    start(chrome, NULL);
    if (slices_finish(&chrome->slices) < 0 || chrome->error < 0)
        return export_no_memory(&sink->error);
    text_put_literal(chrome->out, "\n]}\n");
    return 0;
}

static void chrome_free(struct sink *sink)
{
    struct chrome *chrome = container_of(sink, struct chrome, sink);

    slices_done(&chrome->slices);
    class_table_done(&chrome->classes);
    text_done(&chrome->name);
    free(chrome);
}

int export_chrome_open(const struct export_options *options, struct sink **ret_sink,
                       struct error *error)
{
    static const struct sink_ops ops = {.put = chrome_put,
                                        .begin_loss = chrome_begin_loss,
                                        .finish = chrome_finish,
                                        .free = chrome_free};
    static const struct slices_ops slices_ops = {.track = chrome_track, .slice = chrome_mark};
    const struct slices_options slices_options = {
        .catalogue = options->catalogue,
        .origin_number = options->origin_number,
        .origin_arg = options->origin_arg,
        .rules = options->rules,
        .n_rules = options->n_rules,
    };
    struct chrome *chrome = calloc(1, sizeof *chrome);

    if (!chrome)
        return export_no_memory(error);
    chrome->sink.ops = &ops;
    chrome->out = options->out;
    chrome->classes.make = make_class;
    chrome->name = TEXT_IN_MEMORY;
    if (slices_init(&chrome->slices, &slices_options, &slices_ops) < 0) {
        sink_free(&chrome->sink);
        return export_no_memory(error);
    }
    *ret_sink = &chrome->sink;
    return 0;
}
