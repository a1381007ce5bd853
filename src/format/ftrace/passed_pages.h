/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds names of tasks in pages that seeking has skipped. If a task has no name, the skipped pages are searched
 * backwards from where reading continued. So the name is the same as if all pages had been read, at the cost of reading
 * back to the event that has it. Only for the reader of a CPU's pages. */

#include "base/arena.h"
#include "base/map.h"
#include "format/ftrace/cpu_pages.h"

/* The skipped pages of one CPU. */
struct passed_pages {
    struct passed_pages *next; /* list of the trace's CPUs */
    struct ftrace_instance *instance;
    struct page_feed *feed;
    int cpu;
    uint64_t n_passed;  /* pages before the page where reading continued */
    uint64_t n_since;   /* pages that the feed has returned since */
    uint64_t n_scanned; /* skipped pages that were searched, from the last one */
    /* begin of the earliest searched page; all other skipped pages are earlier */
    int64_t time;
    struct map names; /* by thread: struct earlier_name */
    struct arena arena;
    uint8_t *page; /* NULL: no page was searched */
};

/* Adds PAGES, all zero, to INSTANCE, and removes them. */
void passed_pages_init(struct passed_pages *pages, struct ftrace_instance *instance,
                       struct page_feed *feed, int cpu);
void passed_pages_done(struct passed_pages *pages);
/* Notes that reading continued after N more pages. */
void passed_pages_pass(struct passed_pages *pages, uint64_t n);
/* Call it when pages cannot be found by number any more. */
void passed_pages_drop(struct passed_pages *pages);