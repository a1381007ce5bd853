/* SPDX-License-Identifier: MIT */
#include "control/socket_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

static void try_dir(struct dirs *dirs, const char *path, uid_t user)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            dirs->error = -errno;
        return;
    }
    if (fstat(fd, &st) < 0 || st.st_uid != user || st.st_mode & 077)
        goto not_this;
    for (unsigned i = 0; i < dirs->n; i++)
        if (dirs->items[i].device == st.st_dev && dirs->items[i].inode == st.st_ino)
            goto not_this; /* $XDG_RUNTIME_DIR is /run/user/UID, as a rule */
    dirs->items[dirs->n++] = (struct dir){fd, user, st.st_dev, st.st_ino};
    return;

not_this:
    close(fd);
}

void dirs_find(struct dirs *ret, const char *runtime, uid_t user)
{
    char path[PATH_MAX];

    *ret = (struct dirs){0};
    if (runtime && *runtime == '/' &&
        snprintf(path, sizeof path, "%s/strata", runtime) < (int)sizeof path)
        try_dir(ret, path, user);
    snprintf(path, sizeof path, "/run/user/%lu/strata", (unsigned long)user);
    try_dir(ret, path, user);
    snprintf(path, sizeof path, "/tmp/strata-%lu", (unsigned long)user);
    try_dir(ret, path, user);
}

void dirs_done(struct dirs *dirs)
{
    for (unsigned i = 0; i < dirs->n; i++)
        close(dirs->items[i].fd);
    dirs->n = 0;
}

int dir_pids(const struct dir *directory, pid_t **ret, size_t *ret_n)
{
    pid_t *pids = NULL;
    struct dirent *entry;
    size_t n = 0;
    DIR *dir = open_dir_at(directory->fd, ".");
    int r = 0;

    if (!dir)
        return -errno;
    while (r >= 0 && (entry = readdir(dir))) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        pid_t *more;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || *end || pid > INT_MAX)
            continue;
        more = realloc(pids, (n + 1) * sizeof *pids);
        if (more) {
            pids = more;
            pids[n++] = (pid_t)pid;
        } else {
            r = -ENOMEM;
        }
    }
    closedir(dir);
    if (r < 0) {
        free(pids);
        return r;
    }
    *ret = pids;
    *ret_n = n;
    return 0;
}
