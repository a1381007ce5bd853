/* SPDX-License-Identifier: MIT */
#pragma once

/* One page ("sub-buffer") of the Linux kernel's trace ring buffer.
 *
 *   bytes             what
 *   0..7              u64 time at which the page begins
 *   8..15 (8..11)     commit, a `long`: the kernel's word size
 *   16.. (12..)       records, up to the page's end
 *
 * Where each lies and how long the page is stands in the kernel's `events/header_page`, a text; it is
 * parsed, not assumed: the length of a page can be chosen since Linux 6.8.
 *
 *   commit            what
 *   bits 0..26        bytes of records
 *   bit 30            the number of missed events is stored, as a `long`, after the records
 *   bit 31            events were missed between the page before and this one
 * The kernel keeps it in a signed type, so real pages have bits 32..63 set with bit 31.
 *
 * A record is a u32 header and what follows from it. In the header, on a little-endian kernel, the low
 * 5 bits are type_len and the upper 27 time_delta; on a big-endian kernel it is the other way round.
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
 * Each delta is added to the time of the record before, padding's too.
 *
 * Source: the header text `events/header_event`, Linux Documentation/trace/ring-buffer-design.rst,
 * and pages of Linux 6.1 and 6.18 compared with what trace-cmd 3.1.6 makes of them. */

#include "base/bytes.h"
#include "base/error.h"
#include "base/macro.h"

/* What pages of one kernel look like. */
struct ftrace_layout {
    bool swap;         /* written on a machine of the other byte order */
    bool big_endian;   /* … and of which: it decides how the record headers are read */
    uint8_t long_size; /* 4 or 8: size of `commit` */
    uint32_t commit;   /* offset of `commit` */
    uint32_t data;     /* offset of the first record */
    uint32_t size;     /* of a whole page */
};

/* Longest page that is believed: the kernel's limit is 1 << 7 pages of at most 64 KB, and real ones
 * are 4 KB. */
#define FTRACE_PAGE_MAX (UINT32_C(1) << 23)

/* Takes the text of `events/header_page` apart. NAME is for messages. Byte order is left as the
 * machine's own: the text does not say. -EBADMSG. */
int ftrace_layout_parse(const char *text, size_t len, const char *name,
                        struct ftrace_layout *ret_layout, struct error *error);
/* Sets the byte order. */
void ftrace_layout_set_order(struct ftrace_layout *layout, bool big_endian);
/* Whether the page's commit word makes sense in LAYOUT's byte order; SIZE bytes are there. */
bool ftrace_page_is_plausible(const struct ftrace_layout *layout, const uint8_t *page, size_t size);

/* Whether events were lost before PAGE, of which the first layout->data bytes are there. */
bool ftrace_page_is_after_loss(const struct ftrace_layout *layout, const uint8_t *page);

/* Whether a page seems to begin at P, of which LEFT bytes are there: its length makes sense, it is not
 * older than AFTER nor much younger (0: any time will do), and its first records fit together. */
bool ftrace_page_seems_to_begin(const struct ftrace_layout *layout, const uint8_t *p, size_t left,
                                uint64_t after);

/* Makes a page of layout->size bytes at PAGE, which begins at TIME, has no events, and says that LOST events were missed before
 * it. FTRACE_LOST_UNKNOWN, or more than a `long` holds: that events were missed. */
#define FTRACE_LOST_UNKNOWN UINT64_MAX
void ftrace_page_make_loss(const struct ftrace_layout *layout, uint64_t time, uint64_t lost,
                           uint8_t *page);

/* A walk over one page. */
struct ftrace_page {
    const uint8_t *next; /* the record to come */
    const uint8_t *end;  /* of the records */
    uint64_t time;       /* of the record before; at first the page's own */
    bool missed;         /* events were lost before this page … */
    bool count_known;    /* … and their number is known: */
    uint64_t n_missed;
    bool cut; /* fewer bytes were there than the page says */
};

struct ftrace_record {
    uint64_t time;
    const uint8_t *data;
    uint32_t size;
};

/* Begins at PAGE, of which SIZE bytes are there. -EBADMSG: it is no page; WHAT is said then. */
int ftrace_page_open(struct ftrace_page *walk, const struct ftrace_layout *layout,
                     const uint8_t *page, size_t size, const char **ret_what);

/* The next event. 1; 0: no more; -EBADMSG: a record does not fit in the page (walk->next is at it). */
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

/* Reads all records that WALK has left, and adds their number to *REF_N; its time is then that of the last. 0, or -EBADMSG. */
int ftrace_page_count(struct ftrace_page *walk, const struct ftrace_layout *layout,
                      uint64_t *ref_n);
