/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the trace from a time on, opened for one request. Items are in the order of time. */

#include "event/item.h"
#include "index/index.h"
#include "serve/http_exchange.h"
#include "trace/trace.h"

/* Limit of items that one request reads: some seconds. */
#define EVENTS_READ_MAX 20000000u

struct events {
    const struct server *server;
    struct trace *trace;
    const struct item *items;
    unsigned i, n;
    int64_t from;
    uint64_t n_read;
};

/* Opens the trace at FROM (ns, as in the index), for the answer of X. 0, or a negative errno with ERROR. */
int events_open(struct exchange *x, int64_t from, struct events *ret, struct error *error);
void events_close(struct events *events);

/* Returns 1 with *RET_ITEM, lent until the next call, and its time; 0 after the last item; -ECANCELED after
 * EVENTS_READ_MAX items, or if the server stops; another negative errno with ERROR. */
int events_next(struct events *events, const struct item **ret_item, int64_t *ret_time,
                struct error *error);

/* True if ITEM may be on TRACK: its source is the same, and its CPU, thread and vCPU are if both are known. */
bool events_on_track(const struct events *events, const struct item *item,
                     const struct index_track *track);

/* Writes an object for the event or loss ITEM at TIME. FIELDS: with the event's fields, `fields` as in `strata report
 * -f json`, and `shown` as in its text. */
void events_put_item(struct exchange *x, const struct events *events, const struct item *item,
                     int64_t time, bool fields);
