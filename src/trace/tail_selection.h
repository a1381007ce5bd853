/* SPDX-License-Identifier: MIT */
#pragma once

/* The last N selected events of a trace, and the losses after the first of them. Reads stretches that end with
 * the trace, longer and longer ones, until one has as many. */

#include "event/select.h"
#include "event/sink.h"
#include "trace/trace.h"

/* -EINVAL with ERROR: what one of PATHS, N of them, names cannot be read again. */
int tail_check(const char *const *paths, unsigned n, struct error *error);

/* Passes the items from the first of the last events on to NEXT, which it does not own, until these are as many events as
 * the limit says. */
struct tail_sink {
    struct sink sink;
    struct sink *next;
    int64_t from;    /* items before it are left out; INT64_MIN: none */
    uint64_t skip;   /* events from then on that are left out, too, and the losses among them */
    bool is_reached; /* an event of that time was there */
    bool has_begun;
    uint64_t left;               /* events that are passed on; UINT64_MAX: all */
    struct selection *selection; /* that ends after them */
};

/* Reads what PATHS name, to fill SINK, whose items a trace gives that was sought to `from`. A negative errno with ERROR. */
int tail_find(const struct trace_options *options, const struct select_options *select,
              uint64_t n_events, const char *const *paths, unsigned n_paths, struct tail_sink *sink,
              struct error *error);
void tail_sink_set_next(struct tail_sink *sink, struct sink *next);
/* Has SINK, which gets what SELECTION selects, end it: a limit counts what is printed, not what is passed over. */
void tail_sink_set_selection(struct tail_sink *sink, struct selection *selection);
/* How many events the limit of SELECT leaves; UINT64_MAX: all. */
uint64_t tail_limit(const struct select_options *select);
