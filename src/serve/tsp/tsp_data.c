/* SPDX-License-Identifier: MIT */
/* TSP: the number and durations of slices, by track and name, as a data tree. */

#include <stdio.h>

#include "serve/statistics.h"
#include "serve/tsp/tsp.h"

static const char *const names[] = {TSP_STATISTICS, NULL};

static const struct {
    const char *name, *type, *tooltip;
} columns[] = {
    {"Name", "STRING", ""},
    {"Count", "NUMBER", "how many there are in the time"},
    {"Total", "DURATION", "ns, within the time"},
    {"Min", "DURATION", "ns"},
    {"Max", "DURATION", "ns"},
    {"Mean", "DURATION", "ns"},
};

static void put_headers(struct json_writer *w)
{
    json_write_key(w, "headers");
    json_write_array(w);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        json_write_object(w);
        tsp_put(w, "name", columns[i].name);
        tsp_put(w, "tooltip", columns[i].tooltip);
        tsp_put(w, "dataType", columns[i].type);
        json_write_end(w);
    }
    json_write_end(w);
}

static void put_number(struct json_writer *w, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    json_write_str(w, text);
}

/* Entries of tracks have the tracks' numbers; entries below them have numbers from here on. */
#define FIRST_ROW ((int64_t)1 << 32)

static void begin_entry(struct json_writer *w, int64_t id, int64_t parent, const char *name)
{
    json_write_object(w);
    tsp_put_number(w, "id", id);
    if (parent >= 0)
        tsp_put_number(w, "parentId", parent);
    json_write_key(w, "labels");
    json_write_array(w);
    json_write_str(w, name);
}

static void end_entry(struct json_writer *w)
{
    json_write_end(w);
    json_write_key(w, "hasData");
    json_write_bool(w, true);
    json_write_end(w);
}

static int64_t parent_of(const struct exchange *x, const struct index_track *track)
{
    return track->parent == INDEX_NO_TRACK ? -1 : (int64_t)x->generation->ids[track->parent];
}

static int add_all(struct exchange *x, const struct tsp_query *query, struct statistics *statistics)
{
    const struct index *index = x->generation->index;
    const struct api_span span = {query->start, query->end};
    int r = 0;

    for (uint32_t i = 0; i < index_summary(index)->n_tracks && r == 0; i++) {
        enum index_track_kind kind = index_track(index, i)->kind;

        if (kind == INDEX_SLICES || kind == INDEX_STATES || kind == INDEX_LOSSES)
            r = statistics_add(statistics, x, i, &span);
    }
    return r;
}

/* Writes a track with the number of its slices, and empty cells. */
static int put_track(struct exchange *x, const struct tsp_query *query, uint32_t number)
{
    const struct index *index = x->generation->index;
    const struct index_track *track = index_track(index, number);
    struct json_writer *w = &x->answer.json;
    int64_t end = query->end < INT64_MAX ? query->end + 1 : query->end;
    uint64_t n = 0;
    int r = track->kind == INDEX_GROUP ? 0 : index_counts(index, number, query->start, end, 1, &n);

    begin_entry(w, x->generation->ids[number], parent_of(x, track), track->name);
    if (track->kind == INDEX_GROUP)
        json_write_str(w, "");
    else
        put_number(w, (int64_t)MIN(n, (uint64_t)INT64_MAX));
    for (size_t i = 2; i < ARRAY_SIZE(columns); i++)
        json_write_str(w, "");
    end_entry(w);
    return r;
}

static void put_row(struct exchange *x, const struct statistics_row *row, unsigned i)
{
    struct json_writer *w = &x->answer.json;
    const char *name = index_name(x->generation->index, row->name);

    begin_entry(w, FIRST_ROW + i, x->generation->ids[row->track], *name ? name : "(no name)");
    put_number(w, (int64_t)row->n);
    put_number(w, row->total);
    put_number(w, row->min);
    put_number(w, row->max);
    put_number(w, row->sum / (int64_t)row->n);
    end_entry(w);
}

void tsp_data_tree(struct exchange *x)
{
    const struct index *index = x->generation->index;
    struct json_writer *w = &x->answer.json;
    struct statistics statistics = {0};
    struct tsp_query query;
    int r;

    if (!tsp_check_output(x, 7, names) || tsp_query_read(x, 0, &query) < 0)
        return;
    r = add_all(x, &query, &statistics);
    if (r == -E2BIG) /* there is too much for all of the time: tracks only */
        statistics.n = 0;
    else if (r < 0)
        answer_failure(&x->answer, r, NULL);
    if (r == 0 || r == -E2BIG) {
        statistics_sort(&statistics);
        tsp_begin(x, tsp_tree_status(x));
        json_write_object(w);
        put_headers(w);
        json_write_key(w, "entries");
        json_write_lines(w);
        r = 0;
        for (uint32_t i = 0; i < index_summary(index)->n_tracks && r == 0; i++)
            r = put_track(x, &query, i);
        for (unsigned i = 0; i < statistics.n; i++)
            put_row(x, &statistics.rows[i], i);
        json_write_end(w);
        json_write_end(w);
        if (r < 0)
            answer_failure(&x->answer, r, NULL);
        else
            tsp_end(x);
    }
    tsp_query_done(&query);
    statistics_done(&statistics);
}
