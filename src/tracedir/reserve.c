/* SPDX-License-Identifier: MIT */
#include "tracedir/reserve.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "tracedir/manifest.h"

void reserve_keep(const char *dir, int *fd)
{
    _cleanup_free_ char *path = NULL;
    struct stat st = {0};

    if (*fd >= 0)
        return;
    if (asprintf(&path, "%s/%s", dir, MANIFEST_NAME) < 0) {
        path = NULL;
        return;
    }
    (void)stat(path, &st); /* where there is none yet, room for a first one */
    *fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (*fd >= 0)
        (void)fallocate(*fd, 0, 0, st.st_size + MAX(st.st_size, RESERVE_GROWTH));
}

void reserve_give(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
