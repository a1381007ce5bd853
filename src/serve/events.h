/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace itself from a time on, opened for one request. Items are in order of time. */

#include "event/item.h"
#include "index/index.h"
#include "serve/http_exchange.h"
#include "trace/trace.h"

/* Items that one request reads at most: some seconds. */
#define EVENTS_READ_MAX 20000000u

struct events {
    const struct server *server;
    struct trace *trace;
    const struct item *items;
    unsigned i, n;
    int64_t from;
    uint64_t n_read;
};

/* Items at FROM (ns, as the index has them) and later, for the answer of X. 0, or a negative errno with ERROR. */
int events_open(struct exchange *x, int64_t from, struct events *ret, struct error *error);
void events_close(struct events *events);

/* 1: *RET_ITEM, lent until the next call, and its time; 0: that was the last one; -ECANCELED: EVENTS_READ_MAX were read, or the
 * server stops; another negative errno with ERROR. */
int events_next(struct events *events, const struct item **ret_item, int64_t *ret_time,
                struct error *error);

/* True if ITEM may be of TRACK: of its source, and of its CPU, thread and vCPU where both are known. */
bool events_on_track(const struct events *events, const struct item *item,
                     const struct index_track *track);

/* An object: the event, or the loss, in ITEM at TIME. FIELDS: with the event's fields, `fields` as `strata report -f json` has
 * them and `shown` as its text has them. */
void events_put_item(struct exchange *x, const struct events *events, const struct item *item,
                     int64_t time, bool fields);
