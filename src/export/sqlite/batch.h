/* SPDX-License-Identifier: MIT */
#pragma once

/* Inserts events into a database in batches: copies them until there are many, then gives SQLite the events of one
 * table at a time as a virtual table, so that one `INSERT … SELECT` inserts them all. That costs half as much as a
 * statement per event. Not thread-safe. */

#include <sqlite3.h>

#include "tables/event_row.h"

/* The virtual table, its columns `c0`, `c1`, …: those of the table of events that it shows. */
#define SQLITE_BATCH_TABLE "strata_batch"

/* The events of one table. */
struct sqlite_chain {
    uint32_t first, last; /* in the batch; SQLITE_BATCH_NONE: empty */
};

#define SQLITE_BATCH_NONE UINT32_MAX

struct sqlite_batch_row;

struct sqlite_batch {
    struct sqlite_batch_row *rows;
    uint32_t n;
    uint8_t *payloads;
    size_t n_payloads;
    uint32_t next;       /* the first row that the next scan of the table shows */
    struct value *cells; /* of the row that it is at */
    struct row_buffer *buffer;
};

/* -ENOMEM. */
int sqlite_batch_init(struct sqlite_batch *batch);
void sqlite_batch_done(struct sqlite_batch *batch);

/* Makes the virtual table known to DB, which BATCH outlives. A result code of SQLite. */
int sqlite_batch_register(struct sqlite_batch *batch, sqlite3 *db);

/* Whether an event with SIZE bytes of payload can be added before the batch is emptied. One that is
 * larger than any batch can be added to an empty one: it is then lent, not copied. */
bool sqlite_batch_has_room(const struct sqlite_batch *batch, uint32_t size);
/* Adds ROW at the end of CHAIN. True: it was lent, so that the batch has to be emptied before its item goes. */
bool sqlite_batch_add(struct sqlite_batch *batch, struct sqlite_chain *chain,
                      const struct event_row *row);

/* The next scan of the virtual table shows the events of CHAIN. */
static inline void sqlite_batch_show(struct sqlite_batch *batch, const struct sqlite_chain *chain)
{
    batch->next = chain->first;
}

/* Forgets all events; chains are the caller's to empty. */
static inline void sqlite_batch_clear(struct sqlite_batch *batch)
{
    batch->n = 0;
    batch->n_payloads = 0;
}
