/* SPDX-License-Identifier: MIT */
#pragma once

/* One page ("sub-buffer") of the Linux kernel's trace ring buffer.
 *
 *   bytes             what
 *   0..7              u64 time at which the page begins
 *   8..15 (8..11)     commit, a `long`: the kernel's word size
 *   16.. (12..)       records, up to the page's end
 *
 * The kernel's text file `events/header_page` states these offsets and the length of the page. It is always parsed,
 * because the length of a page can be configured since Linux 6.8.
 *
 *   commit            what
 *   bits 0..26        bytes of records
 *   bit 30            the number of missed events is stored, as a `long`, after the records
 *   bit 31            events were missed between the page before and this one
 * The kernel keeps it in a signed type, so real pages have bits 32..63 set with bit 31.
 *
 * A record is a u32 header and data that depends on the header. In the header of a little-endian kernel, the low 5 bits
 * are type_len and the upper 27 bits are time_delta; a big-endian kernel has type_len in the upper 5 bits.
 *
 *   type_len          record
 *   0                 event; the next u32 holds its length, that u32 counted
 *   1..28             event of type_len * 4 bytes
 *   29                padding; delta 0: to the page's end, else the next u32 says how many bytes
 *                     follow the header
 *   30                time extend: the delta is (next u32) << 27 | time_delta
 *   31                time stamp: the low 59 bits of the time itself, put together the same way; the
 *                     top 5 bits stay as they were
 *
 * Each delta is added to the time of the previous record, also the delta of padding.
 *
 * Source: the header text `events/header_event`, Linux Documentation/trace/ring-buffer-design.rst, and pages of Linux
 * 6.1 and 6.18 compared with the output of trace-cmd 3.1.6. */

#include "base/bytes.h"
#include "base/error.h"
#include "base/macro.h"

/* The layout of one kernel's pages. */
struct ftrace_layout {
    bool swap; /* written on a machine of the other byte order */
    /* the byte order of that machine, which determines how record headers are read */
    bool big_endian;
    uint8_t long_size; /* 4 or 8: size of `commit` */
    uint32_t commit;   /* offset of `commit` */
    uint32_t data;     /* offset of the first record */
    uint32_t size;     /* of a whole page */
};

/* Longest accepted page: the kernel's limit is 1 << 7 pages of at most 64 KB, and real ones have 4 KB. */
#define FTRACE_PAGE_MAX (UINT32_C(1) << 23)

/* Parses the text of `events/header_page`. NAME is for messages. The byte order is set to this machine's, because the
 * text does not state it. -EBADMSG. */
int ftrace_layout_parse(const char *text, size_t len, const char *name,
                        struct ftrace_layout *ret_layout, struct error *error);
/* Sets the byte order. */
void ftrace_layout_set_order(struct ftrace_layout *layout, bool big_endian);
/* True if the page's commit word is plausible in LAYOUT's byte order. SIZE bytes are available. */
bool ftrace_page_is_plausible(const struct ftrace_layout *layout, const uint8_t *page, size_t size);

/* True if events were lost before PAGE, of which the first layout->data bytes are available. */
bool ftrace_page_is_after_loss(const struct ftrace_layout *layout, const uint8_t *page);

/* True if a page seems to begin at P, of which LEFT bytes are available: its length is plausible, it is not older than
 * AFTER nor much younger (0: any time), and its first records are consistent. */
bool ftrace_page_seems_to_begin(const struct ftrace_layout *layout, const uint8_t *p, size_t left,
                                uint64_t after);

/* Makes a page of layout->size bytes at PAGE that begins at TIME, has no events, and states that LOST events were
 * missed before it. With FTRACE_LOST_UNKNOWN, or more than a `long` holds, it only states that events were missed. */
#define FTRACE_LOST_UNKNOWN UINT64_MAX
void ftrace_page_make_loss(const struct ftrace_layout *layout, uint64_t time, uint64_t lost,
                           uint8_t *page);

/* A walk over one page. */
struct ftrace_page {
    const uint8_t *next; /* the next record */
    const uint8_t *end;  /* end of the records */
    uint64_t time;       /* time of the previous record; at first the page's time */
    bool missed;         /* events were lost before this page */
    bool count_known;    /* n_missed is known */
    uint64_t n_missed;
    bool cut; /* fewer bytes were available than the page states */
};

struct ftrace_record {
    uint64_t time;
    const uint8_t *data;
    uint32_t size;
};

/* Begins a walk over PAGE, of which SIZE bytes are available. -EBADMSG: not a page; *RET_WHAT says why. */
int ftrace_page_open(struct ftrace_page *walk, const struct ftrace_layout *layout,
                     const uint8_t *page, size_t size, const char **ret_what);

/* Returns 1 with the next event; 0: no more; -EBADMSG: a record does not fit into the page, and walk->next points to
 * it. */
static inline int ftrace_page_next(struct ftrace_page *walk, const struct ftrace_layout *layout,
                                   struct ftrace_record *ret)
{
    const uint8_t *p = walk->next;
    uint64_t time = walk->time;

    for (;;) {
        size_t left = (size_t)(walk->end - p);
        uint32_t header, type_len, size;
        uint64_t delta;

        if (left < 4) {
            walk->next = p;
            walk->time = time;
            return left == 0 ? 0 : -EBADMSG;
        }
        header = load_u32_swap(p, layout->swap);
        if (likely(!layout->big_endian)) {
            type_len = header & 31;
            delta = header >> 5;
        } else {
            type_len = header >> 27;
            delta = header & ((UINT32_C(1) << 27) - 1);
        }

        if (likely(type_len - 1 < 28)) {
            size = type_len * 4;
            if (unlikely(size > left - 4))
                break;
            ret->time = walk->time = time + delta;
            ret->data = p + 4;
            ret->size = size;
            walk->next = p + 4 + size;
            return 1;
        }

        if (type_len == 29 && delta == 0) {
            walk->next = walk->end;
            walk->time = time;
            return 0;
        }
        if (left < 8)
            break;
        size = load_u32_swap(p + 4, layout->swap);
        if (type_len == 0) {
            if (size < 4 || size > left - 4)
                break;
            ret->time = walk->time = time + delta;
            ret->data = p + 8;
            ret->size = size - 4;
            /* The kernel keeps records on multiples of 4. */
            size = (size + 3) & ~UINT32_C(3);
            walk->next = p + 4 + MIN((size_t)size, left - 4);
            return 1;
        }
        if (type_len == 29) {
            if (size > left - 4 || size < 4)
                break;
            time += delta;
            p += 4 + (size_t)size;
            continue;
        }
        delta |= (uint64_t)size << 27;
        if (type_len == 30) {
            time += delta;
        } else {
            const uint64_t top = UINT64_C(31) << 59;
            uint64_t stamp = (time & top) | (delta & ~top);

            /* The low 59 bits went round since the record before. */
            if (unlikely(stamp < time && time - stamp > UINT64_C(1) << 58))
                stamp += UINT64_C(1) << 59;
            time = stamp;
        }
        p += 8;
    }
    walk->next = p;
    walk->time = time;
    return -EBADMSG;
}

/* Reads the remaining records of WALK, and adds their number to *REF_N. walk->time is then the time of the last record.
 * Returns 0 or -EBADMSG. */
int ftrace_page_count(struct ftrace_page *walk, const struct ftrace_layout *layout,
                      uint64_t *ref_n);
