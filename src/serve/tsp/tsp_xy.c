/* SPDX-License-Identifier: MIT */
/* TSP: events and counters over time, as XY charts. */

#include <string.h>

#include "serve/tsp/tsp.h"

static const char *const names[] = {TSP_EVENTS_OVER_TIME, TSP_COUNTERS, NULL};

static bool is_events(const struct index_track *track)
{
    return track->kind == INDEX_EVENTS;
}

static bool is_counter(const struct index_track *track)
{
    return track->kind == INDEX_COUNTER;
}

static bool asks_for_counters(const struct exchange *x)
{
    return strcmp(x->request.parts[7], TSP_COUNTERS) == 0;
}

static void put_entry(struct exchange *x, const struct index_track *track, unsigned depth)
{
    (void)depth;
    json_write_key(&x->answer.json, "isDefault");
    json_write_bool(&x->answer.json, track->kind == INDEX_EVENTS);
}

void tsp_xy_tree(struct exchange *x)
{
    struct tsp_tree tree = {.put = put_entry};
    struct tsp_query query;

    if (!tsp_check_output(x, 7, names) || tsp_query_read(x, 0, &query) < 0)
        return;
    tsp_query_done(&query);
    tree.shows = asks_for_counters(x) ? is_counter : is_events;
    tsp_begin(x, tsp_tree_status(x));
    tsp_put_tree(x, &tree);
    tsp_end(x);
}

static void put_axis(struct json_writer *w, const char *key, const char *label, const char *unit,
                     const char *type)
{
    json_write_key(w, key);
    json_write_object(w);
    tsp_put(w, "label", label);
    tsp_put(w, "unit", unit);
    tsp_put(w, "dataType", type);
    json_write_end(w);
}

/* The begin of period I of the query. */
static int64_t period_begin(const struct tsp_query *query, unsigned i)
{
    uint64_t duration = (uint64_t)query->end - (uint64_t)query->start;

    return query->start + (int64_t)(duration / query->n_times * i +
                                    duration % query->n_times * i / query->n_times);
}

static void put_times(struct exchange *x, const struct tsp_query *query)
{
    struct json_writer *w = &x->answer.json;

    json_write_key(w, "xValues");
    json_write_array(w);
    for (unsigned i = 0; i < query->n_times; i++)
        json_write_i64(w, period_begin(query, i));
    json_write_end(w);
}

static int put_counts(struct exchange *x, const struct tsp_query *query, uint32_t number)
{
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ uint64_t *counts = calloc(query->n_times, sizeof *counts);
    /* The last instant, too. */
    int64_t end = query->end < INT64_MAX ? query->end + 1 : query->end;
    int r = counts ? index_counts(x->generation->index, number, query->start, end, query->n_times,
                                  counts)
                   : -ENOMEM;

    if (r < 0)
        return answer_failure(&x->answer, r, NULL);
    put_times(x, query);
    json_write_key(w, "yValues");
    json_write_array(w);
    for (unsigned i = 0; i < query->n_times; i++)
        json_write_u64(w, counts[i]);
    json_write_end(w);
    return 0;
}

/* Writes the value at each time; 0 before the first value. Viewers draw all series of a chart over the times of one
 * series. */
static int put_values(struct exchange *x, const struct tsp_query *query, uint32_t number)
{
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ struct index_value *values = NULL;
    unsigned n = 0;
    unsigned next = 0;
    int r = index_values(x->generation->index, number, query->start, query->end, query->resolution,
                         &values, &n);

    if (r < 0)
        return answer_failure(&x->answer, r, NULL);
    put_times(x, query);
    json_write_key(w, "yValues");
    json_write_array(w);
    for (unsigned i = 0; i < query->n_times; i++) {
        while (next < n && values[next].time <= period_begin(query, i))
            next++;
        json_write_i64(w, next > 0 ? values[next - 1].last : 0);
    }
    json_write_end(w);
    return 0;
}

static int put_series(struct exchange *x, const struct tsp_query *query, int64_t item,
                      bool counters)
{
    const struct index *index = x->generation->index;
    struct json_writer *w = &x->answer.json;
    const struct index_track *track;
    uint32_t number = tsp_entry_track(x, item);
    int r;

    if (tsp_entry_depth(item) != 0)
        return 0;
    track = index_track(index, number);
    if (!track || !(counters ? is_counter(track) : is_events(track)))
        return 0; /* a group */
    json_write_object(w);
    tsp_put_number(w, "seriesId", item);
    tsp_put(w, "seriesName", track->name);
    tsp_put_style(w, "count");
    put_axis(w, "xValuesDescription", "Time", x->generation->is_ticks ? "ticks" : "ns",
             "TIMESTAMP");
    put_axis(w, "yValuesDescription", counters ? "Value" : "Events",
             track->unit && counters ? track->unit : "", "NUMBER");
    r = counters ? put_values(x, query, number) : put_counts(x, query, number);
    if (r < 0)
        return r;
    json_write_end(w);
    return answer_is_full(&x->answer) ? -EBADMSG : 0;
}

void tsp_xy(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    struct tsp_query query;
    bool counters;
    int r = 0;

    if (!tsp_check_output(x, 7, names) ||
        tsp_query_read(x, TSP_NEEDS_RANGE | TSP_NEEDS_ITEMS, &query) < 0)
        return;
    counters = asks_for_counters(x);
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    tsp_put(w, "title", counters ? "Counters" : "Events over time");
    json_write_key(w, "series");
    json_write_lines(w);
    for (unsigned i = 0; r == 0 && i < query.n_items; i++)
        r = put_series(x, &query, query.items[i], counters);
    tsp_query_done(&query);
    if (r == 0)
        tsp_end(x);
}

/* Writes the value of counter NUMBER at TIME; nothing before its first value. */
static int put_value_at(struct exchange *x, uint32_t number, const char *unit, int64_t time)
{
    _cleanup_free_ struct index_value *values = NULL;
    struct text text = TEXT_IN_MEMORY;
    unsigned n = 0;
    int r = index_values(x->generation->index, number, time, time, 0, &values, &n);

    if (r < 0)
        return answer_failure(&x->answer, r, NULL);
    while (n > 0 && values[n - 1].time > time)
        n--;
    if (n == 0)
        return 0;
    text_printf(&text, "%lld%s%s", (long long)values[n - 1].last, unit && *unit ? " " : "",
                unit ? unit : "");
    json_write_key(&x->answer.json, "Value");
    answer_put_text(&x->answer.json, &text);
    return 0;
}

static void put_time(struct exchange *x, int64_t time)
{
    struct text text = TEXT_IN_MEMORY;

    text_printf(&text, "%lld %s", (long long)time, x->generation->is_ticks ? "ticks" : "ns");
    json_write_key(&x->answer.json, "Time");
    answer_put_text(&x->answer.json, &text);
}

/* In a chart of events, the height depends on the viewer's periods, so the viewer knows it itself. */
void tsp_xy_tooltip(struct exchange *x)
{
    const char *y = request_value(&x->request, "yValue");
    const struct index_track *track = NULL;
    int64_t series = -1;
    int64_t time = 0;
    uint32_t number;
    bool counters;
    int r = 0;

    if (!tsp_check_output(x, 7, names) ||
        exchange_number(x, "xValue", INT64_MIN, INT64_MAX, &time) < 0 ||
        exchange_number(x, "seriesId", 0, INT64_MAX, &series) < 0)
        return;
    if (!request_value(&x->request, "xValue")) {
        answer_error(&x->answer, HTTP_BAD_REQUEST, "xValue is missing: a time");
        return;
    }
    counters = asks_for_counters(x);
    number = series < 0 ? INDEX_NO_TRACK : tsp_entry_track(x, series);
    track = number == INDEX_NO_TRACK ? NULL : index_track(x->generation->index, number);
    if (series >= 0 && (!track || !(counters ? is_counter(track) : is_events(track)))) {
        answer_error(&x->answer, HTTP_NOT_FOUND, "no series %lld in this output",
                     (long long)series);
        return;
    }
    tsp_begin(x, "COMPLETED");
    json_write_object(&x->answer.json);
    if (track)
        tsp_put(&x->answer.json, "Series", track->name);
    put_time(x, time);
    if (track && counters)
        r = put_value_at(x, number, track->unit, time);
    else if (y && !counters)
        tsp_put(&x->answer.json, "Events", y);
    if (r == 0) {
        json_write_end(&x->answer.json);
        tsp_end(x);
    }
}

void tsp_no_generic_xy(struct exchange *x)
{
    if (tsp_check_experiment(x))
        answer_error(&x->answer, HTTP_NOT_FOUND,
                     "no output of this server is of type TREE_GENERIC_XY; charts over time are at "
                     "outputs/XY");
}
