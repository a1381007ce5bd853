/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <string.h>

int write_all(int fd, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t done = write(fd, at, n);

        if (done < 0 && errno != EINTR)
            return -errno;
        if (done > 0) {
            at += done;
            n -= (size_t)done;
        }
    }
    return 0;
}

bool dir_is_empty(int at, const char *name)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(at, name);
    const struct dirent *entry;
    bool empty = true;

    if (!dir)
        return false;
    while (empty && (entry = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}
