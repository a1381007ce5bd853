/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens and creates the files of a trace, in a program that may run as root, at a path that the user chooses. So:
 *
 *   - files are created with mode 0600 and directories with 0700, whatever the umask;
 *   - the last component of a path is never a symbolic link, and other components only if the link is
 *     root's or ours;
 *   - each directory of a path is root's or ours, and no other user can write to it; a directory with the
 *     sticky bit, as /tmp, is accepted, because other users cannot replace our files in it [-EPERM];
 *   - an existing file is ours, has one name, and is of a type that can be written to [-EPERM].
 *
 * "Ours" refers to the effective user. A group with the same number, or 0, counts as well:
 * distributions give each user such a group. The option unsafe-directory=on drops the last two rules.
 *
 * A path may also name a descriptor: /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N.
 *
 * Any context; needs little stack. */

#include <stdbool.h>

#include "runtime/process/descriptor.h"

enum file_mode {
    FILE_NEW,    /* existing content is removed */
    FILE_APPEND, /* appends to existing content */
    FILE_MARKER, /* must exist, and accepts whole messages */
    FILE_AGAIN,  /* must exist, and keeps its content, to continue writing */
};

/* Opens the absolute PATH for writing. -ENXIO: a pipe without a reader; -EBUSY: FILE_NEW, and
 * another process writes it. Negative errno. */
int file_open(struct descriptor *ret, const char *path, enum file_mode mode);
/* Creates the file NAME in a directory from directory_make() or directory_open(). */
int file_make_at(struct descriptor *ret, int directory, const char *name);

/* Opens the directory PATH, creating it if necessary. Returns a descriptor or negative errno; -EPERM
 * also if another user can write to it. */
int directory_make(const char *path);
int directory_open(const char *path);

/* As renameat(), but does not replace an existing file. Returns -1 with EEXIST, or with EINVAL or ENOSYS if the file
 * system or the kernel does not support this. */
int file_rename_new(int from_dir, const char *from, int to_dir, const char *to);

/* The option unsafe-directory. */
void file_allow_unsafe(bool allow);

/* Describes ERROR, a negative errno, to the user. */
const char *file_error_text(int error);
