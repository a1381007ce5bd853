/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata list` share. JSON and CSV have one table for all kinds of rows, text has a table for each
 * kind. */

#include <sys/types.h>

#include "base/error.h"
#include "print/table.h"

enum list_column {
    LIST_PID,
    LIST_KIND,
    LIST_ANSWERS,
    LIST_SINCE, /* text only */
    LIST_SINCE_NS,
    LIST_PROGRAM,
    LIST_NAME,
    LIST_DIRECTORY,
    LIST_VERSION,
    LIST_EVENTS_TEXT, /* text only */
    LIST_EVENTS_ON,
    LIST_EVENTS,
    LIST_MODE,
    LIST_RINGS,
    LIST_RING_BYTES,
    LIST_LOST, /* text only */
    LIST_DROPPED,
    LIST_UNWRITTEN,
    LIST_SINKS, /* CSV only */
    LIST_SINKS_JSON,
    LIST_SOURCES, /* CSV only */
    LIST_SOURCES_JSON,
    LIST_USER,
    LIST_KEEPS,
    LIST_SNAPSHOTS,
    LIST_QMP,
    LIST_WHAT,   /* text only: what is listed */
    LIST_REMARK, /* text only: more about it; may be empty */
    LIST_COLUMNS,
};

struct list {
    struct text *out;
    struct table table;
    struct table_column columns[LIST_COLUMNS];
    bool any; /* text: the table of this kind has a row */
    int error;
};

/* Text: begins another table, with WHAT as the heading of LIST_WHAT. */
void list_begin_kind(struct list *list, const char *what);
/* Sets the first cells of a row. SINCE_NS: since 1970; 0 if unknown. */
void list_begin_row(struct list *list, pid_t pid, const char *kind, int64_t since_ns);

/* Lists running recordings, and QEMUs that are or could be recorded. A negative errno with ERROR. */
int list_recordings(struct list *list, struct error *error);
