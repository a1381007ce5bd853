/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata list` have in common: in JSON and CSV one table for all kinds of rows, in text one for
 * each. */

#include <sys/types.h>

#include "base/error.h"
#include "print/table.h"

enum list_column {
    LIST_PID,
    LIST_KIND,
    LIST_ANSWERS,
    LIST_SINCE, /* text alone */
    LIST_SINCE_NS,
    LIST_PROGRAM,
    LIST_NAME,
    LIST_DIRECTORY,
    LIST_VERSION,
    LIST_EVENTS_TEXT, /* text alone */
    LIST_EVENTS_ON,
    LIST_EVENTS,
    LIST_MODE,
    LIST_RINGS,
    LIST_RING_BYTES,
    LIST_LOST, /* text alone */
    LIST_DROPPED,
    LIST_UNWRITTEN,
    LIST_SINKS, /* CSV alone */
    LIST_SINKS_JSON,
    LIST_SOURCES, /* CSV alone */
    LIST_SOURCES_JSON,
    LIST_USER,
    LIST_KEEPS,
    LIST_SNAPSHOTS,
    LIST_QMP,
    LIST_WHAT,   /* text alone: what is listed */
    LIST_REMARK, /* text alone: more of it, or nothing */
    LIST_COLUMNS,
};

struct list {
    struct text *out;
    struct table table;
    struct table_column columns[LIST_COLUMNS];
    bool any; /* text: the table of this kind has a row */
    int error;
};

/* In text, another table: its heading of LIST_WHAT. */
void list_begin_kind(struct list *list, const char *what);
/* The first cells of a row. SINCE_NS: since 1970; 0: not known. */
void list_begin_row(struct list *list, pid_t pid, const char *kind, int64_t since_ns);

/* Recordings that are under way, and QEMUs that could be recorded, or are. -errno with ERROR. */
int list_recordings(struct list *list, struct error *error);
