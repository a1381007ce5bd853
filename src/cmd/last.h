/* SPDX-License-Identifier: MIT */
#pragma once

/* --last N: the last N selected events of a trace, and the losses after the first of them. Reads stretches that end with
 * the trace, longer and longer ones, until one has as many. */

#include "cmd/walk.h"

struct last_options {
    uint64_t n;
    bool is_given;
};

/* Parses VALUE into MEMBER, a struct last_options. -EINVAL with ERROR->what. */
int last_parse(void *member, const char *value, struct error *error);

/* Prints an error if what PATHS name cannot be read again, or if SELECT does not go with --last. EXIT_SUCCESS,
 * EXIT_FAILURE. */
int last_check(const struct select_options *select, char **paths, int n);

/* Passes the items from the first of the last events on to NEXT, which it does not own, until these are as many events as
 * --limit says. */
struct last_sink {
    struct sink sink;
    struct sink *next;
    int64_t from;    /* items before it are left out; INT64_MIN: none */
    uint64_t skip;   /* events from then on that are left out, too, and the losses among them */
    bool is_reached; /* an event of that time was there */
    bool has_begun;
    uint64_t left;               /* events that are passed on; UINT64_MAX: all */
    struct selection *selection; /* that ends after them */
};

/* Reads what PATHS name, to fill SINK, whose items a trace gives that was sought to `from`. EXIT_SUCCESS, EXIT_FAILURE: an
 * error is printed. */
int last_find(const struct open_options *options, const struct select_options *select,
              uint64_t n_events, char **paths, int n_paths, struct last_sink *sink);
void last_sink_set_next(struct last_sink *sink, struct sink *next);
/* Has SINK, which gets what SELECTION selects, end it: a limit counts what is printed, not what is passed over. */
void last_sink_set_selection(struct last_sink *sink, struct selection *selection);
/* How many events --limit leaves; UINT64_MAX: all. */
uint64_t last_limit(const struct select_options *select);
