/* SPDX-License-Identifier: MIT */
#pragma once

/* The file of an index. Numbers have the byte order of the machine that built it; an index with another order counts as
 * another version. Times are in ns.
 *
 *     0      struct index_header
 *            blocks, in the order in which they filled
 *            the sections that the header names, each aligned to 8 bytes:
 *              tracks        struct file_track, parents before children
 *              rows          struct file_row
 *              nodes         struct slice_node: the levels of rows of slices
 *              values        struct value_node: rows of values
 *              events        struct event_node: rows of events
 *              arrows        struct index_arrow, by their ends
 *              arrow_begins  int64_t for each ARROWS_PER_BEGIN arrows: the least begin of these and all that follow
 *              names         uint32_t for each name: its place in `strings`; the first STATES names are enum state's
 *              strings       texts, each ended by a NUL; the first is empty
 *
 * A row has what is on a track at one depth. Its blocks have columns, each with numbers of one width (index/columns.h).
 * "gap" is the time since the end of the previous slice, or since the begin of the node.
 *
 *     slices  of BLOCK_SLICES
 *               a byte each: the widths of gaps and of durations, the number of names
 *               names: varint (7 bits a byte, the lowest first, the highest bit of all but the last byte is set) of
 *               number << 1 | has flags, then a byte of flags if it has some
 *               columns: gap; duration; which of the names, in as many bits as the number of names minus 1 has
 *     values  of BLOCK_VALUES
 *               a byte each: the widths of both columns
 *               columns: gap; v: value minus the one before, or minus the node's least, as 2v or -2v-1
 *     events  of BLOCK_EVENTS
 *               ascending column: time since the begin of the node
 *
 * A tree of nodes covers the blocks of slices. Its lowest level has a node for each block, each higher level a node for
 * NODE_CHILDREN nodes below it, up to a level with one node. Levels are stored from the lowest on. The numbers of nodes
 * and slices follow from the row's number of slices, because all nodes of a level except the last are full. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_MAGIC "StrataIx"
#define INDEX_VERSION 13
#define INDEX_ORDER 0x01020304u

#define BLOCK_SLICES 64u
#define NODE_CHILDREN 8u
#define BLOCK_VALUES 128u
#define BLOCK_EVENTS 128u
#define ARROWS_PER_BEGIN 256u

#define SHARE_ONE 65535u
#define VARINT_MAX 10

enum index_section {
    SECTION_TRACKS,
    SECTION_ROWS,
    SECTION_NODES,
    SECTION_VALUES,
    SECTION_EVENTS,
    SECTION_ARROWS,
    SECTION_ARROW_BEGINS,
    SECTION_NAMES,
    SECTION_STRINGS,
};
#define SECTIONS (SECTION_STRINGS + 1)

struct index_header {
    char magic[8];
    uint32_t version, order;
    uint64_t file_size;
    int64_t begin, end; /* of the trace */
    uint64_t n_events, n_lost;
    uint32_t error_ns;
    uint32_t clock_note; /* place in `strings` */
    struct {
        uint64_t offset, size; /* in bytes */
    } sections[SECTIONS];
    uint64_t content_hash; /* XXH3 of everything after the header */
    uint64_t header_hash;  /* of everything before it */
};

struct file_track {
    uint32_t parent;
    uint8_t kind, layer; /* enum index_track_kind, enum layer */
    uint16_t unused;
    uint32_t source;
    uint32_t name, unit; /* places in `strings`; unit 0: none */
    int32_t rank, cpu, pid, vcpu;
    uint32_t first_row, n_rows;
    uint32_t unused2;
    uint64_t n; /* in all rows */
};

struct file_row {
    uint64_t n;          /* number of slices, values or events */
    uint64_t first_node; /* in the section of its kind */
};

struct slice_node {
    int64_t begin, end;
    /* Offset of the block (0 above the lowest level) << 8 | flags of all its slices. */
    uint64_t where;
    uint32_t name;    /* name that takes most of the time */
    uint16_t covered; /* share of the time with a slice, in parts of SHARE_ONE, rounded up */
    uint16_t top;     /* share of the covered time with `name` */
};

struct node_span {
    int64_t begin, end;
};

struct value_node {
    struct node_span span;
    int64_t min, max, last;
    uint64_t offset;
};

struct event_node {
    struct node_span span;
    uint64_t offset;
};

_Static_assert(sizeof(struct index_header) == 224, "no padding");
_Static_assert(sizeof(struct file_track) == 56, "no padding");
_Static_assert(sizeof(struct slice_node) == 32, "no padding");
_Static_assert(sizeof(struct event_node) == 24, "no padding");

/* The share of PART in WHOLE. */
static inline uint16_t share_of(uint64_t part, uint64_t whole)
{
    double share = whole ? (double)part / (double)whole * SHARE_ONE : SHARE_ONE;

    return share >= SHARE_ONE ? SHARE_ONE : (uint16_t)(share + 0.999999);
}

static inline uint64_t share_time(uint16_t share, uint64_t whole)
{
    return share == SHARE_ONE ? whole : (uint64_t)((double)whole * share / SHARE_ONE);
}

/* END must not be before BEGIN. */
static inline uint64_t ns_between(int64_t begin, int64_t end)
{
    return (uint64_t)end - (uint64_t)begin;
}

static inline uint64_t zigzag(uint64_t v)
{
    return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
    return v >> 1 ^ -(v & 1);
}

/* Writes at P, where VARINT_MAX bytes must be free. Returns the end. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Reads at *P, before END, and advances *P. False if it is not complete. */
static inline bool varint_get(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
    const uint8_t *next = *p;
    uint64_t v = 0;

    for (unsigned shift = 0; next < end && shift < 64; shift += 7) {
        uint8_t byte = *next++;

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *p = next;
            *ret = v;
            return true;
        }
    }
    return false;
}
