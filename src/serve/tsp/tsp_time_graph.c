/* SPDX-License-Identifier: MIT */
/* TSP: the timeline as a time graph. */

#include <stdio.h>
#include <string.h>

#include "analysis/states/states.h"
#include "event/program.h"
#include "serve/events.h"
#include "serve/tsp/tsp.h"
#include "serve/tsp/tsp_styles.h"

#define ARROWS_MAX 10000u

static const char *const names[] = {TSP_TIMELINE, NULL};

static bool is_shown(const struct index_track *track)
{
    return track->kind == INDEX_SLICES || track->kind == INDEX_STATES ||
           track->kind == INDEX_LOSSES;
}

static void put_metadata(struct json_writer *w, const char *key, int32_t value)
{
    if (value < 0)
        return;
    json_write_key(w, key);
    json_write_array(w);
    json_write_i64(w, value);
    json_write_end(w);
}

/* Writes the members of an entry that other trees do not have. */
static void put_entry(struct exchange *x, const struct index_track *track, unsigned depth)
{
    const struct index_summary *summary = index_summary(x->generation->index);
    struct json_writer *w = &x->answer.json;

    (void)depth;
    tsp_put_number(w, "start", summary->begin);
    tsp_put_number(w, "end", summary->end);
    json_write_key(w, "metadata");
    json_write_object(w);
    put_metadata(w, "cpu", track->cpu);
    put_metadata(w, "tid", track->pid);
    put_metadata(w, "vcpu", track->vcpu);
    json_write_end(w);
}

void tsp_time_graph_tree(struct exchange *x)
{
    static const struct tsp_tree tree = {.shows = is_shown, .put = put_entry, .depths = true};
    struct tsp_query query;

    if (!tsp_check_output(x, 7, names) || tsp_query_read(x, 0, &query) < 0)
        return;
    tsp_query_done(&query);
    tsp_begin(x, tsp_tree_status(x));
    tsp_put_tree(x, &tree);
    tsp_end(x);
}

/* Finds the track and depth of ITEM, an entry; NULL if there is no such entry. */
static const struct index_track *find_track(const struct exchange *x, int64_t item,
                                            uint32_t *ret_number, unsigned *ret_depth)
{
    const struct index_track *track;

    *ret_number = tsp_entry_track(x, item);
    *ret_depth = tsp_entry_depth(item);
    track = index_track(x->generation->index, *ret_number);
    return track && is_shown(track) && *ret_depth < track->n_depths ? track : NULL;
}

/* Writes the label of SLICE. */
static void put_label(const struct index *index, const struct index_slice *slice, struct text *text)
{
    text_put_str(text, index_name(index, slice->name));
    if (slice->flags & INDEX_MANY)
        text_printf(text, "%s(%u)", text_len(text) > 0 ? " " : "", slice->n);
}

static void put_text(struct json_writer *w, const char *key, struct text *text)
{
    json_write_key(w, key);
    answer_put_text(w, text);
}

static int put_states(struct exchange *x, const struct tsp_query *query, int64_t item)
{
    const struct index *index = x->generation->index;
    struct json_writer *w = &x->answer.json;
    struct index_slices slices = {0};
    const struct index_track *track;
    uint32_t number;
    unsigned depth;
    int r;

    track = find_track(x, item, &number, &depth);
    if (!track)
        return 0; /* a group has no states */
    r = index_slices(index, number, depth, query->start, query->end, query->resolution, &slices);
    json_write_object(w);
    tsp_put_number(w, "entryId", item);
    json_write_key(w, "states");
    json_write_array(w);
    for (unsigned i = 0; r == 0 && i < slices.n; i++) {
        const struct index_slice *slice = &slices.slices[i];
        struct text label = TEXT_IN_MEMORY;

        json_write_object(w);
        tsp_put_number(w, "start", slice->begin);
        tsp_put_number(w, "end", slice->end);
        put_label(index, slice, &label);
        put_text(w, "label", &label);
        tsp_put_style(w, tsp_slice_style(track, slice));
        json_write_end(w);
        if (i % 1024 == 0 && answer_is_full(&x->answer))
            r = -EBADMSG;
    }
    index_slices_done(&slices);
    if (r < 0)
        return r;
    json_write_end(w);
    json_write_end(w);
    return answer_is_full(&x->answer) ? -EBADMSG : 0;
}

void tsp_time_graph_states(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    struct tsp_query query;
    int r = 0;

    if (!tsp_check_output(x, 7, names) ||
        tsp_query_read(x, TSP_NEEDS_RANGE | TSP_NEEDS_ITEMS, &query) < 0)
        return;
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    json_write_key(w, "rows");
    json_write_lines(w);
    for (unsigned i = 0; r == 0 && i < query.n_items; i++)
        r = put_states(x, &query, query.items[i]);
    tsp_query_done(&query);
    if (r < 0)
        answer_failure(&x->answer, r, NULL);
    else
        tsp_end(x);
}

void tsp_time_graph_arrows(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ struct index_arrow *arrows = NULL;
    struct tsp_query query;
    uint64_t total;
    unsigned n = 0;
    int r;

    if (!tsp_check_output(x, 7, names) || tsp_query_read(x, TSP_NEEDS_RANGE, &query) < 0)
        return;
    r = index_arrows(x->generation->index, query.start, query.end, ARROWS_MAX, &arrows, &n, &total);
    tsp_query_done(&query);
    if (r < 0) {
        answer_failure(&x->answer, r, NULL);
        return;
    }
    tsp_begin(x, "COMPLETED");
    json_write_array(w);
    for (unsigned i = 0; i < n; i++) {
        json_write_object(w);
        tsp_put_number(w, "sourceId", tsp_entry(x, arrows[i].from_track, arrows[i].from_depth));
        tsp_put_number(w, "targetId", tsp_entry(x, arrows[i].to_track, arrows[i].to_depth));
        tsp_put_number(w, "start", arrows[i].begin);
        tsp_put_number(w, "end", arrows[i].end);
        json_write_end(w);
    }
    json_write_end(w);
    tsp_end(x);
}

static void put_time(struct exchange *x, const char *key, int64_t ns)
{
    struct json_writer *w = &x->answer.json;
    char text[48];

    if (x->generation->is_ticks)
        snprintf(text, sizeof text, "%lld ticks", (long long)ns);
    else
        snprintf(text, sizeof text, "%lld.%09lld s", (long long)(ns / NANOSECONDS),
                 (long long)(ns % NANOSECONDS));
    tsp_put(w, key, text);
}

/* Writes what is unusual about SLICE, in words. */
static void put_flags(struct json_writer *w, const struct index_slice *slice)
{
    static const struct {
        unsigned flag;
        const char *text;
    } flags[] = {
        {INDEX_LOST, "events were lost"},
        {INDEX_UNKNOWN, "events contradict one another"},
        {INDEX_NO_BEGIN, "the begin is not in the trace"},
        {INDEX_CUT, "the end is not in the trace"},
        {INDEX_OPEN, "open at the end of the trace"},
    };
    struct text text = TEXT_IN_MEMORY;

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (slice->flags & flags[i].flag)
            text_printf(&text, "%s%s", text.next > text.start ? ", " : "", flags[i].text);
    if (text.start)
        put_text(w, "Note", &text);
}

/* Writes the first event of TRACK's source at TIME. */
static int put_event(struct exchange *x, const struct index_track *track, int64_t time)
{
    struct json_writer *w = &x->answer.json;
    struct error error = {0};
    struct events events;
    const struct item *item;
    int64_t t;
    int r = events_open(x, time, &events, &error);

    if (r < 0)
        return answer_failure(&x->answer, r, &error);
    while ((r = events_next(&events, &item, &t, &error)) > 0 && t == time) {
        struct text text = TEXT_IN_MEMORY;

        if (item->kind != ITEM_EVENT || !events_on_track(&events, item, track))
            continue;
        if (item->error_ns) {
            if (exchange_is_refuted(x, item->error_ns))
                text_printf(&text, "not known: %s",
                            index_summary(x->generation->index)->clock_note);
            else
                text_printf(&text, "±%u ns", item->error_ns);
            put_text(w, "Clock error", &text);
            text = TEXT_IN_MEMORY;
        }
        text_printf(&text, "%s: ", item->class->name);
        item_put_text(item, &text);
        put_text(w, "Event", &text);
        break;
    }
    events_close(&events);
    return r < 0 && r != -ECANCELED ? answer_failure(&x->answer, r, &error) : 0;
}

void tsp_time_graph_tooltip(struct exchange *x)
{
    const struct index *index = x->generation->index;
    struct json_writer *w = &x->answer.json;
    struct index_slices slices = {0};
    const struct index_track *track = NULL;
    const json_t *time;
    struct tsp_query query;
    uint32_t number = 0;
    unsigned depth = 0;
    int r = 0;

    if (!tsp_check_output(x, 7, names) || tsp_query_read(x, TSP_NEEDS_ITEMS, &query) < 0)
        return;
    time = json_array_get(json_object_get(query.parameters, "requested_times"), 0);
    if (!json_is_integer(time) || query.n_items != 1) {
        answer_error(&x->answer, HTTP_BAD_REQUEST,
                     "requested_times and requested_items have no single integer");
        tsp_query_done(&query);
        return;
    }
    track = find_track(x, query.items[0], &number, &depth);
    if (track)
        r = index_slices(index, number, depth, json_integer_value(time), json_integer_value(time),
                         0, &slices);
    tsp_query_done(&query);
    if (r < 0) {
        index_slices_done(&slices);
        answer_failure(&x->answer, r, NULL);
        return;
    }
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    if (slices.n > 0) {
        const struct index_slice *slice = &slices.slices[slices.n - 1];

        tsp_put(w, "Name", index_name(index, slice->name));
        if (track->kind == INDEX_STATES && slice->state < STATES)
            tsp_put(w, "State", state_name((enum state)slice->state));
        tsp_put(w, "Track", track->name);
        put_time(x, "Begin", slice->begin);
        put_time(x, "Duration", slice->end - slice->begin);
        put_flags(w, slice);
        r = put_event(x, track, slice->begin);
    }
    if (r == 0) {
        json_write_end(w);
        tsp_end(x);
    }
    index_slices_done(&slices);
}
