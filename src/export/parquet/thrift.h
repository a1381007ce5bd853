/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes Thrift's compact protocol, which Parquet uses for its metadata (Apache Thrift, doc/specs/thrift-compact-protocol.md):
 *
 *   struct   its fields, then a byte 0
 *   field    a byte: (number - previous field's number) << 4 | type; then the value
 *   i32, i64 varint of the zigzag; binary: varint of the length, and the bytes
 *   list     a byte: number of elements << 4 | type; 15 << 4 and a varint from 15 elements on; then the elements
 *   bool     as a field: its type; the value takes no room */

#include "base/text.h"

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_BYTE = 3,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

#define VARINT_MAX 10

static inline void put_varint(struct text *out, uint64_t v)
{
    char *p = text_room(out, VARINT_MAX);

    for (; v >= 0x80; v >>= 7)
        *p++ = (char)(v | 0x80);
    *p++ = (char)v;
    out->next = p;
}

static inline void put_zigzag(struct text *out, int64_t v)
{
    put_varint(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* LAST: the number of the struct's previous field, 0 before the first. Numbers ascend in steps below 16. */
static inline void thrift_field(struct text *out, unsigned *last, unsigned number,
                                enum thrift_type type)
{
    text_put_char(out, (char)((number - *last) << 4 | type));
    *last = number;
}

static inline void thrift_number(struct text *out, unsigned *last, unsigned number,
                                 enum thrift_type type, int64_t v)
{
    thrift_field(out, last, number, type);
    put_zigzag(out, v);
}

static inline void thrift_bytes(struct text *out, const void *s, size_t len)
{
    put_varint(out, len);
    text_put(out, s, len);
}

static inline void thrift_binary(struct text *out, unsigned *last, unsigned number, const void *s,
                                 size_t len)
{
    thrift_field(out, last, number, THRIFT_BINARY);
    thrift_bytes(out, s, len);
}

static inline void thrift_list(struct text *out, unsigned *last, unsigned number,
                               enum thrift_type type, size_t n)
{
    thrift_field(out, last, number, THRIFT_LIST);
    text_put_char(out, (char)((n < 15 ? n << 4 : 0xf0) | type));
    if (n >= 15)
        put_varint(out, n);
}

static inline void thrift_end(struct text *out)
{
    text_put_char(out, 0);
}
