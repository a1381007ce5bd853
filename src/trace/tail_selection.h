/* SPDX-License-Identifier: MIT */
#pragma once

/* Selects the last N selected events of a trace, and the losses after the first of them. Reads longer and longer
 * stretches that end with the trace, until one has enough events. */

#include "event/select.h"
#include "event/sink.h"
#include "trace/trace.h"

/* Returns -EINVAL with ERROR if one of N PATHS cannot be read again. */
int tail_check(const char *const *paths, unsigned n, struct error *error);

/* Passes items to NEXT from the first of the last events on, up to a number of events. Does not own NEXT. */
struct tail_sink {
    struct sink sink;
    struct sink *next;
    int64_t from;    /* items before it are left out; INT64_MIN: no item is */
    uint64_t skip;   /* events from `from` on that are left out, too, with the losses among them */
    bool is_reached; /* an event not before `from` was met */
    bool has_begun;
    uint64_t left;               /* events still to pass on; UINT64_MAX: all */
    struct selection *selection; /* ended when `left` is 0 */
};

/* Reads PATHS and fills SINK. Then SINK expects the items of a trace that was sought to `from`. A negative errno with
 * ERROR. */
int tail_find(const struct trace_options *options, const struct select_options *select,
              uint64_t n_events, const char *const *paths, unsigned n_paths, struct tail_sink *sink,
              struct error *error);
void tail_sink_set_next(struct tail_sink *sink, struct sink *next);
/* Makes SINK end SELECTION, which selects what it gets. So a limit counts printed events, not those passed over. */
void tail_sink_set_selection(struct tail_sink *sink, struct selection *selection);
/* The number of events that the limit of SELECT leaves, or UINT64_MAX without a limit. */
uint64_t tail_limit(const struct select_options *select);
