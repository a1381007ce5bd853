/* SPDX-License-Identifier: MIT */
#pragma once

/* The Trace Server Protocol, version 0.6 (https://eclipse-cdt-cloud.github.io/trace-server-protocol): JSON over HTTP.
 * The server has one experiment with all served traces. Times are ns as in the index. */

#include <jansson.h>

#include "serve/http_exchange.h"

#define TSP_ITEMS_MAX 4096
#define TSP_TIMES_MAX 65536
#define TSP_TIMES_DEFAULT 1024

/* An entry of a tree is a track at a depth. */
#define TSP_DEPTHS_MAX 256
static inline int64_t tsp_entry(const struct exchange *x, uint32_t track, unsigned depth)
{
    return (int64_t)x->generation->ids[track] << 8 | depth;
}
/* Returns the number of its track, or INDEX_NO_TRACK. */
static inline uint32_t tsp_entry_track(const struct exchange *x, int64_t entry)
{
    return generation_track(x->generation, entry >> 8);
}
static inline unsigned tsp_entry_depth(int64_t entry)
{
    return (unsigned)(entry & 0xff);
}

/* The parameters in the body of a request. */
struct tsp_query {
    json_t *body;
    json_t *parameters; /* an object */
    bool has_range;
    int64_t start, end; /* without a range: of the trace */
    unsigned n_times;
    int64_t resolution; /* ns between two times */
    int64_t *items;
    unsigned n_items;
};

enum tsp_need {
    TSP_NEEDS_RANGE = 1,
    TSP_NEEDS_ITEMS = 2,
};

/* 0, or answer_error(). */
int tsp_query_read(struct exchange *x, unsigned needs, struct tsp_query *ret);
void tsp_query_done(struct tsp_query *query);

/* Check that the path names our experiment, and an output in NAMES, terminated by NULL. If false, the answer is an
 * error. */
bool tsp_check_experiment(struct exchange *x);
bool tsp_check_output(struct exchange *x, unsigned part, const char *const *names);

/* Writes `{"status":…,"statusMessage":…,"model":`. The caller writes the model, then tsp_end() writes the end. */
void tsp_begin(struct exchange *x, const char *status);
/* The status of a tree of tracks. A running recording may have more tracks later. */
const char *tsp_tree_status(const struct exchange *x);
void tsp_end(struct exchange *x);

/* Writes a member. */
void tsp_put(struct json_writer *w, const char *key, const char *value);
void tsp_put_number(struct json_writer *w, const char *key, int64_t value);
/* Writes "style":{"parentKey":KEY,"values":{}} */
void tsp_put_style(struct json_writer *w, const char *key);

/* Writes the tree of all tracks that SHOWS accepts, and of their groups: `{"headers":[…],"entries":[…]}`. PUT writes
 * further members of an entry; may be NULL. */
struct tsp_tree {
    bool (*shows)(const struct index_track *track);
    void (*put)(struct exchange *x, const struct index_track *track, unsigned depth);
    bool depths; /* one entry for each depth */
};
void tsp_put_tree(struct exchange *x, const struct tsp_tree *tree);

/* The outputs. */
#define TSP_TIMELINE "strata.timeline"
#define TSP_EVENTS_OVER_TIME "strata.events-over-time"
#define TSP_COUNTERS "strata.counters"
#define TSP_TABLE "strata.events"
#define TSP_STATISTICS "strata.statistics"

/* The answers; routes.c has the paths. */
void tsp_health(struct exchange *x);
void tsp_identifier(struct exchange *x);
void tsp_traces(struct exchange *x);
void tsp_open_trace(struct exchange *x);
void tsp_trace(struct exchange *x);
void tsp_delete_trace(struct exchange *x);
void tsp_experiments(struct exchange *x);
void tsp_open_experiment(struct exchange *x);
void tsp_experiment(struct exchange *x);
void tsp_bookmarks(struct exchange *x);
void tsp_add_bookmark(struct exchange *x);
void tsp_bookmark(struct exchange *x);
void tsp_change_bookmark(struct exchange *x);
void tsp_delete_bookmark(struct exchange *x);
void tsp_outputs(struct exchange *x);
void tsp_output(struct exchange *x);
void tsp_no_configurations(struct exchange *x);
void tsp_marker_sets(struct exchange *x);
void tsp_annotation_categories(struct exchange *x);
void tsp_annotations(struct exchange *x);
void tsp_styles(struct exchange *x);
void tsp_time_graph_tree(struct exchange *x);
void tsp_time_graph_states(struct exchange *x);
void tsp_time_graph_arrows(struct exchange *x);
void tsp_time_graph_tooltip(struct exchange *x);
void tsp_xy_tree(struct exchange *x);
void tsp_xy(struct exchange *x);
void tsp_xy_tooltip(struct exchange *x);
void tsp_no_generic_xy(struct exchange *x);
void tsp_data_tree(struct exchange *x);
void tsp_table_columns(struct exchange *x);
void tsp_table_lines(struct exchange *x);
