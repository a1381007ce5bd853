/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of tasks in pages that seeking has passed over: looked for backwards from where reading went on, when a task has no
 * name. So a name is the one that reading from the front knows, at the price of the pages back to the event that has it. For the
 * reader of a CPU's pages alone. */

#include "base/arena.h"
#include "base/map.h"
#include "format/ftrace/cpu_pages.h"

/* The passed pages of one CPU. */
struct passed_pages {
    struct passed_pages *next; /* of the trace's CPUs */
    struct ftrace_instance *instance;
    struct page_feed *feed;
    int cpu;
    uint64_t n_passed;  /* pages before the one where reading went on */
    uint64_t n_since;   /* pages that the feed has lent since */
    uint64_t n_scanned; /* of the passed ones, from the last one on */
    int64_t time;       /* the begin of the earliest of these; all others are earlier */
    struct map names;   /* by thread: struct earlier_name */
    struct arena arena;
    uint8_t *page; /* NULL: none was scanned */
};

/* Adds PAGES, all zero, to INSTANCE, and removes them. */
void passed_pages_init(struct passed_pages *pages, struct ftrace_instance *instance,
                       struct page_feed *feed, int cpu);
void passed_pages_done(struct passed_pages *pages);
/* Reading went on after N more pages. */
void passed_pages_pass(struct passed_pages *pages, uint64_t n);
/* The pages cannot be found by their number any more. */
void passed_pages_drop(struct passed_pages *pages);