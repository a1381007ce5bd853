/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata path` share: path.c finds intervals, path_blame.c counts their segments, path_result.c makes the
 * result of these. */

#include "analysis/path/path.h"

/* Intervals of a kind: "guest read", a rule, "wait". */
struct path_group {
    const char *name;            /* of a rule, or of threads; NULL: … */
    const struct origin *origin; /* of requests: one of their layer */
    enum io_kind kind;
    struct histogram all;
    int64_t total; /* ticks of all */
};

/* The segments of an interval, if it is one of the longest. */
struct path_chain {
    unsigned group; /* its number */
    uint64_t device, sector;
    struct path_segment *segments;
    struct path_behind *behind;
    unsigned n;
};

/* Of a row: the time that it has in intervals, by how long these took (histogram_bucket()). */
struct path_sums {
    int64_t *doublings[HISTOGRAM_BUCKETS >> HISTOGRAM_SUB_BITS]; /* NULL: 0 */
    bool is_own; /* a wait behind a thread of Strata's own, or its run time */
};

static inline struct path *path_of_analysis(struct analysis *analysis)
{
    return container_of(analysis, struct path, analysis);
}

/* ---- path_blame.c ---- */

/* Counts PENDING by the segments of path->walk. 0, or a negative errno. */
int path_count(struct path *path, const struct path_pending *pending,
               const struct io_request *request);
void path_put_group(const struct path_group *group, struct text *text);
/* Puts who SEGMENT is about ("dd", "disk 8,0"); with its number if WITH_PID. */
void path_put_who(const struct path_segment *segment, bool with_pid, struct text *text);
/* "runs" */
const char *path_what_name(const struct path_segment *segment);
/* Puts why SEGMENT took its time; "-": there is nothing to say. BEHIND: one of those that ran while it waited; NULL: none. */
void path_put_cause(const struct path_segment *segment, const struct path_behind *behind,
                    bool with_pid, struct text *text);
/* A struct path_chain, or NULL. */
void path_chain_free(void *chain);

/* ---- path_result.c: struct analysis_ops ---- */

void path_add_columns(struct analysis *analysis, struct result *result);
int path_add_rows(struct analysis *analysis, struct result *result);
