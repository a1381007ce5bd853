/* SPDX-License-Identifier: MIT */
#include "programs/rings_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/process_file.h"

/* The folder of this user's rings, made if it is missing: 0; -EPERM, it is somebody else's, or others may write
 * to it. */
static int take_parent(char *path, size_t size)
{
    struct stat st;

    snprintf(path, size, RINGS_PARENT "%u", (unsigned)geteuid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (lstat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0 ? 0 : -EPERM;
}

void rings_folder_sweep(void)
{
    char path[48];

    if (take_parent(path, sizeof path) >= 0)
        locked_folder_sweep(path, RINGS_FOLDER_PREFIX, true);
}

int rings_folder_make(struct locked_folder *ret, struct fault *fault)
{
    char path[48];
    int r = take_parent(path, sizeof path);

    if (r >= 0) {
        locked_folder_sweep(path, RINGS_FOLDER_PREFIX, true);
        r = locked_folder_make(path, RINGS_FOLDER_PREFIX, ret);
    }
    if (r < 0)
        r = locked_folder_make("/tmp", "strata-" RINGS_FOLDER_PREFIX, ret);
    return r < 0 ? fault_plain(fault, r, "/tmp", "cannot make a folder for rings there: %s",
                               strerror(-r))
                 : 0;
}
