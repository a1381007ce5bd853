/* SPDX-License-Identifier: MIT */
#include "base/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#define ATTEMPTS 100

int unnamed_file_open_by_name(int dir, const char *path)
{
    char name[4096 + 64];

    for (unsigned i = 0; i < ATTEMPTS; i++) {
        unsigned number;
        int fd;

        if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
            number = ((unsigned)getpid() << 8) + i;
        if (snprintf(name, sizeof name, "%s/.strata-%08x", path, number) >= (int)sizeof name)
            return -ENAMETOOLONG;
        fd = openat(dir, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return -errno;
        (void)unlinkat(dir, name, 0);
        return fd;
    }
    return -EEXIST;
}

int unnamed_file_open(int dir, const char *path)
{
    int fd = openat(dir, path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL
               ? unnamed_file_open_by_name(dir, path)
               : -errno;
}
