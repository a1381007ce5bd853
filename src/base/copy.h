/* SPDX-License-Identifier: MIT */
#pragma once

/* Copying files and directories. */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct copy_options {
    bool link;   /* make a hard link instead, if possible */
    bool follow; /* follow symbolic links to files; otherwise they are skipped */
    /* True to copy a file of a directory; PATH, LEN bytes, is relative to that directory. NULL: copy
     * all. */
    bool (*takes)(const char *path, size_t len);
};

#define COPY_DEPTH_MAX 16

/* Copies the regular file FROM to TO, which must not exist. Copies share blocks if the file system
 * supports it, and have the holes of the original. A file that reports size 0, such as a file of a kernel file system, is
 * read to its end.
 * -EEXIST or another errno, with ERROR. */
int copy_file(const char *from, const char *to, const struct copy_options *options,
              struct error *error);

/* Copies the regular files below the directory FROM, up to COPY_DEPTH_MAX levels deep, to TO; creates
 * TO and missing directories. Skips everything that is neither a file nor a directory. */
int copy_dir(const char *from, const char *to, const struct copy_options *options,
             struct error *error);
