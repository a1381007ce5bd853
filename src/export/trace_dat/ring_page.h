/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes pages of the Linux kernel's trace ring buffer from records.
 *
 *   bytes             what
 *   0..7              u64 time at which the page begins
 *   8..15 (8..11)     commit, a `long`: bytes of records; bit 31: events were missed before the page;
 *                     bit 30: their number follows the records, as a `long`
 *   16.. (12..)       records
 *
 * A record is a u32, 27 bits of time since the one before and 5 bits type_len, and what follows:
 *
 *   type_len          record
 *   0                 u32 its length, that u32 counted; bytes
 *   1..28             type_len * 4 bytes
 *   29                (time 0) nothing more in this page
 *   30                u32 the upper bits of a time that 27 bits do not hold
 *
 * On a little-endian kernel type_len is the low 5 bits, on a big-endian one the high ones. Bytes are padded to
 * multiples of 4.
 *
 * Source: the kernel's events/header_page and header_event; format/ftrace/page.h reads them. */

#include "base/bytes.h"
#include "base/macro.h"

struct ring_layout {
    bool swap;         /* not this machine's byte order */
    bool big_endian;   /* the byte order */
    uint8_t long_size; /* 4 or 8 */
    uint32_t size;     /* of a page */
};

static inline uint32_t ring_data_offset(const struct ring_layout *layout)
{
    return 8U + layout->long_size;
}

/* The page size that a record of SIZE bytes needs: a power of two, at least 4096. */
uint32_t ring_page_size(uint8_t long_size, uint32_t size);

/* A page that is being filled, of layout->size bytes at `bytes`. */
struct ring_page {
    const struct ring_layout *layout;
    uint8_t *bytes;
    uint32_t used;     /* 0 before ring_page_begin() */
    uint64_t time;     /* of the last record */
    bool missed;       /* events were lost before the page */
    uint64_t n_missed; /* UINT64_MAX if unknown */
};

/* Begins a page at TIME. */
void ring_page_begin(struct ring_page *page, uint64_t time);
/* Appends a record at TIME, which must not be before the last record's. False if it does not fit. */
bool ring_page_put(struct ring_page *page, uint64_t time, const void *p, uint32_t size);
/* Writes the page's header and end. Then it can be stored. */
void ring_page_end(struct ring_page *page);
