/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens and makes the files of a trace, in a program that may be root's and wherever its user said. So:
 *
 *   - what is made has mode 0600, a directory 0700, whatever the umask;
 *   - the last component of a path is never a symbolic link, and another one only if it is root's or ours;
 *   - each directory of a path is root's or ours, and no other user can write there (a directory with the
 *     sticky bit, as /tmp, counts as such, as nobody can replace what is ours in it) [-EPERM];
 *   - a file that is there already is ours, has one name, and is of a kind that can be written to [-EPERM].
 *
 * "Ours" is of the effective user. A group that has its number, or is 0, counts as well: that is how
 * distributions give each user a group of their own. The option unsafe-directory=on leaves the last two out.
 *
 * A path may also name a descriptor: /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N.
 *
 * Any context; needs little of the stack. */

#include <stdbool.h>

#include "runtime/descriptor.h"

enum file_mode {
    FILE_NEW,    /* what was there is gone */
    FILE_APPEND, /* at the end of what is there */
    FILE_MARKER, /* exists, and takes whole messages */
    FILE_AGAIN,  /* exists, and its content stays; for who goes on where it was */
};

/* Opens the absolute PATH for writing. -ENXIO: a pipe that has no reader. Negative errno. */
int file_open(struct descriptor *ret, const char *path, enum file_mode mode);
/* Makes the file NAME in a directory that directory_make() or directory_open() has given. */
int file_make_at(struct descriptor *ret, int directory, const char *name);

/* Opens the directory PATH, which is made if it is not there. Returns a descriptor, or negative errno;
 * -EPERM also where another user can write into it. */
int directory_make(const char *path);
int directory_open(const char *path);

/* The option unsafe-directory. */
void file_allow_unsafe(bool allow);

/* What is wrong, for a person. ERROR is negative. */
const char *file_error_text(int error);
