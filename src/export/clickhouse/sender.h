/* SPDX-License-Identifier: MIT */
#pragma once

/* Sends the rows of a trace to ClickHouse so that each row is there once, however often the trace is sent.
 *
 * A trace is divided into blocks. Each table numbers its blocks from 0, with the variant in the number's upper half.
 * All rows of a block have the same day, so a block is one part of one partition, and one INSERT, of which ClickHouse
 * has all or nothing. The division into blocks depends only on the trace. Each row has its host, the trace's
 * identifier, and its block's number.
 *
 * Invariants:
 *  C1  Before anything is sent, the sender reads which blocks of the trace the server has, with their numbers of rows.
 *      It does not send these blocks. If a block has another number of rows, it was sent by another version or with
 *      other options, which is an error.
 *  C2  The query ID of an INSERT is made of the trace and the block. Before the sender asks for the server's blocks, it
 *      waits until no INSERT of the trace runs. It may be from a sender that was killed, or be the sender's own with
 *      unknown outcome.
 *  C3  The row of the table `trace` is sent last. A trace that has one is complete.
 *  C4  Before that, the rows are counted. The tables are ReplacingMergeTrees whose sorting key is unique for each row.
 *      There may be too many rows, because a request of a killed sender arrived late, or another sender sends the same
 *      trace at the same time. Then the sender merges the parts of these days, which leaves each row once. ClickHouse
 *      merges the parts of distributed tables later by itself.
 *
 * Not thread-safe. */

#include "export/clickhouse/http.h"
#include "export/clickhouse/native.h"

/* A table that gets rows. Its first columns are sender_columns, which the sender fills when it sends a block. The
 * caller adds values to the other columns, and counts the rows. */
struct sender_table {
    const char *name;
    const char *order; /* sorting key as SQL */
    struct native_block block;
    uint16_t day;             /* of the rows in `block` */
    uint32_t next_block;      /* number */
    uint64_t n_sent, n_found; /* rows */
    uint64_t *found;          /* by block number: the server's number of rows */
    uint32_t n_blocks_found;
};

#define SENDER_COLUMNS 4 /* host, trace, block, day */
/* The names and types of a table's first columns. */
extern const struct native_column sender_columns[SENDER_COLUMNS];
#define SENDER_TRACE_LEN 16

struct sender_options {
    struct clickhouse *clickhouse;
    const char *host;
    const char *trace; /* SENDER_TRACE_LEN hexadecimal digits that identify the trace */
    /* The upper half of block numbers. It differs if other rows are made of the same trace. */
    uint32_t variant;
    unsigned retry_s;                            /* for so long a request is repeated */
    const volatile int *stop;                    /* may be NULL */
    void (*report)(void *arg, const char *text); /* reports repeated requests; may be NULL */
    void *report_arg;
};

struct sender {
    struct sender_options options;
    struct sender_table *tables;
    unsigned n_tables;
    struct text data;
    bool is_complete; /* the server has the row of the last table */
};

/* Puts the statements that make the tables, each followed by ";\n". CLUSTER: makes tables with "_shard" on the shards,
 * and distributed tables over them; NULL: makes plain tables. */
void sender_put_schema(const struct sender_table *tables, unsigned n_tables, const char *database,
                       const char *cluster, struct text *out);

/* Makes the database and missing tables, checks the columns of existing tables, and reads what the server has of the
 * trace. Copies OPTIONS; its strings and TABLES outlive the sender. -EEXIST if the server has rows of another variant,
 * which sender_remove() removes; other negative errnos; each with ERROR. */
int sender_open(struct sender *sender, const struct sender_options *options,
                struct sender_table *tables, unsigned n_tables, struct error *error);
void sender_done(struct sender *sender);

/* Sends the rows of TABLE as its next block, unless the server has it, and clears them. */
int sender_flush(struct sender *sender, struct sender_table *table, struct error *error);

/* Makes sure that each row is there once (C4). Call when all rows except those of the last table are sent. */
int sender_settle(struct sender *sender, struct error *error);

/* Removes all rows of the trace from the server, in any variant. Call before the first sender_flush(), also after
 * sender_open() returned -EEXIST. */
int sender_remove(struct sender *sender, struct error *error);
