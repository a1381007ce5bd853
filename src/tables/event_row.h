/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the cells of an event, in the table of its event and in `event`. */

#include "base/text.h"
#include "tables/event_table.h"

/* An event in its table. */
struct event_row {
    const struct event_table *table;
    const struct item *item;
    int64_t id;
    unsigned source; /* id of its origin in `source` */
    bool errors;     /* times have error bounds */
};

/* Memory for cells that are made: names, lists of numbers, vCPUs. The contents live until the next call with the same
 * buffer. Zeros are an empty buffer. */
struct row_buffer {
    struct text text;
    struct value values[FIELDS_MAX];
};

void row_buffer_init(struct row_buffer *buffer);
void row_buffer_done(struct row_buffer *buffer);

/* The time of an item in nanoseconds, or in ticks if the rate of its clock is unknown. */
static inline int64_t table_ns(const struct item *item, int64_t time)
{
    return clock_to_ns(&item->origin->clock, time);
}

/* Makes cell COLUMN of the event's table. -ENOMEM with *RET_CELL NULL. */
int event_row_cell(const struct event_row *row, unsigned column, struct row_buffer *buffer,
                   struct value *ret_cell);
/* Makes all ROW->table->table.n_columns cells. -ENOMEM. */
int event_row_cells(const struct event_row *row, struct row_buffer *buffer, struct value *cells);

/* Makes cell COLUMN of `event` (ALL_EVENT_ID and so on; does not use ROW->table). `comm` is the thread's name at the
 * time of the event. -ENOMEM. */
int all_event_cell(const struct event_row *row, unsigned column, struct row_buffer *buffer,
                   struct value *ret_cell);
int all_event_cells(const struct event_row *row, struct row_buffer *buffer, struct value *cells);
