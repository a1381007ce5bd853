/* SPDX-License-Identifier: MIT */
#pragma once

/* The kernel's tracefs: where it is, its files, and instances (buffers of one's own with events of
 * their own).
 *
 * All is opened relative to a directory's descriptor, so it makes no difference where it is mounted, or
 * whether it is mounted anywhere at all. Source of paths and meanings: Linux
 * Documentation/trace/ftrace.rst. */

#include <stdatomic.h>

#include "base/error.h"
#include "base/macro.h"

struct tracefs {
    int fd;         /* of the directory */
    char path[256]; /* for messages */
    bool is_own;    /* mounted by tracefs_open(), for this process alone */
};

/* Finds tracefs: at PATH, or (NULL) where it is usually mounted, then among the mounts, and mounts it
 * where nobody else sees it when it is nowhere. Call it before threads are made: mounting may move the
 * process into a mount namespace of its own. -ENOENT: there is none; -EPERM, -EACCES: not allowed. */
int tracefs_open(const char *path, struct tracefs *ret_tracefs, struct error *error);
void tracefs_done(struct tracefs *tracefs);

/* A whole file below the directory DIR, a NUL behind it that is not counted; *RET_TEXT is from malloc.
 * Files of tracefs say that they are empty, so it is read until it ends; -EFBIG: longer than MAX. */
int tracefs_read(int dir, const char *file, size_t max, char **ret_text, size_t *ret_len);
/* The number that the file begins with. -EBADMSG: it begins with none. */
int tracefs_read_number(int dir, const char *file, uint64_t *ret_number);
/* Writes TEXT by one write(2): how the kernel wants commands. */
int tracefs_write(int dir, const char *file, const char *text);
int tracefs_write_number(int dir, const char *file, uint64_t number);
/* As tracefs_write(), behind what is there (set_event). */
int tracefs_append(int dir, const char *file, const char *text);

/* How long the pages of trace_pipe_raw are and where in them events begin, from events/header_page. */
struct tracefs_page {
    size_t size;        /* bytes, with what stands before the events */
    size_t data;        /* where events begin */
    size_t commit;      /* where the count of their bytes stands … */
    size_t commit_size; /* … and how long it is: 4 or 8 */
};
int tracefs_page(int dir, struct tracefs_page *ret_page, struct error *error);

/* Instances. NAME is that of a directory below instances/. */
int tracefs_instance_open(const struct tracefs *tracefs, const char *name, int *ret_fd);
/* A new one for this process, "strata-agent-PID-START-N" where START is when the process began, in ticks
 * since the boot: so one can tell whether its maker lives. */
int tracefs_instance_make(const struct tracefs *tracefs, char *ret_name, size_t size, int *ret_fd);
/* -EBUSY: somebody has it open, or a tracer runs in it. */
int tracefs_instance_remove(const struct tracefs *tracefs, const char *name);
/* The same by a child process, since with a thousand events enabled the kernel takes seconds for it, and
 * nothing cuts that short. Once *ENDING is true it is waited for at most MS more. -EINPROGRESS: it goes
 * on. */
int tracefs_instance_remove_by(const struct tracefs *tracefs, const char *name,
                               const _Atomic bool *ending, unsigned ms);
/* Removes those whose maker is dead. Returns how many. Without /proc nobody is known to be dead. */
int tracefs_instance_sweep(const struct tracefs *tracefs);
