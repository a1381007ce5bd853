/* SPDX-License-Identifier: MIT */
/* TSP: styles of states, which people who see few colours can distinguish, too. */

#include "analysis/states/states.h"
#include "serve/tsp/tsp.h"

#include "serve/tsp/tsp_styles.h"

static const struct {
    const char *key, *color;
    double height; /* of a row */
} styles[] = {
    {"lost", "#b2182b", 1},     {"many", "#8073ac", 0.6},  {"idle", "#d9d9d9", 0.35},
    {"slice-0", "#4477aa", 1},  {"slice-1", "#66ccee", 1}, {"slice-2", "#228833", 1},
    {"slice-3", "#ccbb44", 1},  {"slice-4", "#ee6677", 1}, {"slice-5", "#aa3377", 1},
    {"slice-6", "#997700", 1},  {"slice-7", "#44aa99", 1}, {"count", "#4477aa", 1},
    {"bookmark", "#332288", 1},
};
#define SLICE_STYLES 8

static const char *const state_colors[STATES] = {
    [STATE_UNKNOWN] = "#bbbbbb",
    [STATE_RUNNING] = "#228833",
    [STATE_RUNNABLE] = "#ee7733",
    [STATE_WOKEN] = "#ee9944",
    [STATE_PREEMPTED] = "#cc3311",
    [STATE_SLEEPING] = "#d9e8f5",
    [STATE_UNINTERRUPTIBLE] = "#aa4499",
    [STATE_OFFLINE] = "#eeeeee",
    [STATE_IDLE] = "#d9d9d9",
    [STATE_INTERRUPT] = "#ddaa33",
    [STATE_BLOCKED] = "#d9e8f5",
    [STATE_PARTIAL_RUN] = "#77bb77",
    [STATE_FULL_RUN] = "#228833",
    [STATE_PARTIAL_CONTENTION] = "#ee9944",
    [STATE_CONCURRENCY_HAZARD] = "#cc6611",
    [STATE_FULL_CONTENTION] = "#cc3311",
};

const char *tsp_slice_style(const struct index_track *track, const struct index_slice *slice)
{
    static const char *const by_name[SLICE_STYLES] = {"slice-0", "slice-1", "slice-2", "slice-3",
                                                      "slice-4", "slice-5", "slice-6", "slice-7"};

    if (track->kind == INDEX_LOSSES)
        return "lost";
    if (slice->flags & INDEX_MANY)
        return "many";
    if (slice->flags & INDEX_UNKNOWN)
        return state_name(STATE_UNKNOWN);
    if (track->kind == INDEX_STATES && slice->state < STATES)
        return state_name((enum state)slice->state);
    if (slice->flags & INDEX_IDLE)
        return "idle";
    return by_name[slice->name % SLICE_STYLES];
}

static void put_style(struct json_writer *w, const char *key, const char *color, double height)
{
    json_write_key(w, key);
    json_write_object(w);
    json_write_key(w, "values");
    json_write_object(w);
    tsp_put(w, "style-name", key);
    tsp_put(w, "background-color", color);
    tsp_put(w, "color", color);
    json_write_key(w, "opacity");
    json_write_real(w, 1);
    json_write_key(w, "height");
    json_write_real(w, height);
    json_write_end(w);
    json_write_end(w);
}

void tsp_styles(struct exchange *x)
{
    static const char *const names[] = {TSP_TIMELINE, TSP_EVENTS_OVER_TIME, TSP_COUNTERS, NULL};
    struct json_writer *w = &x->answer.json;
    struct tsp_query query;

    if (!tsp_check_output(x, 6, names) || tsp_query_read(x, 0, &query) < 0)
        return;
    tsp_query_done(&query);
    tsp_begin(x, "COMPLETED");
    json_write_object(w);
    json_write_key(w, "styles");
    json_write_object(w);
    for (unsigned i = 0; i < STATES; i++)
        if (i != STATE_IDLE)
            put_style(w, state_name((enum state)i), state_colors[i], 1);
    for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
        put_style(w, styles[i].key, styles[i].color, styles[i].height);
    json_write_end(w);
    json_write_end(w);
    tsp_end(x);
}
