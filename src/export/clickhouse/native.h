/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes blocks of rows in ClickHouse's Native format. It stores columns contiguously, so the server parses nothing.
 *
 *     block   columns, rows            as varint: 7 bits a byte, the lowest first, bit 7 in all but the last
 *             name, type, values       for each column
 *     string  length as varint, bytes
 *
 *     type             values
 *     UInt64, Int64 …  little endian, one after the other
 *     FixedString(N)   N bytes each
 *     Float64          the same
 *     Date             days since 1970-01-01, 16 bits
 *     DateTime         seconds since 1970-01-01, 32 bits
 *     String           strings
 *     Nullable(T)      a byte for each row, 1 for NULL; then the values of T, any where it is NULL
 *     Array(T)         for each row, the number of elements up to its end, 64 bits; then all elements as T
 *
 * Source: ClickHouse's documentation of the formats, and what clickhouse-server 18.16 gives for FORMAT Native.
 *
 * Values are appended to columns one by one and copied. The block is assembled when it is sent. The columns' texts
 * (base/text.h) keep an out-of-memory error until native_block_put() returns it. Not thread-safe. */

#include "base/bytes.h"
#include "base/text.h"

struct native_column {
    const char *name;
    const char *type;    /* "Nullable(Int32)" */
    struct text nulls;   /* for Nullable */
    struct text offsets; /* for Array */
    struct text values;
    uint64_t elements; /* for Array */
};

struct native_block {
    struct native_column *columns;
    unsigned n_columns;
    uint64_t n_rows; /* the caller counts them */
};

void native_put_varint(struct text *text, uint64_t v);
void native_put_string(struct text *text, const char *s, size_t len);

static inline void native_put_u16(struct text *text, uint16_t v)
{
    store_le16(text_room(text, sizeof v), v);
    text->next += sizeof v;
}

static inline void native_put_u64(struct text *text, uint64_t v)
{
    store_le64(text_room(text, sizeof v), v);
    text->next += sizeof v;
}

/* An upper limit of the block's size in bytes. */
size_t native_block_size(const struct native_block *block);
/* Appends the block to OUT. 0, -ENOMEM. */
int native_block_put(const struct native_block *block, struct text *out);
/* Removes the rows and keeps the memory. */
void native_block_clear(struct native_block *block);
void native_block_done(struct native_block *block);
