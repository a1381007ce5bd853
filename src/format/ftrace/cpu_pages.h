/* SPDX-License-Identifier: MIT */
#pragma once

/* A source that reads the ring-buffer pages of one CPU, from a raw file beside a tracefs tree (format/ftrace/ftrace.h)
 * or from a trace.dat (format/trace_dat/trace_dat.h). */

#include "base/macro.h"
#include "event/cpu_ends.h"
#include "event/source.h"
#include "format/ftrace/page.h"
#include "format/ftrace/times.h"
#include "schema/kernel/events.h"

/* Shared by the CPUs of one trace. Each source holds a reference. */
struct ftrace_instance {
    unsigned n_refs;
    struct kernel_events *events; /* a reference */
    struct ftrace_layout layout;
    struct origin *origin; /* in the catalogue */
    uint64_t begin;        /* begin of the first page of any CPU; 0: unknown */
    struct cpu_ends ends;  /* from their first and last events */
    /* changes times; outlives the sources; NULL: no change */
    const struct ftrace_times *times;
    /* the source opened first; it reports what concerns all CPUs */
    const struct source *first;
    /* of each CPU: pages that seeking has skipped (passed_pages.h) */
    struct passed_pages *pages;
    struct kernel_earlier earlier;
    bool keep_going;
    /* Report a first or last event that is far from all others, because nothing else states when it was recorded. */
    bool reports_outlier;
    char hint[768];
};

/* Creates an instance with one reference. Takes over a reference of EVENTS, even on failure (-ENOMEM). Copies ORIGIN
 * into CATALOGUE; it gets its task names from EVENTS. */
int ftrace_instance_new(struct catalogue *catalogue, const struct origin *origin,
                        struct kernel_events *events, const struct ftrace_layout *layout,
                        bool keep_going, struct ftrace_instance **ret_instance);
void ftrace_instance_unref(struct ftrace_instance *instance);
/* Sets how times are converted. TIMES must outlive the trace's sources. */
void ftrace_instance_set_times(struct ftrace_instance *instance, const struct ftrace_times *times);

/* Call it when all CPUs are open and nothing states how many pages they had. If a CPU ends much earlier than another
 * (by a fiftieth of the time or more), it may be cut. Each CPU is then known up to its last event
 * (origin->ends_apart). */
void ftrace_instance_judge_ends(struct ftrace_instance *instance);

/* The converted time of a record of CPU. */
static inline int64_t ftrace_cpu_time(const struct ftrace_instance *instance, int cpu,
                                      uint64_t time)
{
    const struct ftrace_times *times = instance->times;

    return (int64_t)(likely(!times) ? time : ftrace_times_apply(times, cpu, time));
}

/* Supplies the pages of one CPU. */
struct page_feed {
    /* Returns 1 with the next page: *RET_SIZE bytes at *RET_PAGE, at *RET_OFFSET of the file, valid until the next
     * call. The size is less than the layout's size only at the end of the file. 0: no more pages. -EAGAIN: none now;
     * the source's next() also returns -EAGAIN, and may be called again. */
    int (*next)(struct page_feed *feed, const uint8_t **ret_page, size_t *ret_size,
                uint64_t *ret_offset, struct error *error);
    /* Searches for the next place where a page seems to begin that is not older than AFTER (0: of any time), FROM bytes
     * or more after the start of the last page. next() then continues there. *RET_SKIPPED: distance from FROM. NULL:
     * pages are only at their regular places. */
    int (*resync)(struct page_feed *feed, size_t from, uint64_t after, uint64_t *ret_skipped,
                  struct error *error);
    /* For pages that can be found by number; all three may be NULL. Number 0 is the page that next() would return.
     * left() returns the number of remaining whole pages. peek() copies the first SIZE bytes of page NUMBER. skip()
     * makes next() continue at page NUMBER; the last page stays valid until then. Both return 0 or a negative errno. */
    uint64_t (*left)(const struct page_feed *feed);
    int (*peek)(const struct page_feed *feed, uint64_t number, uint8_t *p, size_t size,
                struct error *error);
    int (*skip)(struct page_feed *feed, uint64_t number, struct error *error);
    void (*free)(struct page_feed *feed);
    bool is_cut;    /* pages after the last one or before the first one are missing */
    uint64_t lacks; /* number of missing events, anywhere; 0: unknown, or none */
    uint64_t begin,
        /* Times of its first and last event if peek() is NULL; 0: unknown. */
        end;
    /* Times of the first event of its second page, and of the last event of its last page but one; 0: unknown. */

    uint64_t second_begin, inner_end;
    bool begins_after_loss;
    bool is_unfinished; /* later pages may never have been written */
    /* events before the first page are missing, which the page does not state */
    bool is_late;
    uint64_t done, total; /* bytes, for progress; total 0: unknown */
    const char *path;     /* for messages */
};

/* Opens a source. Takes over FEED, even on failure (-ENOMEM), and adds a reference of INSTANCE. */
int ftrace_cpu_open(struct ftrace_instance *instance, int cpu, struct page_feed *feed,
                    struct source **ret_source);
