/* SPDX-License-Identifier: MIT */
#pragma once

/* Intervals whose paths are to be found (walk.h): as late as possible, so that the states that they need are known, and before these
 * are dropped. The user puts items into `history`, then adds the intervals that these end, then calls path_finder_make_room().
 *
 * Not thread-safe. */

#include "analysis/path/walk.h"

#define PATH_PENDING_MAX 8192u

struct path_pending {
    int64_t begin, until;
    struct path_end end; /* not of a request */
    uint64_t request;    /* its number in the history; 0: it is none */
    unsigned group;      /* the user's */
    void *own;           /* the user's */
    const struct origin *origin;
    int32_t cpu, pid, vcpu; /* of its begin */
    uint32_t error_ns;
};

struct path_finder {
    struct history history;
    struct path_walk walk;        /* for the user */
    struct path_pending *pending; /* in the order in which they were known */
    unsigned n, room;
    /* What PENDING needs is known, or will not be. REQUEST: it is this one; NULL: it is none. 0, or a negative errno. */
    int (*find)(void *arg, const struct path_pending *pending, const struct io_request *request);
    void *arg;
};

void path_finder_init(struct path_finder *finder,
                      int (*find)(void *arg, const struct path_pending *pending,
                                  const struct io_request *request),
                      void *arg);
/* 0, -ENOMEM, or what find() returned; so do the next two. */
int path_finder_add(struct path_finder *finder, const struct path_pending *pending);
/* Drops the oldest states if there are too many. Those of requests that TRACKER, which may be NULL, has open or has not given yet
 * are kept as long as there is room. */
int path_finder_make_room(struct path_finder *finder, struct io_tracker *tracker, int64_t now);
/* After the last item, and the last interval. */
int path_finder_finish(struct path_finder *finder);
/* Frees no `own` of intervals that are pending: there are none after path_finder_finish(). */
void path_finder_done(struct path_finder *finder);
