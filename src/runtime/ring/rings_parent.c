/* SPDX-License-Identifier: MIT */
#include "runtime/ring/rings_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/process/file.h"
#include "runtime/process/proc_file.h"
#include "runtime/ring/process_file.h"

/* A quarter of the default file system, which all users share, stays free. */
#define FREE_PART 4
/* … and there are not more processes than this, those that were killed included. */
#define FOLDERS_MAX 256

#define NAMES_MAX 1000

/* These have no place in the frames of what calls them: the stack of a handler may be small. */
_cold_ bool rings_parent_is_full(const char *named, int parent)
{
    struct stat st;

    /* The directories in a directory of a tmpfs each count as a link to it. */
    return !named[0] && fstat(parent, &st) == 0 && st.st_nlink >= FOLDERS_MAX + 2;
}

_cold_ int rings_parent_leaves_space(const char *named, int fd, uint64_t length)
{
    struct statfs fs;
    uint64_t left;

    if (named[0] || fstatfs(fd, &fs) < 0 || fs.f_blocks == 0)
        return 0;
    left = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    return left < length || left - length < (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / FREE_PART
               ? -ENOSPC
               : 0;
}

_cold_ int rings_parent_open(const char *named, struct line *line)
{
    char *start = line->at;
    struct stat st;
    int fd;

    if (named[0]) {
        line_put(line, named, strlen(named));
    } else {
        line_put(line, RINGS_PARENT, strlen(RINGS_PARENT));
        line_put_decimal(line, geteuid());
        *line->at = '\0';
        if (mkdir(start, 0700) < 0 && errno != EEXIST)
            return -errno;
    }
    *line->at = '\0';
    /* In a directory that all users may write to, another user may have created it before us. */
    fd = open(start, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (named[0] ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return -errno;
    if (!named[0] && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0)) {
        close(fd);
        return -EPERM;
    }
    line_put(line, "/", 1);
    return fd;
}

/* Puts the name of this process's directory behind BEFORE: no two processes have the same, because a recorder knows one by
 * it. N from 2 on: where a program that this process was before has the name. The pid namespace tells processes apart that
 * have the same number and began in the same tick. */
static void put_name(const char *named, struct line *line, const char *before, unsigned n)
{
    uint64_t inode = proc_pid_namespace(), number;

    line_put(line, before, strlen(before));
    if (named[0])
        line_put(line, RINGS_PREFIX, strlen(RINGS_PREFIX));
    line_put_decimal(line, (uint64_t)getpid());
    line_put(line, "-", 1);
    line_put_decimal(line, proc_start_time());
    if (inode == FIRST_PID_NAMESPACE)
        inode = 0;
    number = inode * (NAMES_MAX + 2) + (n > 1 ? n : 0);
    if (number > 0) {
        line_put(line, "-", 1);
        line_put_decimal(line, number);
    }
    *line->at = '\0';
}

int rings_parent_make_hidden(const char *named, int parent, char name[RINGS_NAME_SIZE])
{
    int fd, r;

    for (unsigned i = 1;; i++) {
        struct line line = {name, name + RINGS_NAME_SIZE - 1, false};

        put_name(named, &line, RINGS_HIDDEN, i);
        if (mkdirat(parent, name, 0700) == 0)
            break;
        r = -errno;
        if (r != -EEXIST || i > NAMES_MAX)
            return r;
    }
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        return fd;
    r = -errno;
    unlinkat(parent, name, AT_REMOVEDIR);
    return r;
}

int rings_parent_show(const char *named, int parent, const char *hidden, struct line *line)
{
    char *name = line->at;
    int r;

    for (unsigned i = 1;; i++) {
        line->at = name;
        put_name(named, line, "", i);
        /* Not over a directory that is being removed, and is empty by now. */
        r = file_rename_new(parent, hidden, parent, name);
        if (r < 0 && errno == EINVAL) /* such as NFS */
            r = renameat(parent, hidden, parent, name);
        if (r == 0)
            return 0;
        if ((errno != EEXIST && errno != ENOTEMPTY) || i > NAMES_MAX)
            break;
    }
    r = -errno;
    line->at = name; /* for the caller's next try */
    *name = '\0';
    return r;
}
