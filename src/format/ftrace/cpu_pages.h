/* SPDX-License-Identifier: MIT */
#pragma once

/* A source over the ring-buffer pages of one CPU, wherever the pages come from: a raw file beside a
 * tracefs tree (format/ftrace/ftrace.h), or a trace.dat (format/trace_dat/trace_dat.h). */

#include "base/macro.h"
#include "event/cpu_ends.h"
#include "event/source.h"
#include "format/ftrace/page.h"
#include "format/ftrace/times.h"
#include "schema/kernel/events.h"

/* What the CPUs of one trace share. Each source holds a reference. */
struct ftrace_instance {
    unsigned n_refs;
    struct kernel_events *events; /* a reference */
    struct ftrace_layout layout;
    struct origin *origin;            /* in the catalogue */
    uint64_t begin;                   /* when the first page of any CPU begins; 0: not known */
    struct cpu_ends ends;             /* by their first events and last ones */
    const struct ftrace_times *times; /* outlives the sources; NULL: as they are */
    const struct source *first;       /* opened first: it reports what concerns all CPUs */
    struct passed_pages *pages; /* of each CPU: what seeking has passed over (passed_pages.h) */
    struct kernel_earlier earlier;
    bool keep_going;
    bool
        reports_outlier; /* a first or last event far from all others: nothing else says when it was recorded */
    char hint[768];
};

/* A trace with one reference. Takes over a reference of EVENTS, even if it fails (-ENOMEM). ORIGIN is copied into
 * CATALOGUE and gets its task names from EVENTS. */
int ftrace_instance_new(struct catalogue *catalogue, const struct origin *origin,
                        struct kernel_events *events, const struct ftrace_layout *layout,
                        bool keep_going, struct ftrace_instance **ret_instance);
void ftrace_instance_unref(struct ftrace_instance *instance);
/* Sets how times are changed. TIMES must outlive the trace's sources. */
void ftrace_instance_set_times(struct ftrace_instance *instance, const struct ftrace_times *times);

/* When all CPUs are open, and nothing states how many pages they had: if one ends a fiftieth of the time or more before another, it may
 * be cut, and each CPU is known up to its last event (origin->ends_apart). */
void ftrace_instance_judge_ends(struct ftrace_instance *instance);

/* The time of a record of CPU, as its source has it. */
static inline int64_t ftrace_cpu_time(const struct ftrace_instance *instance, int cpu,
                                      uint64_t time)
{
    const struct ftrace_times *times = instance->times;

    return (int64_t)(likely(!times) ? time : ftrace_times_apply(times, cpu, time));
}

/* Where pages come from. */
struct page_feed {
    /* The next page. 1: SIZE bytes at PAGE, which stand at OFFSET of the file and are valid until the
     * next call; fewer than the layout's size only at the end of the file. 0: no more. -EAGAIN: no more
     * for now; the source's next() returns that as well, and may be called again. */
    int (*next)(struct page_feed *feed, const uint8_t **ret_page, size_t *ret_size,
                uint64_t *ret_offset, struct error *error);
    /* Looks for the next place where a page seems to begin, not older than AFTER (0: of any time), FROM
     * bytes or more after the start of the page lent last; next() then goes on there. *RET_SKIPPED: how far it is
     * from FROM. May be NULL: pages cannot be anywhere but where they are. */
    int (*resync)(struct page_feed *feed, size_t from, uint64_t after, uint64_t *ret_skipped,
                  struct error *error);
    /* For pages that can be found by their number; all three may be NULL. Number 0 is the page that next() would
     * lend. left(): how many whole pages there are. peek(): copies the first SIZE bytes of page NUMBER. skip(): next()
     * goes on at page NUMBER; what was lent stays valid until then. Both return 0 or a negative errno. */
    uint64_t (*left)(const struct page_feed *feed);
    int (*peek)(const struct page_feed *feed, uint64_t number, uint8_t *p, size_t size,
                struct error *error);
    int (*skip)(struct page_feed *feed, uint64_t number, struct error *error);
    void (*free)(struct page_feed *feed);
    bool is_cut;    /* there were more pages after the last one, or before the first */
    uint64_t lacks; /* so many events of it are missing, anywhere; 0: unknown, or none */
    uint64_t begin,
        end; /* of its first event and its last one, where peek() is NULL; 0: not known */
    uint64_t second_begin, inner_end; /* the same of its second page, and of the last but one */
    bool begins_after_loss;
    bool is_unfinished;   /* there may have been, which were never written */
    bool is_late;         /* events before the first page are missing, which it does not say */
    uint64_t done, total; /* bytes, for progress; total 0: not known */
    const char *path;     /* for messages */
};

/* Takes FEED over, also when it fails (-ENOMEM), and one more reference of INSTANCE. */
int ftrace_cpu_open(struct ftrace_instance *instance, int cpu, struct page_feed *feed,
                    struct source **ret_source);
