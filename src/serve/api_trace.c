/* SPDX-License-Identifier: MIT */
/* GET api/trace: what can be shown. GET api/names?ids=1,2: names that it left out. */

#include "analysis/states/states.h"
#include "serve/routes.h"

#define NAMES_MAX 65536u
#define NAMES_AT_ONCE 1000

static const char *kind_name(enum index_track_kind kind)
{
    switch (kind) {
    case INDEX_GROUP: return "group";
    case INDEX_SLICES: return "slices";
    case INDEX_STATES: return "states";
    case INDEX_EVENTS: return "events";
    case INDEX_COUNTER: return "counter";
    case INDEX_LOSSES: return "losses";
    }
    return "";
}

static void put_string(struct json_writer *w, const char *key, const char *value)
{
    json_write_key(w, key);
    json_write_str(w, value);
}

static void put_number(struct json_writer *w, const char *key, int64_t value)
{
    json_write_key(w, key);
    json_write_i64(w, value);
}

/* Leaves out -1, which is unknown. */
static void put_known(struct json_writer *w, const char *key, int32_t value)
{
    if (value >= 0)
        put_number(w, key, value);
}

static void put_track(struct exchange *x, uint32_t number, const struct index_track *track)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    exchange_put_track(x, "id", number);
    json_write_key(w, "parent");
    if (track->parent == INDEX_NO_TRACK)
        json_write_raw(w, "null", 4);
    else
        exchange_put_track(x, NULL, track->parent);
    put_string(w, "kind", kind_name(track->kind));
    put_string(w, "layer", layer_name(track->layer));
    put_number(w, "source", track->source);
    put_string(w, "name", track->name);
    if (track->unit)
        put_string(w, "unit", track->unit);
    put_number(w, "rank", track->rank);
    put_known(w, "cpu", track->cpu);
    put_known(w, "pid", track->pid);
    put_known(w, "vcpu", track->vcpu);
    put_number(w, "depths", track->n_depths);
    json_write_key(w, "n");
    json_write_u64(w, track->n);
    json_write_end(w);
}

static void put_begin(struct json_writer *w, int64_t begin)
{
    struct text text = TEXT_IN_MEMORY;

    text_put_i64(&text, begin);
    json_write_key(w, "begin_ns");
    answer_put_text(w, &text);
}

void api_trace(struct exchange *x)
{
    const struct generation *generation = x->generation;
    const struct index *index = generation->index;
    const struct index_summary *summary = index_summary(index);
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    put_string(w, "name", x->server->options.name);
    put_begin(w, summary->begin);
    put_number(w, "duration", summary->end - summary->begin);
    json_write_key(w, "events");
    json_write_u64(w, summary->n_events);
    json_write_key(w, "lost");
    if (summary->n_lost == LOST_UNKNOWN)
        json_write_raw(w, "null", 4);
    else
        json_write_u64(w, summary->n_lost);
    exchange_put_error(x, "error_ns", summary->error_ns);
    put_string(w, "clock_note", summary->clock_note);
    put_string(w, "clock", generation->clock);
    put_string(w, "unit", generation->is_ticks ? "ticks" : "ns");
    json_write_key(w, "live");
    json_write_bool(w, atomic_load(&generation->live));
    json_write_key(w, "generation");
    json_write_u64(w, generation->number);
    json_write_key(w, "tracks");
    json_write_lines(w);
    for (uint32_t i = 0; i < summary->n_tracks && !answer_is_full(&x->answer); i++)
        put_track(x, i, index_track(index, i));
    if (answer_is_full(&x->answer))
        return;
    json_write_end(w);
    json_write_key(w, "names");
    json_write_array(w);
    for (uint32_t i = 0; i < MIN(summary->n_names, NAMES_MAX) && !answer_is_full(&x->answer); i++)
        json_write_str(w, index_name(index, i));
    if (answer_is_full(&x->answer))
        return;
    json_write_end(w);
    json_write_key(w, "states");
    json_write_array(w);
    for (unsigned i = 0; i < STATES; i++)
        json_write_str(w, state_name((enum state)i));
    json_write_end(w);
    json_write_key(w, "notes");
    json_write_array(w);
    for (unsigned i = 0; i < generation->n_notes; i++)
        json_write_str(w, generation->notes[i]);
    json_write_finish(w);
}

void api_names(struct exchange *x)
{
    const struct index *index = x->generation->index;
    uint32_t ids[NAMES_AT_ONCE];
    int n = request_numbers(&x->request, "ids", ids, NAMES_AT_ONCE);
    struct json_writer *w = &x->answer.json;

    if (n < 0) {
        answer_error(&x->answer, HTTP_BAD_REQUEST,
                     "invalid ids; use up to %d numbers with commas between", NAMES_AT_ONCE);
        return;
    }
    json_write_object(w);
    json_write_key(w, "names");
    json_write_array(w);
    for (int i = 0; i < n; i++)
        json_write_str(w, index_name(index, ids[i]));
    json_write_finish(w);
}
