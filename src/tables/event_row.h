/* SPDX-License-Identifier: MIT */
#pragma once

/* The cells of an event, in the table of its event and in `event`. */

#include "base/text.h"
#include "tables/event_table.h"

/* An event in its table. */
struct event_row {
    const struct event_table *table;
    const struct item *item;
    int64_t id;
    unsigned source; /* id of its origin in `source` */
    bool errors;     /* times have bounds */
};

/* Memory for cells that are made: names, lists of numbers, vCPUs. What they point to lives until the next call with the
 * same buffer. Zeroed: empty. */
struct row_buffer {
    struct text text;
    struct value values[FIELDS_MAX];
};

void row_buffer_init(struct row_buffer *buffer);
void row_buffer_done(struct row_buffer *buffer);

/* The time of an item in nanoseconds, or ticks if the rate of its clock is not known. */
static inline int64_t table_ns(const struct item *item, int64_t time)
{
    return clock_to_ns(&item->origin->clock, time);
}

/* Cell number COLUMN of the table of the event. -ENOMEM: *RET_CELL is NULL then. */
int event_row_cell(const struct event_row *row, unsigned column, struct row_buffer *buffer,
                   struct value *ret_cell);
/* All cells, ROW->table->table.n_columns of them. -ENOMEM. */
int event_row_cells(const struct event_row *row, struct row_buffer *buffer, struct value *cells);

/* Cell number COLUMN of `event` (ALL_EVENT_ID and so on; ROW->table is not used). `comm` is the name at the time of the
 * event. -ENOMEM. */
int all_event_cell(const struct event_row *row, unsigned column, struct row_buffer *buffer,
                   struct value *ret_cell);
int all_event_cells(const struct event_row *row, struct row_buffer *buffer, struct value *cells);
