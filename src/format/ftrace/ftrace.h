/* SPDX-License-Identifier: MIT */
#pragma once

/* Raw ring-buffer pages of a Linux kernel, a file per CPU, beside a copy of its tracefs tree.
 *
 *   file of the tree                  what for
 *   events/header_page                what a page looks like (format/ftrace/page.h); needed
 *   events/SYSTEM/EVENT/format        the events; one that is missing makes its events nameless
 *   trace_clock                       the clock, the name in brackets
 *   saved_cmdlines                    names of tasks
 *   printk_formats                    constant strings that events point to
 *   tracing_on                        0: tracing was off when the pages were read, so that all CPUs end at one time
 *   kallsyms, or proc/kallsyms        names of functions
 *
 * The files of pages are what a reader of `per_cpu/cpuN/trace_pipe_raw` gets, whole pages one after
 * the other, with nothing around them. */

#include "event/catalogue.h"
#include "event/source.h"

struct ftrace_raw {
    char *path;
    int cpu;
    bool found; /* in a directory; else it was named */
    /* There were more pages when it was written, which is a loss at its end; or there were pages, and no file is there. */
    bool is_cut, is_missing;
    /* The recorder did not write all that its kernel had: what came after the last page is not known. */
    bool is_unfinished;
    /* The kernel was traced before, and what it recorded until the first page is not here: a loss at its begin. */
    bool is_late;
};

/* The files of a trace. All strings are owned (malloc). */
struct ftrace_files {
    char *tree;
    char *kallsyms; /* instead of the tree's own, or NULL */
    struct ftrace_raw *raws;
    unsigned n_raws;
    /* A recorder wrote them, which ends all CPUs at one time. Otherwise, they were read one after the other: each CPU is known up
     * to its last event, unless the tree says that tracing was off (its file tracing_on). */
    bool is_recorded;
    /* It stated when it ended, by the host's clock, so that a time far after that is found otherwise. */
    bool is_bounded;
    /* Its recorder did not state how long they are: some may be cut where a page ends (ftrace_instance_judge_ends()). */
    bool may_be_cut;
    /* Of the tree's events (base/reopen_cache.h); must outlive the sources; NULL: none. */
    struct reopen_cache *cache;
};

/* Finds them: PATH is a directory with `cpuN.raw` or `per_cpu/cpuN/trace_pipe_raw`, or a single file of
 * pages. The tree is TREE, or where that is NULL, the directory itself (the file's directory) or a directory in it. -ENOENT: there
 * are no pages, or there is no tree. */
int ftrace_find(const char *path, const char *tree, struct ftrace_files *ret_files,
                struct error *error);
/* True if ftrace_find() finds them, or the directory PATH has pages or is a tree, so that it is meant to be such a
 * trace. */
bool ftrace_probe_dir(const char *path);
/* Adds one more file of pages. -ENOMEM. */
int ftrace_files_add(struct ftrace_files *files, const char *path, int cpu);
void ftrace_files_done(struct ftrace_files *files);

/* The number in the last "cpuN" of PATH, or CPU_UNKNOWN. */
int ftrace_cpu_of_path(const char *path);

/* A source per file of pages, in the files' order; all of one origin, which says LAYER_GUEST (or
 * LAYER) and the path NAME. The array is from malloc. */
int ftrace_open(const struct ftrace_files *files, const char *name, enum layer layer,
                struct catalogue *catalogue, const struct reader_options *options,
                struct source ***ret_sources, unsigned *ret_n, struct error *error);
