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
 * "args" has the event's fields, as in strata report's JSON, and what strata tells beside them. */

#include <string.h>

#include "base/number.h"
#include "event/value.h"
#include "export/marks.h"
#include "view/class_table.h"
#include "view/json.h"

struct chrome {
    struct export export;
    struct marks marks;
    struct text *out;
    /* `"name":"sched_switch",`, `"cat":"sched","args":{`, then what json_fields_make() makes. */
    struct class_table classes;
    bool started;
    int error;
};

static struct chrome *chrome_of(struct marks *marks)
{
    return container_of(marks, struct chrome, marks);
}

static void make_class(const struct event_class *class, struct text *text)
{
    const char *category =
        class->group && *class->group ? class->group : layer_name(class->origin->layer);
    struct text piece = TEXT_IN_MEMORY;

    text_put_literal(&piece, ",\"name\":");
    json_put_str(&piece, class->name);
    json_piece_put(text, &piece);
    text_put_literal(&piece, ",\"cat\":");
    json_put_str(&piece, category);
    json_piece_put(text, &piece);
    text_done(&piece);
    json_fields_make(class, text);
}

/* `{"ph":"B","pid":1,"tid":2,"ts":3.456` */
static void begin(struct text *out, char kind, const struct track *track, int64_t ns)
{
    char *p = text_room(out, 5 * NUMBER_MAX + 64);
    uint64_t v = (uint64_t)ns;

    memcpy(p, ",\n{\"ph\":\"", 9);
    p[9] = kind;
    memcpy(p + 10, "\",\"pid\":", 8);
    p = number_dec(p + 18, track->group->track.number);
    memcpy(p, ",\"tid\":", 7);
    p = number_dec(p + 7, track->number);
    memcpy(p, ",\"ts\":", 6);
    p += 6;
    if (unlikely(ns < 0)) {
        *p++ = '-';
        v = -v;
    }
    p = number_dec(p, v / 1000);
    *p++ = '.';
    out->next = number_dec_fixed(p, v % 1000, 3);
}

static void put_own_number(struct text *out, const char *key, size_t len, int64_t v)
{
    text_put(out, key, len);
    text_put_i64(out, v);
}
#define PUT_OWN(out, key, v) put_own_number(out, "\"" key "\":", sizeof(key) + 2, (v))

static void put_beside(struct text *out, const struct mark *mark, const char *between)
{
    const struct item *item = mark->item;
    const struct origin *origin = item->origin;

    if (mark_tells_cpu(mark)) {
        text_put_str(out, between);
        PUT_OWN(out, MARK_OWN "cpu", item->cpu);
        between = ",";
    }
    if (mark_tells_pid(mark)) {
        const char *name = origin->task_name ? origin->task_name(origin, item->pid) : NULL;

        text_put_str(out, between);
        PUT_OWN(out, MARK_OWN "pid", item->pid);
        between = ",";
        if (name && *name) {
            text_put_literal(out, ",\"" MARK_OWN "comm\":");
            json_put_str(out, name);
        }
    }
    if (mark_tells_vcpu(mark)) {
        struct text name = TEXT_IN_MEMORY;

        text_put_str(out, between);
        text_put_literal(out, "\"" MARK_OWN "vcpu\":");
        if (origin->put_vcpu) {
            origin->put_vcpu(origin, item->vcpu, &name);
            json_put_string(out, name.start ? name.start : "", text_len(&name));
            text_done(&name);
        } else {
            text_put_i64(out, item->vcpu);
        }
        between = ",";
    }
    if (item->error_ns) {
        text_put_str(out, between);
        PUT_OWN(out, MARK_OWN "error_ns", item->error_ns);
    }
}

static void put_loss(struct text *out, const struct item *item)
{
    text_put_literal(out, "\"lost\":");
    if (item->lost == LOST_UNKNOWN)
        text_put_literal(out, "null");
    else
        text_put_u64(out, item->lost);
    if (item->cause == LOSS_UNREADABLE) {
        text_put_literal(out, ",\"cause\":\"unreadable\",");
        PUT_OWN(out, "skipped_bytes", item->skipped);
    } else {
        text_put_literal(out, ",\"cause\":\"dropped\"");
    }
    put_beside(out, &(struct mark){.item = item, .track = &(struct track){.cpu = item->cpu}}, ",");
}

/* `,"args":{…}` of an event. */
static void put_event_args(struct text *out, const struct mark *mark, const char *pieces)
{
    const struct item *item = mark->item;
    const char *between = item->class->n_fields ? "," : "";

    text_put_literal(out, ",\"args\":{");
    json_fields_put(out, item, pieces);
    if (mark->kind != MARK_INSTANT) {
        text_put_str(out, between);
        if (mark->kind == MARK_BEGIN)
            text_put_literal(out, "\"" MARK_OWN "begin\":");
        else
            text_put_literal(out, "\"" MARK_OWN "end\":");
        json_put_str(out, item->class->name);
        between = ",";
    }
    put_beside(out, mark, between);
    text_put_char(out, '}');
}

static void put_flow(struct text *out, const struct mark *mark)
{
    begin(out, mark->flow_joins ? 'f' : 's', mark->track, mark->ns);
    text_put_literal(out, ",\"bp\":\"e\",\"name\":\"request\",\"cat\":\"flow\",\"id\":");
    text_put_u64(out, mark->flow);
    text_put_char(out, '}');
}

static void put_counter(struct text *out, const struct mark *mark)
{
    begin(out, 'C', mark->track, mark->ns);
    text_put_literal(out, ",\"name\":");
    json_put_str(out, mark->track->name);
    text_put_literal(out, ",\"args\":{");
    json_put_str(out, mark->track->unit ? mark->track->unit : "value");
    text_put_char(out, ':');
    text_put_i64(out, mark->value);
    text_put_literal(out, "}}");
}

static void chrome_mark(struct marks *marks, const struct mark *mark)
{
    static const char kinds[] = {[MARK_INSTANT] = 'i', [MARK_BEGIN] = 'B', [MARK_END] = 'E'};
    struct chrome *chrome = chrome_of(marks);
    struct text *out = chrome->out;
    const struct class_piece *piece = NULL;
    const char *name = NULL;
    const char *category = NULL;
    const char *fields = NULL;

    if (mark->kind == MARK_COUNTER) {
        put_counter(out, mark);
        return;
    }
    if (mark->item && mark->item->kind == ITEM_EVENT) {
        piece = class_table_get(&chrome->classes, mark->item->class);
        if (unlikely(!piece)) {
            chrome->error = -ENOMEM;
            return;
        }
        name = piece->text;
        category = json_piece_next(name);
        fields = json_piece_next(category);
    }
    begin(out, kinds[mark->kind], mark->track, mark->ns);
    if (mark->kind == MARK_BEGIN) {
        text_put_literal(out, ",\"name\":");
        json_put_string(out, mark->name, mark->name_len);
    } else if (mark->kind == MARK_INSTANT) {
        text_put_literal(out, ",\"s\":\"t\"");
        if (name)
            json_piece_copy(out, name);
        else
            text_put_literal(out, ",\"name\":\"lost\"");
    }
    if (category && mark->kind != MARK_END)
        json_piece_copy(out, category);
    if (fields) {
        put_event_args(out, mark, fields);
    } else if (mark->item) {
        text_put_literal(out, ",\"args\":{");
        put_loss(out, mark->item);
        text_put_char(out, '}');
    } else if (mark->cut) {
        text_put_literal(out, ",\"args\":{\"" MARK_OWN "cut\":");
        json_put_str(out, mark->cut);
        text_put_char(out, '}');
    }
    text_put_char(out, '}');
    if (unlikely(mark->flow != 0))
        put_flow(out, mark);
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
    return parent->parent ? (int64_t)parent->rank * 8 + 1 + track->rank : (int64_t)track->rank * 8;
}

static int chrome_track(struct marks *marks, const struct track *track)
{
    struct text *out = chrome_of(marks)->out;

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

static int chrome_put(struct export *export, const struct item *items, unsigned n)
{
    struct chrome *chrome = container_of(export, struct chrome, export);
    int r;

    if (n > 0)
        start(chrome, &items[0].origin->clock);
    r = marks_put(&chrome->marks, items, n);
    if (r >= 0)
        r = chrome->error;
    return r < 0 ? export_no_memory(&export->fault) : 0;
}

static int chrome_finish(struct export *export)
{
    struct chrome *chrome = container_of(export, struct chrome, export);

    start(chrome, NULL);
    text_put_literal(chrome->out, "\n]}\n");
    return 0;
}

static void chrome_free(struct export *export)
{
    struct chrome *chrome = container_of(export, struct chrome, export);

    marks_done(&chrome->marks);
    class_table_done(&chrome->classes);
    free(chrome);
}

int export_chrome_open(const struct export_options *options, struct export **ret_export,
                       struct fault *fault)
{
    static const struct export_ops ops = {
        .put = chrome_put, .finish = chrome_finish, .free = chrome_free};
    static const struct marks_ops marks_ops = {.track = chrome_track, .mark = chrome_mark};
    struct chrome *chrome = calloc(1, sizeof *chrome);

    if (!chrome)
        return export_no_memory(fault);
    chrome->export.ops = &ops;
    chrome->out = options->out;
    chrome->classes.make = make_class;
    marks_init(&chrome->marks, options, &marks_ops);
    *ret_export = &chrome->export;
    return 0;
}
