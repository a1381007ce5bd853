/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/control/control.h"

/* Whether PATH is a directory of ours, and ours alone if PRIVATE. Returns it open; others may have made
 * links to lead us astray. */
static int open_ours(const char *path, bool private)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (st.st_uid != geteuid() || (private && st.st_mode & 077))
        r = -EPERM;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

static int open_made(const char *path)
{
    /* The umask can only take more away. */
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    return open_ours(path, true);
}

/* The directory `strata` in RUNTIME, which is the user's or does not count: after su it may be another
 * user's, whom a directory that we create there would lock out. */
static int open_below(const char *runtime)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof(path), "%s/strata", runtime) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    fd = open_ours(runtime, false);
    if (fd < 0)
        return fd;
    close(fd);
    return open_made(path);
}

/* -EBADF: a program that closes all descriptors has closed it before it was checked. Then another directory would not
 * help. */
int control_dir_open(void)
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    char path[64];
    int fd;

    if (runtime && *runtime == '/') {
        fd = open_below(runtime);
        if (fd >= 0 || fd == -EBADF)
            return fd;
    }
    snprintf(path, sizeof(path), "/run/user/%lu", (unsigned long)geteuid());
    fd = open_below(path);
    if (fd >= 0 || fd == -EBADF)
        return fd;
    snprintf(path, sizeof(path), "/tmp/strata-%lu", (unsigned long)geteuid());
    return open_made(path);
}
