/* SPDX-License-Identifier: MIT */
#include "client/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

static void try_folder(struct folders *folders, const char *path, uid_t user)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) < 0 || st.st_uid != user || st.st_mode & 077)
        goto not_this;
    for (unsigned i = 0; i < folders->n; i++)
        if (folders->items[i].device == st.st_dev && folders->items[i].inode == st.st_ino)
            goto not_this; /* $XDG_RUNTIME_DIR is /run/user/UID, as a rule */
    folders->items[folders->n++] = (struct folder){fd, user, st.st_dev, st.st_ino};
    return;

not_this:
    close(fd);
}

void folders_find(struct folders *ret, const char *runtime, uid_t user)
{
    char path[PATH_MAX];

    *ret = (struct folders){0};
    if (runtime && *runtime == '/' &&
        snprintf(path, sizeof path, "%s/strata", runtime) < (int)sizeof path)
        try_folder(ret, path, user);
    snprintf(path, sizeof path, "/run/user/%lu/strata", (unsigned long)user);
    try_folder(ret, path, user);
    snprintf(path, sizeof path, "/tmp/strata-%lu", (unsigned long)user);
    try_folder(ret, path, user);
}

void folders_done(struct folders *folders)
{
    for (unsigned i = 0; i < folders->n; i++)
        close(folders->items[i].fd);
    folders->n = 0;
}

int folder_pids(const struct folder *folder, pid_t **ret, size_t *ret_n)
{
    pid_t *pids = NULL;
    struct dirent *entry;
    size_t n = 0;
    DIR *dir = open_dir_at(folder->fd, ".");
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
