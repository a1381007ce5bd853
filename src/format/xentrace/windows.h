/* SPDX-License-Identifier: MIT */
#pragma once

/* An index of each CPU's windows in an xentrace file, which is small for a file of any size.
 *
 * The chain of windows is walked once when the file is opened. At intervals, the place is noted together with the CPUs
 * that have windows from there to the next note: a segment. To find a CPU's next window, segments without that CPU are
 * skipped, and the segment with it is walked again; the last few walked segments are kept. If there are too many
 * segments, pairs of them are merged. So a CPU that was idle for most of the trace costs no memory for the windows of
 * the others.
 *
 * The first windows of the file (all windows of a small file) are remembered from opening and not walked again, because
 * reading a head takes a system call. */

#include "base/error.h"
#include "base/input.h"
#include "format/xentrace/record.h"

struct xentrace_window {
    uint64_t offset;  /* of its first record */
    uint32_t size;    /* available bytes */
    uint32_t skipped; /* damaged bytes before it; saturates */
    uint16_t cpu;
    bool cut;         /* the file ends before the window does */
    bool begins_lost; /* its first record is LOST_RECORDS */
};

struct xentrace_segment {
    uint64_t offset; /* where to continue the walk */
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
    const struct xentrace_window *windows; /* in `walked`, or in the remembered windows */
    struct xentrace_window *walked;        /* room for a segment; NULL: not needed yet */
    uint64_t cpus[XENTRACE_CPUS_MAX / 64]; /* CPUs of the windows, a bit each */
};

#define XENTRACE_EXPANDED 16

struct xentrace_windows {
    const struct input *in;
    uint64_t start; /* of the part of the file that is read */
    uint64_t end;
    bool keep_going;
    bool big_endian; /* byte order of the file */

    struct xentrace_segment *segments;
    size_t n_segments;
    size_t capacity;
    size_t segments_max;           /* limit, which tests change; a power of two */
    unsigned per_segment;          /* windows; window I is in segment I / per_segment */
    struct xentrace_window *first; /* the first windows of the file */
    size_t n_first;
    size_t first_capacity;
    bool is_borrowed; /* `segments` and `first` belong to another index */
    struct xentrace_expanded expanded[XENTRACE_EXPANDED];
    struct xentrace_walk walk;

    uint64_t n_windows;
    uint64_t cpu_bytes[XENTRACE_CPUS_MAX]; /* bytes in the windows of each CPU */
    bool cpu_present[XENTRACE_CPUS_MAX];
    /* When the first and the last CPU begin (seek.h); set by xentrace_find_begins(). */
    int64_t first_begin, last_begin;

    struct error error;    /* why the chain broke; code 0: it did not */
    bool cut;              /* the chain broke because the file ends within a window */
    uint32_t cut_head;     /* available bytes of the last window's head, if the file ends in it */
    uint32_t skipped_last; /* damaged bytes after the last window */
};

/* A CPU's place in the index; zero at the start. */
struct xentrace_cursor {
    size_t segment;
    unsigned window;
};

/* Walks the whole chain of IN from START. IN must be seekable, and must not be moved. A broken chain is not an error of
 * this function: `error` says where it broke, and the index has the windows before. With KEEP_GOING, the chain never
 * breaks. -ENOMEM, or an errno from reading. SEGMENTS_MAX 0: the default. */
int xentrace_windows_open(struct xentrace_windows *windows, const struct input *in, uint64_t start,
                          bool keep_going, size_t segments_max, struct error *error);
/* The same without reading: uses the index of FROM, which is for the same part of the same file. FROM must outlive
 * WINDOWS. */
void xentrace_windows_borrow(struct xentrace_windows *windows, const struct xentrace_windows *from,
                             const struct input *in);
void xentrace_windows_done(struct xentrace_windows *windows);

/* As input_read_at(), but converts the whole words from OFFSET on to little-endian. */
int64_t xentrace_windows_read(const struct xentrace_windows *windows, uint64_t offset, void *buf,
                              size_t n, struct error *error);

/* Returns 1 with the next window of CPU; 0: the end; or a negative errno. */
int xentrace_windows_next(struct xentrace_windows *windows, struct xentrace_cursor *cursor,
                          uint16_t cpu, struct xentrace_window *ret_window, struct error *error);

/* Moves CURSOR back to the last window of CPU before it. Returns as above. */
int xentrace_windows_previous(struct xentrace_windows *windows, struct xentrace_cursor *cursor,
                              uint16_t cpu, struct xentrace_window *ret_window,
                              struct error *error);
