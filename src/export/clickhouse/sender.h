/* SPDX-License-Identifier: MIT */
#pragma once

/* Sends the rows of one trace to ClickHouse, each once, however often the trace is sent.
 *
 * A trace is divided into blocks, which are numbered from 0 in each table, with the variant in the upper half. A block has rows of one day, so that it is
 * one part of one partition, and one INSERT: ClickHouse has all of it or nothing. Which rows are in which block depends on
 * the trace alone. Each row has its host, the trace's name, and the number of its block.
 *
 * Invariants:
 *  C1  Before anything is sent, the sender reads which blocks of the trace the server has, and how many rows of each. A
 *      block that is there is not sent. One that has another number of rows is an error: it was sent by another
 *      version, or with other options.
 *  C2  An INSERT has the name of trace and block as its query ID. Before the sender asks which blocks are there, it waits
 *      until no INSERT of the trace runs: of a sender that was killed, or one of its own of which the outcome is not
 *      known.
 *  C3  The row of the table `trace` is sent last: a trace with one is complete.
 *  C4  Before that, the rows are counted. The tables are ReplacingMergeTrees whose sorting key is unique to a row: if
 *      there are too many, because a request of a killed sender came late, or another sender sends the same trace at the
 *      same time, the parts of these days are merged, which leaves each row once. ClickHouse merges the parts of
 *      distributed tables later by itself.
 *
 * Not thread-safe. */

#include "export/clickhouse/http.h"
#include "export/clickhouse/native.h"

/* A table that rows are sent to. Its first columns are sender_columns, which the sender fills when it sends a block: the
 * caller adds values to the others, and counts the rows. */
struct sender_table {
    const char *name;
    const char *order; /* the sorting key, as SQL */
    struct native_block block;
    uint16_t day;             /* of the rows in `block` */
    uint32_t next_block;      /* number */
    uint64_t n_sent, n_found; /* rows */
    uint64_t *found;          /* by the number of the block: how many rows the server has */
    uint32_t n_blocks_found;
};

#define SENDER_COLUMNS 4 /* host, trace, block, day */
/* Their names and types, by which a table begins. */
extern const struct native_column sender_columns[SENDER_COLUMNS];
#define SENDER_TRACE_LEN 16

struct sender_options {
    struct clickhouse *clickhouse;
    const char *host;
    const char *trace; /* SENDER_TRACE_LEN hexadecimal digits: the same for the same trace */
    /* The upper half of the numbers of blocks: another one where other rows are made of the same trace. */
    uint32_t variant;
    unsigned retry_s;                            /* how long what may pass is tried again */
    const volatile int *stop;                    /* NULL: nothing stops it */
    void (*report)(void *arg, const char *text); /* of what is tried again; NULL: not reported */
    void *report_arg;
};

struct sender {
    struct sender_options options;
    struct sender_table *tables;
    unsigned n_tables;
    struct text data;
    bool is_complete; /* the server has the row of the last table */
};

/* The statements that make the tables, each ended by ";\n". CLUSTER: as distributed tables over those of the same names
 * with "_shard", which are then what is made first; NULL: plain ones. */
void sender_put_schema(const struct sender_table *tables, unsigned n_tables, const char *database,
                       const char *cluster, struct text *out);

/* Makes the database and the tables where they are missing, checks the columns of those that are not, and reads what the
 * server has of the trace. OPTIONS are copied; the strings in it, and TABLES, outlive the sender. -EEXIST: rows of another
 * variant are there, which sender_remove() removes; other negative errnos; each with ERROR. */
int sender_open(struct sender *sender, const struct sender_options *options,
                struct sender_table *tables, unsigned n_tables, struct error *error);
void sender_done(struct sender *sender);

/* Sends the rows of TABLE as its next block, if the server does not have it, and clears them. */
int sender_flush(struct sender *sender, struct sender_table *table, struct error *error);

/* Makes sure that each row is there once, when all rows are sent but those of the last table (C4). */
int sender_settle(struct sender *sender, struct error *error);

/* Removes all rows of the trace from the server, of any variant; before the first sender_flush(), also after sender_open()
 * returned -EEXIST. */
int sender_remove(struct sender *sender, struct error *error);
