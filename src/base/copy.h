/* SPDX-License-Identifier: MIT */
#pragma once

/* Files and directories, copied as they are. */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct copy_options {
    bool link;   /* another name for the same bytes, where that can be */
    bool follow; /* symbolic links to files; else they are passed over */
    /* Whether a file of a directory is copied, by its path in that, LEN bytes; NULL: all. */
    bool (*takes)(const char *path, size_t len);
};

#define COPY_DEPTH_MAX 16

/* The regular file FROM becomes TO, which must not be there. Copies share their blocks where the file system can.
 * A file that says it is empty, as those of the kernel's own file systems do, is read to its end. -EEXIST and
 * its like, with ERROR. */
int copy_file(const char *from, const char *to, const struct copy_options *options,
              struct error *error);

/* The regular files in the directory FROM, and in directories in it, COPY_DEPTH_MAX deep, become such in TO; TO and the
 * directories above each file are made where they are missing. What is neither a file nor a directory is passed over. */
int copy_dir(const char *from, const char *to, const struct copy_options *options,
             struct error *error);
