/* SPDX-License-Identifier: MIT */
#pragma once

/* Inserts events into a database in batches. It copies many events, then gives SQLite the events of one table at a time
 * as a virtual table, so that one `INSERT … SELECT` inserts them all. This costs half as much as a statement per event.
 * Not thread-safe. */

#include <sqlite3.h>

#include "tables/event_row.h"

/* The virtual table. Its columns `c0`, `c1`, … are the columns of the event table that it shows. */
#define SQLITE_BATCH_TABLE "strata_batch"

/* The events of one table. */
struct sqlite_chain {
    uint32_t first, last; /* index in the batch; SQLITE_BATCH_NONE if empty */
};

#define SQLITE_BATCH_NONE UINT32_MAX

struct sqlite_batch_row;

struct sqlite_batch {
    struct sqlite_batch_row *rows;
    uint32_t n;
    uint8_t *payloads;
    size_t n_payloads;
    uint32_t next;       /* first row of the next scan */
    struct value *cells; /* of the current row */
    struct row_buffer *buffer;
};

/* -ENOMEM. */
int sqlite_batch_init(struct sqlite_batch *batch);
void sqlite_batch_done(struct sqlite_batch *batch);

/* Makes the virtual table known to DB. BATCH outlives DB. Returns a result code of SQLite. */
int sqlite_batch_register(struct sqlite_batch *batch, sqlite3 *db);

/* True if an event with SIZE bytes of payload fits into the batch. An event larger than any batch fits into an empty
 * batch: it is lent, not copied. */
bool sqlite_batch_has_room(const struct sqlite_batch *batch, uint32_t size);
/* Adds ROW at the end of CHAIN. True if it was lent; then the batch must be emptied before the item is freed. */
bool sqlite_batch_add(struct sqlite_batch *batch, struct sqlite_chain *chain,
                      const struct event_row *row);

/* Makes the next scan of the virtual table show the events of CHAIN. */
static inline void sqlite_batch_show(struct sqlite_batch *batch, const struct sqlite_chain *chain)
{
    batch->next = chain->first;
}

/* Removes all events. The caller empties the chains. */
static inline void sqlite_batch_clear(struct sqlite_batch *batch)
{
    batch->n = 0;
    batch->n_payloads = 0;
}
