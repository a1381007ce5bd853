/* SPDX-License-Identifier: MIT */
#include "manifest/spare.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "manifest/manifest.h"

void spare_keep(const char *folder, int *fd)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;

    if (*fd >= 0)
        return;
    if (asprintf(&path, "%s/%s", folder, MANIFEST_NAME) < 0) {
        path = NULL;
        return;
    }
    if (stat(path, &st) < 0)
        return;
    *fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (*fd >= 0)
        (void)fallocate(*fd, 0, 0, st.st_size + MAX(st.st_size, SPARE_GROWTH));
}

void spare_give(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
