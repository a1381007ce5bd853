/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a trace in several threads. Each thread has its own opening and reads parts of the time. The sinks' results are
 * added up in the order of time (analysis/tally_merge.h).
 *
 * The parts are parts of the time because reading, ordering and selecting take between a half and four fifths of the
 * time of `strata stat`. With one reading thread and several counting threads it would be only 1.2 to 1.6 times as fast
 * (measured without the cost of passing items).
 *
 * A part begins at the first item of the stream whose time is not before `begin`, and ends before the first item whose
 * time is not before `end`. At first, one part covers everything. An idle thread takes the later half of the largest
 * remainder of a part and seeks to it (event/source.h), unless that remainder is too small. So no index is needed, and
 * events may be distributed over time in any way.
 *
 * The result is the same as with one thread, or reading fails and the trace must be read again in one thread. Each
 * part's reader compares the items after its end with the first items of the next part (PARALLEL_SEAM items, with
 * payloads). If they are equal, both readers would read the same from there on. PARALLEL_SEAM is larger than the number
 * of items that a reader holds back, so that the comparison includes an item with a wrong time that only the first
 * reader has read. Reading in parts fails if its result could differ: an error, damage, events too late to be put in
 * order, a hint. */

#include "event/select.h"
#include "event/sink.h"
#include "trace/trace.h"

#define PARALLEL_SEAM 8192u
#define PARALLEL_THREADS_MAX 8u

/* Another opening of the trace, for one thread. */
struct parallel_opening {
    struct parallel_opening *next;
    struct trace *trace;
    bool is_given;      /* it is the trace of parallel_read_run(), which is not freed */
    unsigned n_classes; /* in its catalogue before anything was read */
    struct selection selection;
    const struct item *items; /* the run that was lent last */
    unsigned n, i;            /* its length, and the index of the next item */
    bool ended;
    bool has_passed; /* the trace of parallel_read_run() was sought to where the selection begins */
    int64_t until;   /* items before this time have passed; INT64_MIN if there are none */
    uint64_t cost_ns; /* CPU time of opening it */
};

/* The number of compared items, and their hash. */
struct parallel_seam {
    uint64_t hash;
    unsigned n;
};

struct parallel_part {
    struct parallel_part *next; /* in the order of time */
    struct parallel_opening *opening;
    struct sink *sink;
    int64_t begin, end;
    int64_t position; /* newest time of its items so far */
    uint64_t n_items;
    bool is_running;
    struct parallel_seam first, after; /* compared items from `begin` on, and from `end` on */
};

struct parallel_options {
    const struct trace_options *open;
    const struct select_options *select;
    const char *const *paths;
    unsigned n_paths;
    unsigned n_threads;
    bool eager; /* the user has asked for threads, so they begin early */
    /* Makes the sink of a part; FIRST for the first part. NULL if out of memory. Called by one thread at a time. */
    struct sink *(*begin)(void *arg, bool first);
    /* True if parts after the first can begin. Called in the thread of the first part. NULL: they can. */
    bool (*is_ready)(void *arg);
    /* True if the result of SINK cannot be added up. Called after each run. */
    bool (*is_damaged)(const struct sink *sink);
    /* Called after each run that the calling thread has read of TRACE. May be NULL. */
    void (*progress)(void *arg, const struct trace *trace);
    void *progress_arg;
    void *arg;
};

struct parallel_read {
    const struct parallel_options *options;
    struct parallel_opening *openings;
    struct parallel_part *parts;
};

/* True if TRACE, opened with OPTIONS, can be read in parts: it consists of files on one timeline, and all readers can
 * seek. */
bool parallel_read_is_possible(const struct trace *trace, const struct parallel_options *options);
/* Reads all of TRACE, of which nothing was read before. 0 if the sink of each of read->parts has its items. Otherwise
 * returns a negative errno, and the trace must be opened and read again. Call parallel_read_done() in both cases. */
int parallel_read_run(struct parallel_read *read, struct trace *trace,
                      const struct parallel_options *options);
void parallel_read_done(struct parallel_read *read);
