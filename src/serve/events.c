/* SPDX-License-Identifier: MIT */
#include "serve/events.h"

#include <errno.h>
#include <string.h>

#include "event/program.h"
#include "print/json.h"

/* The index has numbers of sources, which differ if a source of the index is missing from TRACE. */
static int check_sources(const struct server *server, const struct trace *trace,
                         struct error *error)
{
    if (trace->n_missing <= atomic_load(&server->n_missing))
        return 0;
    return error_set(error, -EIO, NULL, "a source of the trace cannot be read: %s",
                     trace->missing ? trace->missing : "");
}

/* Reads the next run of items. If one of several sources fails, it only ends, but the requested events may be in it. */
static int next_run(struct events *events, struct error *error)
{
    int r = trace_next(events->trace, &events->items);
    const struct error *failed = &events->trace->source->error;

    if (r >= 0 && failed->code < 0)
        r = failed->code;
    if (r < 0)
        *error = *failed;
    return r;
}

int events_open(struct exchange *x, int64_t from, struct events *ret, struct error *error)
{
    const struct server *server = x->server;
    const struct server_options *options = &server->options;
    struct events events = {.server = server, .from = from};
    int r;

    x->reads_trace = true;
    r = trace_open(options->paths, options->n_paths, options->trace_options, &events.trace, error);
    if (r < 0)
        return r;
    r = check_sources(server, events.trace, error);
    if (r == 0)
        r = next_run(&events, error);
    if (r < 0) {
        events_close(&events);
        return r;
    }
    events.n = (unsigned)r;
    if (r > 0 && from > 0)
        trace_seek(events.trace, clock_from_ns(&events.items[0].origin->clock, (uint64_t)from));
    *ret = events;
    return 0;
}

void events_close(struct events *events)
{
    events->trace = trace_free(events->trace);
}

int events_next(struct events *events, const struct item **ret_item, int64_t *ret_time,
                struct error *error)
{
    for (;;) {
        for (; events->i < events->n; events->i++) {
            const struct item *item = &events->items[events->i];
            int64_t time = clock_to_ns(&item->origin->clock, item->time);

            if (item->time == TIME_UNKNOWN || time < events->from)
                continue;
            events->i++;
            *ret_item = item;
            *ret_time = time;
            return 1;
        }
        events->n_read += events->n;
        if (events->n_read > EVENTS_READ_MAX || atomic_load(&events->server->stops))
            return -ECANCELED;
        events->i = 0;
        int r = next_run(events, error);
        if (r <= 0) {
            events->n = 0;
            return r;
        }
        events->n = (unsigned)r;
    }
}

static bool may_be(int32_t of_item, int32_t of_track)
{
    return of_item < 0 || of_track < 0 || of_item == of_track;
}

bool events_on_track(const struct events *events, const struct item *item,
                     const struct index_track *track)
{
    return trace_input_of(events->trace, item->origin) == track->source &&
           may_be(item->cpu, track->cpu) && may_be(item->pid, track->pid) &&
           may_be(item->vcpu, track->vcpu);
}

static void put_text(struct json_writer *w, const char *key, struct text *text)
{
    json_write_key(w, key);
    answer_put_text(w, text);
}

static void put_known(struct json_writer *w, const char *key, int32_t value)
{
    if (value < 0)
        return;
    json_write_key(w, key);
    json_write_i64(w, value);
}

static void put_vcpu(struct json_writer *w, const struct item *item)
{
    struct text text = TEXT_IN_MEMORY;

    if (item->vcpu == VCPU_UNKNOWN)
        return;
    if (item->origin->put_vcpu)
        item->origin->put_vcpu(item->origin, item->vcpu, &text);
    else
        text_put_i64(&text, item->vcpu);
    put_text(w, "vcpu", &text);
}

/* Writes `[["FIELD","0x40 (NAME)"],…]`: the text of each field that is present. */
static void put_shown(struct json_writer *w, const struct item *item)
{
    const struct event_class *class = item->class;
    struct value values[FIELDS_MAX];
    struct text text = TEXT_IN_MEMORY;
    struct text name = TEXT_IN_MEMORY;

    item_values(item, values);
    json_write_key(w, "shown");
    json_write_array(w);
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (!values[i].present)
            continue;
        value_put(&class->fields[i], &values[i], &text);
        if (item_put_name(item, i, &values[i], &name) && name.start)
            text_printf(&text, " (%.*s)", (int)text_len(&name), name.start);
        if (name.error)
            text.error = name.error;
        text_done(&name);
        json_write_array(w);
        json_write_str(w, class->fields[i].name);
        answer_put_text(w, &text);
        json_write_end(w);
    }
    json_write_end(w);
}

static void put_event(struct json_writer *w, const struct item *item, bool fields)
{
    const struct event_class *class = item->class;
    struct text text = TEXT_IN_MEMORY;

    if (class->group && *class->group)
        text_printf(&text, "%s:", class->group);
    text_put_str(&text, class->name);
    put_text(w, "name", &text);
    item_put_text(item, &text);
    put_text(w, "text", &text);
    if (!fields)
        return;
    json_write_key(w, "fields");
    json_put_fields(&text, item);
    if (text.start && !text.error)
        json_write_raw(w, text.start, text_len(&text));
    else
        w->out->error = text.error ? text.error : -ENOMEM;
    text_done(&text);
    put_shown(w, item);
}

static void put_loss(struct exchange *x, const struct item *item)
{
    struct json_writer *w = &x->answer.json;
    struct text text = TEXT_IN_MEMORY;

    json_write_key(w, "name");
    json_write_str(w, "LOST");
    json_write_key(w, "lost");
    if (item->lost == LOST_UNKNOWN) {
        json_write_raw(w, "null", 4);
        text_put_literal(&text, "events, how many is unknown");
    } else {
        json_write_u64(w, item->lost);
        text_put_u64(&text, item->lost);
        text_put_str(&text, item->lost == 1 ? " event" : " events");
    }
    if (item->since != TIME_UNKNOWN)
        exchange_put_time(x, "since", clock_to_ns(&item->origin->clock, item->since));
    if (item->cause == LOSS_UNREADABLE && item->skipped == 0)
        text_put_literal(&text, ", where the input is damaged");
    else if (item->cause == LOSS_UNREADABLE)
        text_printf(&text, ", with %u damaged bytes of input skipped", item->skipped);
    put_text(w, "text", &text);
}

void events_put_item(struct exchange *x, const struct events *events, const struct item *item,
                     int64_t time, bool fields)
{
    struct json_writer *w = &x->answer.json;
    const char *comm = item_task_name(item);

    json_write_object(w);
    exchange_put_time(x, "time", time);
    exchange_put_error(x, "error_ns", item->error_ns);
    json_write_key(w, "layer");
    json_write_str(w, layer_name(item->origin->layer));
    put_known(w, "source", (int32_t)trace_input_of(events->trace, item->origin));
    put_known(w, "cpu", item->cpu);
    put_known(w, "pid", item->pid);
    if (comm && *comm) {
        json_write_key(w, "comm");
        json_write_str(w, comm);
    }
    put_vcpu(w, item);
    if (item->kind == ITEM_EVENT)
        put_event(w, item, fields);
    else
        put_loss(x, item);
    json_write_end(w);
}
