/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a trace in several threads, each of which has an opening of its own and reads parts of the time, for sinks whose
 * results can be added up in the order of time (analysis/tally_merge.h).
 *
 * Why by time: reading, putting in order and selecting are between half and four fifths of what `strata stat` takes. One
 * thread that reads and others that count would be 1.2 to 1.6 times as fast as one (measured without the cost of handing
 * items over); parts of the time share the reading, too.
 *
 * A part begins at the first item of the stream whose time is not before `begin`, and ends before the first one whose time
 * is not before `end`. First there is one part, of all. A thread that has nothing to do takes over the later half of what
 * is left of the part with the most left, and seeks to it (event/source.h), until what is left is not worth it. So no
 * index is needed, and it does not matter where in time the events are.
 *
 * The result is that of one thread, or there is none, and the trace is to be read again. Each part's reader compares what
 * comes after its end with the first items of the next part (PARALLEL_SEAM items, with payloads): from there on, both would read
 * the same. These are more than a reader holds back, so that an item of a wrong time, which only the first of the two has
 * read, is met by what it is out of order with. What cannot be right in parts, or is different in another order of reading, makes it fail: an error, damage,
 * events too late to be put in order, a hint. */

#include "event/select.h"
#include "event/sink.h"
#include "trace/trace.h"

#define PARALLEL_SEAM 8192u
#define PARALLEL_THREADS_MAX 8u

/* One more opening of the trace, for one thread. */
struct parallel_opening {
    struct parallel_opening *next;
    struct trace *trace;
    bool is_given;      /* the trace of parallel_read_run(), which is not freed */
    unsigned n_classes; /* of its catalogue, when nothing was read */
    struct selection selection;
    const struct item *items; /* the run that was lent last */
    unsigned n, i;            /* how many there are, and which is next */
    bool ended;
    bool has_passed;  /* the given one: sought to where the selection begins */
    int64_t until;    /* items before this time have passed; INT64_MIN: none */
    uint64_t cost_ns; /* of CPU, to open it */
};

/* N items, and a hash of them. */
struct parallel_seam {
    uint64_t hash;
    unsigned n;
};

struct parallel_part {
    struct parallel_part *next; /* in the order of time */
    struct parallel_opening *opening;
    struct sink *sink;
    int64_t begin, end;
    int64_t position; /* the newest time of its items so far */
    uint64_t n_items;
    bool is_running;
    struct parallel_seam first, after; /* the items from `begin` on, and those from `end` on */
};

struct parallel_options {
    const struct trace_options *open;
    const struct select_options *select;
    const char *const *paths;
    unsigned n_paths;
    unsigned n_threads;
    bool eager; /* the user has asked for threads: they begin early */
    /* The sink of a part, at FIRST of the first one; NULL: memory is out. Called by one thread at a time. */
    struct sink *(*begin)(void *arg, bool first);
    /* Whether parts beside the first can begin, asked in its thread; NULL: they can. */
    bool (*is_ready)(void *arg);
    /* Whether what SINK has cannot be added up; asked after each run. */
    bool (*is_damaged)(const struct sink *sink);
    /* After each run that the calling thread has read of TRACE; NULL: nothing. */
    void (*progress)(void *arg, const struct trace *trace);
    void *progress_arg;
    void *arg;
};

struct parallel_read {
    const struct parallel_options *options;
    struct parallel_opening *openings;
    struct parallel_part *parts;
};

/* Whether TRACE, of OPTIONS, can be read in parts: of files alone, by readers that can seek, on one timeline. */
bool parallel_read_is_possible(const struct trace *trace, const struct parallel_options *options);
/* Reads all of TRACE, of which nothing was read. 0: each of read->parts has been put to its sink. Otherwise a negative
 * errno, and the trace must be read again from a new opening. parallel_read_done() is due. */
int parallel_read_run(struct parallel_read *read, struct trace *trace,
                      const struct parallel_options *options);
void parallel_read_done(struct parallel_read *read);
