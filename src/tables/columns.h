/* SPDX-License-Identifier: MIT */
#pragma once

/* Defines a trace as tables and their columns. SQL over traces (query/) and the exports to SQLite, Parquet and
 * ClickHouse use the same tables, so a query for one of them runs on the others.
 *
 * Every trace has the fixed tables (enum fixed_table), and a table for each event of each layer (tables/event_table.h).
 * A row is an array of struct value (event/value.h), with a cell for each column:
 *
 *     COLUMN_INTEGER   i
 *     COLUMN_UNSIGNED  u; up to 2^64 - 1
 *     COLUMN_REAL      u: the 8 bytes of a double, which may be infinite or not a number
 *     COLUMN_TEXT      len bytes at s; of events, as the tracer wrote them: maybe not UTF-8
 *     COLUMN_BLOB      len bytes at s
 *     COLUMN_EITHER      i if len is 0; otherwise a text, such as Xen's vCPU d0v1: len bytes at s
 *
 * A cell that is not `present` is NULL. Times are nanoseconds on the trace's timeline, or ticks if the rate of the
 * clock is unknown (then the column `hz` of `source` is NULL). */

#include <stdbool.h>
#include <string.h>

#include "event/value.h"

enum column_type {
    COLUMN_INTEGER,
    COLUMN_UNSIGNED,
    COLUMN_REAL,
    COLUMN_TEXT,
    COLUMN_BLOB,
    COLUMN_EITHER,
};
#define COLUMN_TYPES (COLUMN_EITHER + 1)

struct trace_column {
    const char *name; /* unique in its table, ignoring case */
    enum column_type type;
    bool nullable;
    bool hex; /* shown in hexadecimal */
};

struct trace_table {
    const char *name; /* an identifier, unique ignoring case */
    const struct trace_column *columns;
    unsigned n_columns;
};

enum fixed_table {
    TABLE_EVENT,
    TABLE_SPAN,
    TABLE_STATE,
    TABLE_LOSS,
    TABLE_SOURCE,
    TABLE_CLOCK,
    TABLE_THREAD,
    TABLE_CPU,
    TABLE_CLASS,
    TABLE_FIELD,
    TABLE_VALUE_NAME,
    TABLE_META,
    TABLE_FACT,
    TABLE_PROBLEM,
};
#define FIXED_TABLES (TABLE_PROBLEM + 1)
/* A bit for a set of tables. */
#define TABLE_BIT(table) (1u << (table))

extern const struct trace_table fixed_tables[FIXED_TABLES];
/* Names of views in the export to SQLite and in `strata sql`, terminated by NULL. No table of an event gets these
 * names. */
extern const char *const reserved_table_names[];

/* The columns of all events, which are the first in their tables. */
enum event_column {
    EVENT_ID, /* numbers all events and losses from 1, in the order of time */
    EVENT_TIME,
    EVENT_ERROR, /* largest error of the time; NULL with a single clock */
    EVENT_SOURCE,
    EVENT_CPU,
    EVENT_PID,
    EVENT_VCPU,
    EVENT_FIELDS, /* the first field, in tables of events */
};
extern const struct trace_column event_columns[EVENT_FIELDS];

/* Columns of `event`. */
enum {
    ALL_EVENT_ID,
    ALL_EVENT_TIME,
    ALL_EVENT_ERROR,
    ALL_EVENT_LAYER,
    ALL_EVENT_SOURCE,
    ALL_EVENT_CPU,
    ALL_EVENT_PID,
    ALL_EVENT_COMM,
    ALL_EVENT_VCPU,
    ALL_EVENT_GROUP,
    ALL_EVENT_EVENT,
    ALL_EVENT_COLUMNS,
};

/* Columns of `span`. Rows are in the order in which spans end. */
enum {
    SPAN_COL_NAME,
    SPAN_COL_LAYER,
    SPAN_COL_SOURCE,
    SPAN_COL_BEGIN,
    SPAN_COL_END, /* NULL if the span is cut */
    SPAN_COL_DURATION,
    SPAN_COL_ERROR, /* largest error of the duration, if two clocks stamped its ends */
    SPAN_COL_KEY,
    SPAN_COL_CPU,
    SPAN_COL_PID,
    SPAN_COL_VCPU,
    SPAN_COL_CUT, /* NULL if the span is complete; otherwise span_fate_name() */
    SPAN_COLUMNS,
};

/* Columns of `state`. */
enum {
    STATE_COL_KIND, /* thread, cpu, vcpu, domain */
    STATE_COL_SOURCE,
    STATE_COL_LAYER,
    STATE_COL_ID,
    STATE_COL_NAME,
    STATE_COL_STATE,
    STATE_COL_BEGIN,
    STATE_COL_END,
    STATE_COL_DURATION,
    STATE_COL_CPU,
    /* The thread that woke this thread, or -2 for an interrupt; for a CPU, the running thread. */
    STATE_COL_BY,
    STATE_COL_VCPU,
    STATE_COL_BEGIN_SEEN,
    STATE_COL_END_SEEN,
    STATE_COLUMNS,
};

/* Columns of `loss`. */
enum {
    LOSS_COL_ID,
    LOSS_COL_TIME,
    LOSS_COL_SINCE,
    LOSS_COL_ERROR,
    LOSS_COL_SOURCE,
    LOSS_COL_CPU,
    LOSS_COL_LOST,  /* NULL if the number is unknown */
    LOSS_COL_CAUSE, /* dropped, unreadable */
    LOSS_COL_SKIPPED,
    LOSS_COLUMNS,
};

/* Gets the times of a row of TABLE. If the row is of one moment, both are the same cell. False if the table has no
 * times. */
bool fixed_row_times(enum fixed_table table, const struct value *cells,
                     const struct value **ret_begin, const struct value **ret_end);

/* The largest number of columns of a fixed table. */
#define FIXED_COLUMNS_MAX 16

/* Cells. */
static inline struct value cell_null(void)
{
    return (struct value){.s = ""};
}

static inline struct value cell_integer(int64_t v)
{
    return (struct value){.i = v, .present = true};
}

/* NULL unless KNOWN. */
static inline struct value cell_integer_if(int64_t v, bool known)
{
    return (struct value){.i = v, .present = known};
}

static inline struct value cell_text_of(const char *s, size_t len)
{
    return (struct value){.s = s, .len = (uint32_t)len, .present = true};
}

/* S NULL is the cell NULL. */
static inline struct value cell_text(const char *s)
{
    return s ? cell_text_of(s, strlen(s)) : cell_null();
}
