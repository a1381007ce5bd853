/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the trace from its beginning, or from the earliest requested time, and stops at each event that may be
 * requested. SQLite checks each event again, so a scan may stop at other events. It never leaves one out. */

#include "query/internal.h"

#define SCAN_SET_MAX 64

/* Numbers of which an event must have one. */
struct scan_set {
    bool given;
    unsigned n; /* more than SCAN_SET_MAX: not restricted */
    int64_t values[SCAN_SET_MAX];
};

/* Texts that a class must have: `layer`, `event`, `event_group`. */
enum scan_text { SCAN_LAYER, SCAN_GROUP, SCAN_EVENT };
#define SCAN_TEXTS 16
struct scan_pattern {
    enum scan_text what;
    char op;    /* '=', 'G' GLOB, 'K' LIKE; 'i': one of a list of texts that end with a NUL each */
    char *text; /* malloc()ed */
    size_t len; /* of the list */
};

struct scan_filter {
    int64_t from, to; /* ns, both included */
    struct scan_set cpus, pids, sources;
    struct scan_pattern patterns[SCAN_TEXTS];
    unsigned n_patterns;
    bool nothing; /* a comparison with NULL */
    /* Selects the events of these tables; NULL: all. */
    const struct event_family *family;
    const struct event_table *table;
    bool needs_ids; /* ids are needed, so the trace is read from its beginning */
};

struct scan_class {
    uint8_t state; /* 0: not examined yet */
    const struct event_table *table;
    unsigned source;
};

struct scan {
    struct query *query;
    struct scan_filter filter;
    struct trace *trace;
    const struct item *items;
    unsigned n, at;
    int64_t id;        /* of the item at index `at` */
    int64_t from, to;  /* in ticks, with room for rounding */
    int64_t same_time; /* number of earlier items with the time `last_time` */
    int64_t last_time;
    unsigned n_after; /* consecutive items later than `to` */
    bool started, sought, ended;
    struct scan_class *classes; /* by class->index */
    unsigned n_classes;
    struct losses losses;
    const struct item *item; /* the item where it stopped; NULL at the end */
    const struct scan_class *class;
    unsigned source; /* of the item */
};

void query_scan_filter_clear(struct scan_filter *filter);

/* Starts with scan->filter. 0, or a negative errno with query->error. */
int query_scan_start(struct scan *scan);
/* Moves to the next event. */
int query_scan_next(struct scan *scan);
void query_scan_end(struct scan *scan);

/* A number of the event that is the same in all scans. */
int64_t query_scan_rowid(const struct scan *scan);
