/* SPDX-License-Identifier: MIT */
#include "metrics/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_SIZE ((size_t)64 * 1024)

static int write_to(const struct metrics *metrics, int fd)
{
    struct text text;
    int r = text_open_fd(&text, fd, OUT_SIZE);

    if (r < 0)
        return r;
    metrics_put(metrics, METRICS_TEXT, &text);
    r = text_flush(&text);
    text_done(&text);
    return r < 0 ? r : fchmod(fd, 0644) < 0 ? -errno : 0;
}

int metrics_write_file(const struct metrics *metrics, const char *path, struct error *error)
{
    char *temp;
    struct stat st;
    int fd, r;

    /* A device such as /dev/null would be replaced, too. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(error, -EINVAL, path,
                         "cannot write metrics: it is not a regular file, and would be replaced");
    if (asprintf(&temp, "%s.XXXXXX", path) < 0)
        return error_set(error, -ENOMEM, path, "out of memory");
    fd = mkostemp(temp, O_CLOEXEC);
    r = fd < 0 ? -errno : write_to(metrics, fd);
    if (fd >= 0 && close(fd) < 0 && r >= 0)
        r = -errno;
    if (r >= 0 && rename(temp, path) < 0)
        r = -errno;
    if (r < 0 && fd >= 0)
        (void)unlink(temp);
    free(temp);
    return r < 0 ? error_set(error, r, path, "cannot write metrics: %s", strerror(-r)) : 0;
}
