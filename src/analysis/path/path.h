/* SPDX-License-Identifier: MIT */
#pragma once

/* `strata path`: why intervals took so long. Their paths (walk.h) are added up by who was the cause of how much: rows of durations
 * by kind of interval, layer, who, what and cause, of an interval each. Of the longest intervals, the segments are kept.
 *
 * An interval is a request to a disk, a span of a rule, a wait of a thread, or any of its states. Its path is found as late as possible, before the states
 * that it needs are dropped, so that they are known by then.
 *
 * Not thread-safe. */

#include "analysis/path/path_finder.h"
#include "analysis/result/result_rows.h"

#define PATH_KEYS 5 /* of, layer, who, what, cause */

enum path_of {
    PATH_OF_REQUESTS,
    PATH_OF_SPANS,
    PATH_OF_WAITS,
    PATH_OF_THREADS, /* each state of a thread: all of its time */
};

struct path_group;
struct path_sums;

struct path {
    struct analysis analysis; /* first */
    enum path_of of;
    struct path_finder finder;
    struct io_tracker tracker;
    struct spans spans; /* PATH_OF_SPANS */
    struct rows rows;
    struct path_sums *sums; /* by row: of intervals by how long they took */
    unsigned n_sums;
    uint64_t *counted; /* by row: the last interval that it was a part of, and its time there */
    int64_t *parts;
    uint32_t *errors;  /* by row: the largest of its segments in that interval */
    uint32_t *touched; /* rows of the interval that is counted */
    unsigned n_touched, rows_room;
    uint64_t n_intervals;
    struct path_group *groups;
    unsigned n_groups;
    struct text text[3];
    struct duration_columns columns;
    unsigned part, slow, rest; /* columns */
    bool has_events;
};

/* RULES are for PATH_OF_SPANS, and outlive PATH. 0, -ENOMEM. */
int path_init(struct path *path, const struct analysis_settings *settings, enum path_of of,
              const struct span_rule *rules, unsigned n_rules, const struct catalogue *catalogue);
/* Takes the states of another analysis (history_share_states()), whose sink is put before PATH's. Before the first item. */
void path_share_states(struct path *path, struct states *states);
void path_done(struct path *path);

/* How long the intervals of a kind took: what the rows with the key `of` are the parts of. Times are ticks. */
struct path_kind {
    uint64_t n, n_slow;
    int64_t total;
    int64_t p50, max;
    int64_t slow; /* each of the `n_slow` slowest takes this long or longer: SLOW% is of these */
};

/* False: there is no such kind. */
bool path_find_kind(const struct path *path, const char *of, struct path_kind *ret);
