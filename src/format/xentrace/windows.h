/* SPDX-License-Identifier: MIT */
#pragma once

/* Where each cpu's windows lie in an xentrace file: an index that is small for a file of any size.
 *
 * The chain of windows is walked once when the file is opened. At intervals, the place is
 * noted together with which cpus have windows from there to the next note: a segment. Whoever needs a
 * cpu's next window steps over the segments without that cpu and walks the one with it again; the
 * last few walked segments are kept. When there are too many segments, pairs of them become one. So
 * a cpu that was idle for most of the trace costs no memory for what the others wrote meanwhile.
 *
 * The first windows of the file, which are all of one that is not large, are remembered from the opening, and not walked
 * again: reading a head is a system call each. */

#include "base/error.h"
#include "base/input.h"
#include "format/xentrace/record.h"

struct xentrace_window {
    uint64_t offset;  /* of its first record */
    uint32_t size;    /* bytes that are there */
    uint32_t skipped; /* damaged bytes before it (saturated) */
    uint16_t cpu;
    bool cut;         /* the file ends before the window does */
    bool begins_lost; /* its first record is LOST_RECORDS */
};

struct xentrace_segment {
    uint64_t offset; /* where to walk on from */
    uint64_t cpus;   /* bit cpu % 64 */
};

#define XENTRACE_WALK_BUFFER 4096

/* Walks the chain. */
struct xentrace_walk {
    uint64_t at;
    uint64_t buf_offset;
    size_t filled;
    uint8_t buf[XENTRACE_WALK_BUFFER];
};

struct xentrace_expanded {
    size_t segment; /* SIZE_MAX: none */
    unsigned n;
    const struct xentrace_window *windows; /* in `walked`, or those that are remembered */
    struct xentrace_window *walked;        /* room for a segment; NULL: none was needed yet */
    uint64_t cpus[XENTRACE_CPUS_MAX / 64]; /* which cpus they are of, a bit each */
};

#define XENTRACE_EXPANDED 16

struct xentrace_windows {
    const struct input *in;
    uint64_t start; /* of the file's part that is read */
    uint64_t end;
    bool keep_going;
    bool big_endian; /* the words of the file */

    struct xentrace_segment *segments;
    size_t n_segments;
    size_t capacity;
    size_t segments_max;           /* for tests; a power of two */
    unsigned per_segment;          /* windows; window I is in segment I / per_segment */
    struct xentrace_window *first; /* the first windows of the file */
    size_t n_first;
    size_t first_capacity;
    bool is_borrowed; /* `segments` and `first` are those of another */
    struct xentrace_expanded expanded[XENTRACE_EXPANDED];
    struct xentrace_walk walk;

    uint64_t n_windows;
    uint64_t cpu_bytes[XENTRACE_CPUS_MAX]; /* of the windows of each cpu */
    bool cpu_present[XENTRACE_CPUS_MAX];
    /* When the first and the last of the cpus begin (seek.h); for who opens them. */
    int64_t first_begin, last_begin;

    struct error error;    /* why the chain ended, `error` 0: it did not break */
    bool cut;              /* why: the file ends within a window */
    uint32_t cut_head;     /* bytes of one's head, if within that */
    uint32_t skipped_last; /* damaged bytes after the last window */
};

/* A cpu's place in the index; zeroed at the start. */
struct xentrace_cursor {
    size_t segment;
    unsigned window;
};

/* Walks the whole chain of IN (which must stay where it is, and be seekable) from START on. A chain
 * that breaks is not an error here: `error` says where, and the windows before are in the index. With
 * KEEP_GOING it never breaks. -ENOMEM, or an errno from reading. SEGMENTS_MAX: 0 for what is best. */
int xentrace_windows_open(struct xentrace_windows *windows, const struct input *in, uint64_t start,
                          bool keep_going, size_t segments_max, struct error *error);
/* The same without reading: what FROM has found in the same part of the same file. FROM must stay. */
void xentrace_windows_borrow(struct xentrace_windows *windows, const struct xentrace_windows *from,
                             const struct input *in);
void xentrace_windows_done(struct xentrace_windows *windows);

/* As input_read_at(), with the whole words from OFFSET on in little-endian byte order. */
int64_t xentrace_windows_read(const struct xentrace_windows *windows, uint64_t offset, void *buf,
                              size_t n, struct error *error);

/* The next window of CPU. 1, 0 at the end, or a negative errno. */
int xentrace_windows_next(struct xentrace_windows *windows, struct xentrace_cursor *cursor,
                          uint16_t cpu, struct xentrace_window *ret_window, struct error *error);

/* The last window of CPU before CURSOR, which then stands at it. As above. */
int xentrace_windows_previous(struct xentrace_windows *windows, struct xentrace_cursor *cursor,
                              uint16_t cpu, struct xentrace_window *ret_window,
                              struct error *error);
