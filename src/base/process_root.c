/* SPDX-License-Identifier: MIT */
#include "base/process_root.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

#define PATH_SIZE 4096
#define NOBODY 65534

static const char *name_in_proc(pid_t pid, const char *name, char buf[static 64])
{
    snprintf(buf, 64, "/proc/%ld/%s", (long)pid, name);
    return buf;
}

bool process_root_has_mounts(pid_t pid)
{
    char buf[64];
    struct stat own, its;

    return stat("/proc/self/ns/mnt", &own) == 0 &&
           stat(name_in_proc(pid, "ns/mnt", buf), &its) == 0 && own.st_ino != its.st_ino;
}

bool process_root_differs(pid_t pid)
{
    char buf[64];
    struct stat own, its;

    if (process_root_has_mounts(pid))
        return true;
    return stat("/proc/self/root", &own) == 0 && stat(name_in_proc(pid, "root", buf), &its) == 0 &&
           (own.st_dev != its.st_dev || own.st_ino != its.st_ino);
}

int process_root_open(pid_t pid, const char *path, int flags)
{
    struct open_how how = {.flags = (uint32_t)(flags | O_CLOEXEC), .resolve = RESOLVE_IN_ROOT};
    char buf[64];
    _cleanup_(closep) int root = open(name_in_proc(pid, *path == '/' ? "root" : "cwd", buf),
                                      O_PATH | O_DIRECTORY | O_CLOEXEC);
    long fd;

    if (root < 0)
        return -errno;
    fd = syscall(SYS_openat2, root, path, &how, sizeof how);
    return fd < 0 ? -errno : (int)fd;
}

/* The path of the file FD, as the kernel shows it. */
static ssize_t path_of(const char *link, char buf[static PATH_SIZE])
{
    ssize_t n = readlink(link, buf, PATH_SIZE - 1);

    buf[MAX(n, 0)] = '\0';
    return n;
}

const char *process_root_inside(pid_t pid, const char *path)
{
    char root[PATH_SIZE], buf[64];
    size_t len;

    /* Below "/" of its mount namespace, or below the directory that it has as its root. */
    if (path_of(name_in_proc(pid, "root", buf), root) <= 0 || strcmp(root, "/") == 0)
        return path;
    len = strlen(root);
    return strncmp(path, root, len) == 0 && path[len] == '/' ? path + len : path;
}

char *process_root_path(pid_t pid, const char *path)
{
    char found[PATH_SIZE], buf[64], *ret;
    int fd = process_root_open(pid, path, O_PATH);

    if (fd >= 0) {
        snprintf(buf, sizeof buf, "/proc/self/fd/%d", fd);
        if (path_of(buf, found) > 0)
            path = process_root_inside(pid, found);
        close(fd);
    }
    return asprintf(&ret, "/proc/%ld/root%s", (long)pid, path) < 0 ? NULL : ret;
}

int process_root_enter(pid_t pid)
{
    char buf[64];
    struct stat st;
    _cleanup_(closep) int mounts = open(name_in_proc(pid, "ns/mnt", buf), O_RDONLY | O_CLOEXEC);
    _cleanup_(closep) int root =
        open(name_in_proc(pid, "root", buf), O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (mounts < 0 || root < 0 || stat(name_in_proc(pid, "", buf), &st) < 0)
        return -errno;
    if ((process_root_has_mounts(pid) && setns(mounts, CLONE_NEWNS) < 0) || fchdir(root) < 0 ||
        chroot(".") < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    if (geteuid() != 0)
        return 0;
    if (st.st_uid == 0)
        st.st_uid = st.st_gid = NOBODY;
    return setgroups(0, NULL) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
                   setresuid(st.st_uid, st.st_uid, st.st_uid) < 0
               ? -errno
               : 0;
}
