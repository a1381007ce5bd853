/* SPDX-License-Identifier: MIT */
#include "base/tracefs_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

/* statfs.f_type of tracefs; linux/magic.h. */
#define TRACEFS_MAGIC_NUMBER 0x74726163

int tracefs_open_mount(const char *path)
{
    char inside[300]; /* "." makes debugfs mount its tracing/ */
    struct statfs fs;
    int fd;

    snprintf(inside, sizeof inside, "%s/.", path);
    fd = open(inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstatfs(fd, &fs) < 0 || fs.f_type != TRACEFS_MAGIC_NUMBER) {
        close(fd);
        return -ENOENT;
    }
    return fd;
}

/* The first tracefs among the mounts. Escapes (\040) in paths are not decoded; such a mount point must
 * be given explicitly. */
static int find_mounted(char *ret_path, size_t size)
{
    FILE *mounts = fopen("/proc/self/mounts", "re");
    char line[1024];
    int r = -ENOENT;

    if (!mounts)
        return -ENOENT;
    while (r < 0 && fgets(line, sizeof line, mounts)) {
        char path[256], type[32];

        if (sscanf(line, "%*s %255s %31s", path, type) == 2 && strcmp(type, "tracefs") == 0) {
            r = tracefs_open_mount(path);
            if (r >= 0)
                snprintf(ret_path, size, "%s", path);
        }
    }
    fclose(mounts);
    return r;
}

int tracefs_find(char *ret_path, size_t size, const char **ret_shut)
{
    static const char *const usual[] = {TRACEFS_USUAL, "/sys/kernel/debug/tracing"};
    const char *shut = NULL;
    int r;

    for (unsigned i = 0; i < ARRAY_SIZE(usual); i++) {
        r = tracefs_open_mount(usual[i]);
        if (r >= 0) {
            snprintf(ret_path, size, "%s", usual[i]);
            return r;
        }
        if (r == -EACCES && !shut)
            shut = usual[i];
    }
    r = find_mounted(ret_path, size);
    if (r < 0 && shut) {
        *ret_shut = shut;
        return -EACCES;
    }
    return r;
}

#if defined(SYS_fsopen) && defined(SYS_fsmount) && defined(SYS_fsconfig)
int tracefs_mount_detached(void)
{
    int fs = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */);
    int fd, r = 0;

    if (fs < 0)
        return -errno;
    if (syscall(SYS_fsconfig, fs, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0) < 0)
        r = -errno;
    fd = r < 0 ? -1 : (int)syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, 0);
    if (r >= 0 && fd < 0)
        r = -errno;
    close(fs);
    return r < 0 ? r : fd;
}
#else
int tracefs_mount_detached(void)
{
    return -ENOSYS;
}
#endif
