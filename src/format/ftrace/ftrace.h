/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads raw ring-buffer pages of a Linux kernel, a file per CPU, with a copy of its tracefs tree.
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
 * A file of pages has what `per_cpu/cpuN/trace_pipe_raw` returns: whole pages one after the other, without headers. */

#include "event/catalogue.h"
#include "event/source.h"

struct ftrace_raw {
    char *path;
    int cpu;
    bool found; /* found in a directory; false: named by the user */
    /* is_cut: pages after the last one are missing, which is a loss at the end. is_missing: there were pages, but the
     * file is missing. */
    bool is_cut, is_missing;
    /* The recorder did not write everything from the kernel, so it is unknown what came after the last page. */
    bool is_unfinished;
    /* The kernel was traced earlier, and its data before the first page is missing: a loss at the begin. */
    bool is_late;
};

/* The files of a trace. It owns all strings (malloc). */
struct ftrace_files {
    char *tree;
    char *kallsyms; /* replaces the kallsyms of the tree; or NULL */
    struct ftrace_raw *raws;
    unsigned n_raws;
    /* A recorder wrote the files, and ended all CPUs at the same time. Otherwise, the CPUs were read one after the
     * other, and each is known up to its last event, unless the tree states that tracing was off (its file
     * tracing_on). */
    bool is_recorded;
    /* The recorder stated its end by the host's clock, so times far after it are detected by that. */
    bool is_bounded;
    /* The recorder did not state the lengths of the files, so some may be cut at the end of a page
     * (ftrace_instance_judge_ends()). */
    bool may_be_cut;
    /* Cache for the tree's events (base/reopen_cache.h); must outlive the sources; NULL: none. */
    struct reopen_cache *cache;
};

/* Finds the files of a trace. PATH is a directory with `cpuN.raw` or `per_cpu/cpuN/trace_pipe_raw`, or one file of
 * pages. The tree is TREE or, if TREE is NULL, the directory itself (the file's directory) or a subdirectory. -ENOENT:
 * no pages, or no tree. */
int ftrace_find(const char *path, const char *tree, struct ftrace_files *ret_files,
                struct error *error);
/* True if ftrace_find() succeeds, or if the directory PATH has pages or is a tree, so that it is meant to be such a
 * trace. */
bool ftrace_probe_dir(const char *path);
/* Adds one more file of pages. -ENOMEM. */
int ftrace_files_add(struct ftrace_files *files, const char *path, int cpu);
void ftrace_files_done(struct ftrace_files *files);

/* The number in the last "cpuN" of PATH, or CPU_UNKNOWN. */
int ftrace_cpu_of_path(const char *path);

/* Opens a source for each file of pages, in the files' order. All have one origin with LAYER_GUEST (or LAYER) and the
 * path NAME. The caller frees the array. */
int ftrace_open(const struct ftrace_files *files, const char *name, enum layer layer,
                struct catalogue *catalogue, const struct reader_options *options,
                struct source ***ret_sources, unsigned *ret_n, struct error *error);
