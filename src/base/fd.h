/* SPDX-License-Identifier: MIT */
#pragma once

/* Descriptors that are closed at the end of their variable's scope, and directory entries by
 * descriptor. */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macro.h"

/* For _cleanup_ on descriptors, directories and streams; -1 and NULL are skipped. */
static inline void closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static inline void fclosep(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* Opens the directory NAME in the directory AT for readdir() (".": AT itself, whose offset does not
 * change); the caller closes it. NULL: see errno. */
static inline DIR *open_dir_at(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir && fd >= 0) {
        int error = errno;

        close(fd);
        errno = error;
    }
    return dir;
}

/* Writes all N bytes. On an error some may have been written. */
int write_all(int fd, const void *p, size_t n);

/* True if the directory NAME in the directory AT (".": AT itself) can be read and has no entries. */
bool dir_is_empty(int at, const char *name);
