/* SPDX-License-Identifier: MIT */
#include "serve/tsp/tsp.h"

#include <string.h>

#include "serve/tsp/tsp_uuid.h"

static int bad(struct exchange *x, const char *what)
{
    return answer_error(&x->answer, HTTP_BAD_REQUEST, "%s", what);
}

static int read_range(struct exchange *x, struct tsp_query *query)
{
    const json_t *range = json_object_get(query->parameters, "requested_timerange");
    const json_t *start = json_object_get(range, "start");
    const json_t *end = json_object_get(range, "end");
    const json_t *n = json_object_get(range, "nbTimes");

    if (!range)
        return 0;
    if (!json_is_integer(start) || !json_is_integer(end) ||
        json_integer_value(start) > json_integer_value(end))
        return bad(x, "requested_timerange requires start and end, integers in this order");
    if (n &&
        (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > TSP_TIMES_MAX))
        return bad(x, "nbTimes is not an integer from 1 to 65536");
    query->has_range = true;
    query->start = json_integer_value(start);
    query->end = json_integer_value(end);
    if (n)
        query->n_times = (unsigned)json_integer_value(n);
    return 0;
}

static int read_items(struct exchange *x, struct tsp_query *query)
{
    const json_t *items = json_object_get(query->parameters, "requested_items");
    size_t n = json_array_size(items);

    if (!items)
        return 0;
    if (!json_is_array(items) || n > TSP_ITEMS_MAX)
        return bad(x, "requested_items is not an array of at most 4096 integers");
    query->items = calloc(n + 1, sizeof *query->items);
    if (!query->items)
        return answer_failure(&x->answer, -ENOMEM, NULL);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(items, i);

        if (!json_is_integer(item))
            return bad(x, "requested_items is not an array of at most 4096 integers");
        query->items[i] = json_integer_value(item);
    }
    query->n_items = (unsigned)n;
    return 0;
}

/* Refuses a filter, because the answer would ignore it. */
static int check_filter(struct exchange *x, const struct tsp_query *query)
{
    const char *const key = "filter_expressions_map";
    const json_t *outer = json_object_get(query->parameters, "filter_query_parameters");

    if (json_object_size(json_object_get(query->parameters, key)) > 0 ||
        json_object_size(json_object_get(outer, key)) > 0)
        return bad(x, "filters of states are not supported; leave filter_expressions_map out");
    return 0;
}

/* jansson reports running out of memory only sometimes, but all other errors. */
static bool is_no_memory(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_out_of_memory || code == json_error_unknown;
}

int tsp_query_read(struct exchange *x, unsigned needs, struct tsp_query *ret)
{
    const struct index_summary *summary = index_summary(x->generation->index);
    struct tsp_query query = {
        .start = summary->begin, .end = summary->end, .n_times = TSP_TIMES_DEFAULT};
    size_t len = x->body.start ? text_len(&x->body) : 0;
    json_error_t error = {0}; /* its code, too */
    int r = 0;

    query.body = json_loadb(len > 0 ? x->body.start : "", len, JSON_REJECT_DUPLICATES, &error);
    query.parameters = json_object_get(query.body, "parameters");
    if (!query.body && is_no_memory(&error))
        r = answer_failure(&x->answer, -ENOMEM, NULL);
    else if (!json_is_object(query.body) || (query.parameters && !json_is_object(query.parameters)))
        r = bad(x, "the body is not a JSON object, or its 'parameters' are none");
    if (r == 0)
        r = check_filter(x, &query);
    if (r == 0)
        r = read_range(x, &query);
    if (r == 0)
        r = read_items(x, &query);
    if (r == 0 && (needs & TSP_NEEDS_RANGE) && !query.has_range)
        r = bad(x, "requested_timerange is missing");
    if (r == 0 && (needs & TSP_NEEDS_ITEMS) && !query.items)
        r = bad(x, "requested_items is missing");
    if (r < 0) {
        tsp_query_done(&query);
        return r;
    }
    query.resolution =
        (int64_t)(((uint64_t)query.end - (uint64_t)query.start) / query.n_times & INT64_MAX);
    *ret = query;
    return 0;
}

void tsp_query_done(struct tsp_query *query)
{
    json_decref(query->body);
    free(query->items);
}

bool tsp_check_experiment(struct exchange *x)
{
    char uuid[TSP_UUID_SIZE];

    tsp_uuid_experiment(x->server, uuid);
    if (strcmp(x->request.parts[4], uuid) == 0)
        return true;
    answer_error(&x->answer, HTTP_NOT_FOUND, "no such experiment");
    return false;
}

bool tsp_check_output(struct exchange *x, unsigned part, const char *const *names)
{
    if (!tsp_check_experiment(x))
        return false;
    for (; *names; names++)
        if (strcmp(x->request.parts[part], *names) == 0)
            return true;
    answer_error(&x->answer, HTTP_NOT_FOUND, "no such output");
    return false;
}

const char *tsp_tree_status(const struct exchange *x)
{
    return atomic_load(&x->generation->live) ? "RUNNING" : "COMPLETED";
}

void tsp_begin(struct exchange *x, const char *status)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    tsp_put(w, "status", status);
    tsp_put(w, "statusMessage",
            strcmp(status, "FAILED") == 0 ? "there is too much to read for one request" : status);
    json_write_key(w, "model");
}

void tsp_end(struct exchange *x)
{
    if (!answer_is_full(&x->answer))
        json_write_finish(&x->answer.json);
}

void tsp_put(struct json_writer *w, const char *key, const char *value)
{
    json_write_key(w, key);
    json_write_str(w, value);
}

void tsp_put_number(struct json_writer *w, const char *key, int64_t value)
{
    json_write_key(w, key);
    json_write_i64(w, value);
}

void tsp_put_style(struct json_writer *w, const char *key)
{
    json_write_key(w, "style");
    json_write_object(w);
    tsp_put(w, "parentKey", key);
    json_write_key(w, "values");
    json_write_object(w);
    json_write_end(w);
    json_write_end(w);
}

static void put_entry(struct exchange *x, const struct tsp_tree *tree, uint32_t number,
                      const struct index_track *track, unsigned depth)
{
    struct json_writer *w = &x->answer.json;
    struct text label = TEXT_IN_MEMORY;

    json_write_object(w);
    tsp_put_number(w, "id", tsp_entry(x, number, depth));
    if (depth > 0)
        tsp_put_number(w, "parentId", tsp_entry(x, number, 0));
    else if (track->parent != INDEX_NO_TRACK)
        tsp_put_number(w, "parentId", tsp_entry(x, track->parent, 0));
    json_write_key(w, "labels");
    json_write_array(w);
    text_put_str(&label, track->name);
    if (depth > 0)
        text_printf(&label, " (level %u)", depth + 1);
    answer_put_text(w, &label);
    json_write_end(w);
    json_write_key(w, "hasData");
    json_write_bool(w, tree->shows(track));
    if (tree->put)
        tree->put(x, track, depth);
    json_write_end(w);
}

/* Returns a bit for each shown track: the tracks that TREE shows, and their groups. */
static uint8_t *find_shown(const struct index *index, const struct tsp_tree *tree)
{
    uint32_t n = index_summary(index)->n_tracks;
    uint8_t *shown = calloc((size_t)n / 8 + 1, 1);

    /* A parent's number is lower. */
    for (uint32_t i = n; shown && i > 0; i--) {
        const struct index_track *track = index_track(index, i - 1);

        if (tree->shows(track))
            shown[(i - 1) / 8] |= (uint8_t)(1u << (i - 1) % 8);
        if (shown[(i - 1) / 8] >> (i - 1) % 8 & 1 && track->parent < i - 1)
            shown[track->parent / 8] |= (uint8_t)(1u << track->parent % 8);
    }
    return shown;
}

void tsp_put_tree(struct exchange *x, const struct tsp_tree *tree)
{
    const struct index *index = x->generation->index;
    uint32_t n = index_summary(index)->n_tracks;
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ uint8_t *shown = find_shown(index, tree);

    if (!shown) {
        answer_failure(&x->answer, -ENOMEM, NULL);
        return;
    }
    json_write_object(w);
    json_write_key(w, "headers");
    json_write_array(w);
    json_write_object(w);
    tsp_put(w, "name", "Name");
    tsp_put(w, "tooltip", "");
    json_write_end(w);
    json_write_end(w);
    json_write_key(w, "entries");
    json_write_lines(w);
    for (uint32_t i = 0; i < n; i++) {
        const struct index_track *track = index_track(index, i);
        unsigned n_depths =
            tree->depths ? MAX(MIN(track->n_depths, (unsigned)TSP_DEPTHS_MAX), 1u) : 1u;

        if (!(shown[i / 8] >> i % 8 & 1))
            continue;
        for (unsigned depth = 0; depth < n_depths; depth++) {
            put_entry(x, tree, i, track, depth);
            if (answer_is_full(&x->answer))
                return;
        }
    }
    json_write_end(w);
    json_write_end(w);
}
