/* SPDX-License-Identifier: MIT */
#include "base/locked_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define TRIES 10

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes the files in the directory FD, not the directories in it. */
static void empty(int fd)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(fd, ".");
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(fd, entry->d_name, 0);
}

/* In the moment before it is locked it may be swept away, so that there has to be another. */
int locked_folder_make(const char *parent, const char *prefix, struct locked_folder *ret)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        struct locked_folder folder = {.fd = -1};
        struct stat made, there;

        if ((size_t)snprintf(folder.path, sizeof folder.path, "%s/%sXXXXXX", parent, prefix) >=
            sizeof folder.path)
            return -ENAMETOOLONG;
        if (!mkdtemp(folder.path))
            return -errno;
        folder.fd = open_folder(AT_FDCWD, folder.path);
        if (folder.fd >= 0 && flock(folder.fd, LOCK_EX | LOCK_NB) == 0 &&
            fstat(folder.fd, &made) == 0 && stat(folder.path, &there) == 0 &&
            made.st_ino == there.st_ino) {
            *ret = folder;
            return 0;
        }
        if (folder.fd >= 0)
            close(folder.fd);
        (void)rmdir(folder.path);
    }
    return -EAGAIN;
}

void locked_folder_done(struct locked_folder *folder, bool empties)
{
    if (folder->path[0]) {
        if (empties)
            empty(folder->fd);
        (void)rmdir(folder->path);
        close(folder->fd);
    }
    *folder = (struct locked_folder){.fd = -1};
}

/* ---- Those that are there ---- */

struct visit {
    const char *parent;
    bool sweeps, empties;
    int (*found)(const char *path, void *userdata);
    void *userdata;
};

static int visit_one(const struct visit *visit, int parent, const char *name)
{
    _cleanup_(closep) int fd = open_folder(parent, name);
    char path[sizeof((struct locked_folder *)NULL)->path];
    struct stat st;
    bool is_free;
    int r = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
        is_free = flock(fd, (visit->sweeps ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
        if (visit->sweeps && is_free) {
            if (visit->empties)
                empty(fd);
            (void)unlinkat(parent, name, AT_REMOVEDIR);
        } else if (!visit->sweeps && !is_free &&
                   (size_t)snprintf(path, sizeof path, "%s/%s", visit->parent, name) <
                       sizeof path) {
            r = visit->found(path, visit->userdata);
        }
    }
    return r;
}

static int visit_all(const struct visit *visit, const char *prefix)
{
    _cleanup_(closedirp) DIR *dir = opendir(visit->parent);
    const struct dirent *entry;
    int r = 0;

    while (dir && r == 0 && (entry = readdir(dir)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            r = visit_one(visit, dirfd(dir), entry->d_name);
    return r;
}

void locked_folder_sweep(const char *parent, const char *prefix, bool empties)
{
    (void)visit_all(&(struct visit){.parent = parent, .sweeps = true, .empties = empties}, prefix);
}

int locked_folder_foreach(const char *parent, const char *prefix,
                          int (*found)(const char *path, void *userdata), void *userdata)
{
    return visit_all(&(struct visit){.parent = parent, .found = found, .userdata = userdata},
                     prefix);
}
