/* SPDX-License-Identifier: MIT */
#pragma once

/* The kernel's tracefs: finding it, its files, and instances (separate buffers with their own enabled
 * events).
 *
 * All files are opened relative to a directory descriptor, so it does not matter where tracefs is
 * mounted, or whether it is mounted at all. Source of paths and meanings: Linux
 * Documentation/trace/ftrace.rst. */

#include <stdatomic.h>

#include "base/error.h"
#include "base/macro.h"

struct tracefs {
    int fd;         /* directory of tracefs */
    char path[256]; /* for messages */
    bool is_own;    /* mounted by tracefs_open() only for this process */
};

/* Finds tracefs: at PATH; if PATH is NULL, at its usual place, then among the mounts. If it is not mounted, mounts it
 * so that no other process sees it. Call it before creating threads, because mounting may move the process into its own
 * mount namespace. -ENOENT: no tracefs; -EPERM, -EACCES: not allowed. */
int tracefs_open(const char *path, struct tracefs *ret_tracefs, struct error *error);
void tracefs_done(struct tracefs *tracefs);

/* Reads a whole FILE below the directory DIR; appends a NUL that *RET_LEN does not count. The caller
 * frees *RET_TEXT. Reads to the end, since tracefs files report size 0. -EFBIG: longer than MAX. */
int tracefs_read(int dir, const char *file, size_t max, char **ret_text, size_t *ret_len);
/* Reads the number at the start of the file. -EBADMSG: no number. */
int tracefs_read_number(int dir, const char *file, uint64_t *ret_number);
/* Writes TEXT by one write(2), as the kernel requires for commands. */
int tracefs_write(int dir, const char *file, const char *text);
int tracefs_write_number(int dir, const char *file, uint64_t number);
/* As tracefs_write(), appending (set_event). */
int tracefs_append(int dir, const char *file, const char *text);

/* The layout of the pages of trace_pipe_raw, from events/header_page. */
struct tracefs_page {
    size_t size;        /* bytes, including the page header */
    size_t data;        /* offset of the first event */
    size_t commit;      /* offset of the count of the events' bytes */
    size_t commit_size; /* size of that count: 4 or 8 */
};
int tracefs_page(int dir, struct tracefs_page *ret_page, struct error *error);

/* Instances. NAME is a directory below instances/. */
int tracefs_instance_open(const struct tracefs *tracefs, const char *name, int *ret_fd);
/* Creates an instance for this process, "strata-agent-PID-START-N". START is the process's start time in ticks since
 * the boot. *RET_FD, its directory, holds a lock (flock(2)). While it is open in any process, no other agent touches
 * the instance, not even an agent in another PID namespace, in which PID is another process or none. */
int tracefs_instance_make(const struct tracefs *tracefs, char *ret_name, size_t size, int *ret_fd);
/* Removes an instance. -EBUSY: a process has it open, or a tracer runs in it. */
int tracefs_instance_remove(const struct tracefs *tracefs, const char *name);
/* Removes the instance in a child process, because with a thousand enabled events the kernel takes seconds for it, and
 * no signal interrupts it. LOCK is from tracefs_instance_make(); the child keeps it until the instance is removed, so
 * the caller may close it. Once *ENDING is true, waits at most MS more. -EINPROGRESS: the removal continues. */
int tracefs_instance_remove_by(const struct tracefs *tracefs, const char *name, int lock,
                               const _Atomic bool *ending, unsigned ms);
/* Removes unlocked instances whose creator has ended, and returns their number. Without /proc, removes none. */
int tracefs_instance_sweep(const struct tracefs *tracefs);
