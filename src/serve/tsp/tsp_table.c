/* SPDX-License-Identifier: MIT */
/* TSP: the table of events. */

#include <string.h>

#include "event/program.h"
#include "libraries/regex.h"
#include "serve/numbering.h"
#include "serve/tsp/tsp.h"

#define LINES_MAX 5000
#define TAG_HIGHLIGHT 8 /* of lines that match */

static const char *const names[] = {TSP_TABLE, NULL};

enum column {
    COLUMN_TIME,
    COLUMN_ERROR,
    COLUMN_LAYER,
    COLUMN_CPU,
    COLUMN_TASK,
    COLUMN_VCPU,
    COLUMN_EVENT,
    COLUMN_TEXT,
    COLUMNS,
};

static const struct {
    const char *name, *type, *description;
} columns[COLUMNS] = {
    [COLUMN_TIME] = {"Time", "STRING", "seconds of the trace's clock"},
    [COLUMN_ERROR] = {"Error", "NUMBER", "how many ns the time may be off at most"},
    [COLUMN_LAYER] = {"Layer", "STRING", "vmm, guest, host, hypervisor or program"},
    [COLUMN_CPU] = {"CPU", "NUMBER", ""},
    [COLUMN_TASK] = {"Task", "STRING", "name and number of the thread"},
    [COLUMN_VCPU] = {"vCPU", "STRING", ""},
    [COLUMN_EVENT] = {"Event", "STRING", ""},
    [COLUMN_TEXT] = {"Text", "STRING", "the event's fields"},
};

void tsp_table_columns(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    if (!tsp_check_output(x, 7, names))
        return;
    tsp_begin(x, "COMPLETED");
    json_write_array(w);
    for (unsigned i = 0; i < COLUMNS; i++) {
        json_write_object(w);
        tsp_put_number(w, "id", i);
        tsp_put(w, "name", columns[i].name);
        tsp_put(w, "description", columns[i].description);
        tsp_put(w, "type", columns[i].type);
        json_write_end(w);
    }
    json_write_end(w);
    tsp_end(x);
}

/* The requested lines. */
struct lines {
    const struct exchange *x;
    struct numbering *numbering;
    bool by_time;
    int64_t index, time, count;
    unsigned columns[COLUMNS]; /* in the order of the answer */
    unsigned n_columns;
    struct regex *patterns[COLUMNS];
    bool searches, backwards; /* searches: begins at the first line that matches */
    /* For the answer: */
    uint64_t first;
    int64_t n;
};

static void lines_done(struct lines *lines)
{
    for (unsigned i = 0; i < COLUMNS; i++)
        regex_free(lines->patterns[i]);
}

static int bad(struct exchange *x, const char *what)
{
    return answer_error(&x->answer, HTTP_BAD_REQUEST, "%s", what);
}

static void fail(struct exchange *x, int r, const struct error *error)
{
    if (r == -ETIMEDOUT)
        (void)bad(x, "an expression of table_search_expressions takes too long on a line of the "
                     "table; use a simpler one");
    else
        answer_failure(&x->answer, r, error);
}

/* Reads the columns; all if none is named. */
static int read_columns(struct exchange *x, const json_t *ids, struct lines *lines)
{
    if (json_array_size(ids) == 0) {
        for (unsigned i = 0; i < COLUMNS; i++)
            lines->columns[lines->n_columns++] = i;
        return 0;
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);

        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= COLUMNS || lines->n_columns == COLUMNS)
            return bad(x, "requested_table_column_ids has a number that is not a column's");
        lines->columns[lines->n_columns++] = (unsigned)json_integer_value(id);
    }
    return 0;
}

static int read_patterns(struct exchange *x, json_t *expressions, struct lines *lines)
{
    struct error error = {0};
    const char *key;
    json_t *value;
    int r;

    json_object_foreach(expressions, key, value)
    {
        const char *pattern = json_string_value(value);
        unsigned column = (unsigned)(key[0] - '0');

        if (!pattern || column >= COLUMNS || key[1])
            return bad(x, "table_search_expressions is not a map from columns to expressions");
        if (lines->patterns[column])
            return bad(x, "table_search_expressions has a column twice");
        r = regex_compile(pattern, &lines->patterns[column], &error);
        if (r == -EINVAL)
            return bad(x, error.what);
        if (r < 0)
            return answer_failure(&x->answer, r, &error);
    }
    return 0;
}

static int read_lines(struct exchange *x, const struct tsp_query *query, struct lines *lines)
{
    const json_t *index = json_object_get(query->parameters, "requested_table_index");
    const json_t *times = json_object_get(query->parameters, "requested_times");
    const json_t *count = json_object_get(query->parameters, "requested_table_count");
    const json_t *direction = json_object_get(query->parameters, "table_search_direction");
    json_t *expressions = json_object_get(query->parameters, "table_search_expressions");

    if (!json_is_integer(count) || json_integer_value(count) < 0)
        return bad(x, "requested_table_count is not a number of lines");
    lines->count = MIN(json_integer_value(count), LINES_MAX);
    if (json_is_integer(index) && json_integer_value(index) >= 0) {
        lines->index = json_integer_value(index);
    } else if (json_is_integer(json_array_get(times, 0))) {
        lines->by_time = true;
        lines->time = json_integer_value(json_array_get(times, 0));
    } else {
        return bad(x, "requested_table_index or requested_times is required");
    }
    if (read_columns(x, json_object_get(query->parameters, "requested_table_column_ids"), lines) <
            0 ||
        read_patterns(x, expressions, lines) < 0)
        return -EBADMSG;
    lines->searches = json_is_string(direction) && json_object_size(expressions) > 0;
    lines->backwards = lines->searches && strcmp(json_string_value(direction), "PREVIOUS") == 0;
    return 0;
}

static void put_cell(const struct exchange *x, const struct item *item, enum column column,
                     struct text *text)
{
    const char *comm;

    switch (column) {
    case COLUMN_TIME: clock_put_time(&item->origin->clock, item->time, text); break;
    case COLUMN_ERROR:
        if (exchange_is_refuted(x, item->error_ns))
            text_put_char(text, '?');
        else
            text_put_u64(text, item->error_ns);
        break;
    case COLUMN_LAYER: text_put_str(text, layer_name(item->origin->layer)); break;
    case COLUMN_CPU:
        if (item->cpu != CPU_UNKNOWN)
            text_put_i64(text, item->cpu);
        break;
    case COLUMN_TASK:
        comm = item_task_name(item);
        if (comm)
            text_put_str(text, comm);
        if (item->pid != PID_UNKNOWN)
            text_printf(text, "%s%d", comm && *comm ? "-" : "", item->pid);
        break;
    case COLUMN_VCPU:
        if (item->vcpu == VCPU_UNKNOWN)
            break;
        if (item->origin->put_vcpu)
            item->origin->put_vcpu(item->origin, item->vcpu, text);
        else
            text_put_i64(text, item->vcpu);
        break;
    case COLUMN_EVENT:
        if (item->class->group && *item->class->group)
            text_printf(text, "%s:", item->class->group);
        text_put_str(text, item->class->name);
        break;
    case COLUMN_TEXT: item_put_text(item, text); break;
    case COLUMNS: break;
    }
}

/* 1 if all expressions match, 0 if not, -ETIMEDOUT if finding out takes too long, or -ENOMEM. */
static int matches(const struct lines *lines, const struct item *item)
{
    int r = 0;

    for (unsigned i = 0; i < COLUMNS; i++) {
        struct text text = TEXT_IN_MEMORY;

        if (!lines->patterns[i])
            continue;
        put_cell(lines->x, item, (enum column)i, &text);
        r = text.error ? text.error
                       : regex_match(lines->patterns[i], text.start ? text.start : "",
                                     text_len(&text), NULL, 0);
        text_done(&text);
        if (r <= 0)
            break;
    }
    return r;
}

static void put_line(struct exchange *x, const struct lines *lines, const struct item *item,
                     bool is_found)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    tsp_put_number(w, "index", (int64_t)lines->first + lines->n);
    tsp_put_number(w, "tags", is_found ? TAG_HIGHLIGHT : 0);
    json_write_key(w, "cells");
    json_write_array(w);
    for (unsigned i = 0; i < lines->n_columns; i++) {
        struct text text = TEXT_IN_MEMORY;

        json_write_object(w);
        put_cell(x, item, (enum column)lines->columns[i], &text);
        json_write_key(w, "content");
        answer_put_text(w, &text);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_end(w);
}

/* Returns the next event, not a loss. As events_next(). */
static int next_event(struct events *events, const struct item **ret_item, int64_t *ret_time,
                      struct error *error)
{
    int r;

    do
        r = events_next(events, ret_item, ret_time, error);
    while (r > 0 && (*ret_item)->kind != ITEM_EVENT);
    return r;
}

/* Opens EVENTS at PLACE, so that the next event is the event of the place. */
static int open_at(struct exchange *x, const struct numbering_place *place, struct events *ret,
                   struct error *error)
{
    const struct item *item;
    int64_t time;
    int r = events_open(x, place->time, ret, error);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < place->skip && r >= 0; i++) {
        r = next_event(ret, &item, &time, error);
        if (r == 0)
            break;
    }
    if (r < 0)
        events_close(ret);
    return MIN(r, 0);
}

/* Finds the number of the first event at or after lines->time. 1; 0 if there is none; or a negative errno. */
static int find_by_time(struct exchange *x, struct lines *lines, struct error *error)
{
    struct numbering_place place;
    struct events events;
    const struct item *item;
    uint64_t number;
    int64_t time;
    int r = numbering_find_time(lines->numbering, x, lines->time, &place, &number, error);

    if (r <= 0)
        return r;
    r = open_at(x, &place, &events, error);
    if (r < 0)
        return r;
    while ((r = next_event(&events, &item, &time, error)) > 0 && time < lines->time)
        number++;
    events_close(&events);
    lines->index = (int64_t)number;
    return r;
}

/* Finds the first event that matches, from lines->index on. */
static int search_forwards(struct exchange *x, struct lines *lines, struct error *error)
{
    struct numbering_place place;
    struct events events;
    const struct item *item;
    uint64_t number;
    int64_t time;
    int r = numbering_find(lines->numbering, x, (uint64_t)lines->index, &place, &number, error);

    if (r <= 0)
        return r;
    r = open_at(x, &place, &events, error);
    if (r < 0)
        return r;
    while ((r = next_event(&events, &item, &time, error)) > 0 &&
           ((int64_t)number < lines->index || (r = matches(lines, item)) == 0))
        number++;
    events_close(&events);
    lines->index = (int64_t)number;
    return r;
}

/* Finds the last event that matches, from lines->index backwards, place by place. */
static int search_backwards(struct exchange *x, struct lines *lines, struct error *error)
{
    int64_t last = lines->index;
    uint64_t n_read = 0;

    while (last >= 0) {
        struct numbering_place place;
        struct events events;
        const struct item *item;
        uint64_t first;
        int64_t time, found = -1;
        int r = numbering_find(lines->numbering, x, (uint64_t)last, &place, &first, error);

        if (r <= 0)
            return r;
        r = open_at(x, &place, &events, error);
        if (r < 0)
            return r;
        for (int64_t i = (int64_t)first;
             i <= last && (r = next_event(&events, &item, &time, error)) > 0; i++) {
            r = matches(lines, item);
            if (r < 0)
                break;
            if (r > 0)
                found = i;
        }
        n_read += events.n_read;
        events_close(&events);
        if (r < 0)
            return r;
        if (found >= 0) {
            lines->index = found;
            return 1;
        }
        if (n_read > EVENTS_READ_MAX)
            return -ECANCELED;
        last = (int64_t)first - 1;
    }
    return 0;
}

/* Writes the lines from lines->index on. */
static int put_lines(struct exchange *x, struct lines *lines, struct error *error)
{
    struct numbering_place place;
    struct events events;
    const struct item *item;
    uint64_t number;
    int64_t time;
    int r = numbering_find(lines->numbering, x, (uint64_t)lines->index, &place, &number, error);

    if (r <= 0)
        return r;
    r = open_at(x, &place, &events, error);
    if (r < 0)
        return r;
    while (lines->n < lines->count && (r = next_event(&events, &item, &time, error)) > 0) {
        if ((int64_t)number++ < lines->index)
            continue;
        r = matches(lines, item);
        if (r < 0)
            break;
        put_line(x, lines, item, r > 0);
        lines->n++;
        if (answer_is_full(&x->answer))
            r = -EBADMSG;
        if (r < 0)
            break;
    }
    events_close(&events);
    return r;
}

static void put_model(struct exchange *x, struct lines *lines, bool found)
{
    const struct index_summary *summary = index_summary(x->generation->index);
    struct json_writer *w = &x->answer.json;
    struct error error = {0};
    int r = 0;

    json_write_object(w);
    tsp_put_number(w, "lowIndex", lines->index);
    json_write_key(w, "size");
    json_write_u64(w, summary->n_events);
    json_write_key(w, "columnIds");
    json_write_array(w);
    for (unsigned i = 0; i < lines->n_columns; i++)
        json_write_u64(w, lines->columns[i]);
    json_write_end(w);
    json_write_key(w, "lines");
    json_write_lines(w);
    lines->first = (uint64_t)lines->index;
    if (found)
        r = put_lines(x, lines, &error);
    if (r < 0 && r != -EAGAIN && r != -ECANCELED) {
        fail(x, r, &error);
        return;
    }
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}

void tsp_table_lines(struct exchange *x)
{
    struct lines lines = {.x = x, .numbering = x->generation->numbering};
    struct numbering_place place;
    struct error error = {0};
    struct tsp_query query;
    uint64_t unused;
    int r = 1;

    if (!tsp_check_output(x, 7, names) || tsp_query_read(x, 0, &query) < 0)
        return;
    if (read_lines(x, &query, &lines) < 0)
        r = -EBADMSG;
    if (r > 0 && lines.by_time)
        r = find_by_time(x, &lines, &error);
    if (r > 0 && lines.searches)
        r = lines.backwards ? search_backwards(x, &lines, &error)
                            : search_forwards(x, &lines, &error);
    else if (r > 0)
        r = numbering_find(lines.numbering, x, (uint64_t)lines.index, &place, &unused, &error);
    if (r < 0 && r != -EAGAIN && r != -ECANCELED) {
        fail(x, r, &error);
    } else {
        /* RUNNING: the client asks again, and the trace was read further then. */
        tsp_begin(x, r == -EAGAIN ? "RUNNING" : r == -ECANCELED ? "FAILED" : "COMPLETED");
        put_model(x, &lines, r > 0);
    }
    tsp_query_done(&query);
    lines_done(&lines);
}
