/* SPDX-License-Identifier: MIT */
#include "base/locked_dir.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define TRIES 10

static int open_dir(int parent, const char *name)
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

/* Another process may sweep the directory away before it is locked; then another one is created. */
int locked_dir_make(const char *parent, const char *prefix, struct locked_dir *ret)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        struct locked_dir directory = {.fd = -1};
        struct stat made, there;

        if ((size_t)snprintf(directory.path, sizeof directory.path, "%s/%sXXXXXX", parent,
                             prefix) >= sizeof directory.path)
            return -ENAMETOOLONG;
        if (!mkdtemp(directory.path))
            return -errno;
        directory.fd = open_dir(AT_FDCWD, directory.path);
        if (directory.fd >= 0 && flock(directory.fd, LOCK_EX | LOCK_NB) == 0 &&
            fstat(directory.fd, &made) == 0 && stat(directory.path, &there) == 0 &&
            made.st_ino == there.st_ino) {
            *ret = directory;
            return 0;
        }
        if (directory.fd >= 0)
            close(directory.fd);
        (void)rmdir(directory.path);
    }
    return -EAGAIN;
}

void locked_dir_done(struct locked_dir *directory, bool empties)
{
    if (directory->path[0]) {
        if (empties)
            empty(directory->fd);
        /* In a sticky directory only the owner removes it, and it was given to another user. */
        if (rmdir(directory->path) < 0 && errno == EPERM &&
            fchown(directory->fd, geteuid(), getegid()) == 0)
            (void)rmdir(directory->path);
        close(directory->fd);
    }
    *directory = (struct locked_dir){.fd = -1};
}

void locked_dir_leave(struct locked_dir *directory)
{
    if (directory->path[0])
        close(directory->fd);
    *directory = (struct locked_dir){.fd = -1};
}

/* ---- Finding directories ---- */

struct visit {
    const char *parent;
    bool is_private; /* only this user can make a directory in it */
    bool any_user, sweeps, empties;
    bool (*keeps)(int dir, void *userdata);
    int (*found)(const char *path, void *userdata);
    void *userdata;
};

/* Whether this user has made a file in the directory FD, which belongs to another now. */
static bool has_file_of_ours(int fd)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(fd, ".");
    const struct dirent *entry;
    bool has = false;
    struct stat st;

    while (dir && !has && (entry = readdir(dir)))
        has = fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
              st.st_uid == geteuid();
    return has;
}

static int visit_one(const struct visit *visit, int parent, const char *name)
{
    _cleanup_(closep) int fd = open_dir(parent, name);
    char path[sizeof((struct locked_dir *)NULL)->path];
    struct stat st;
    bool is_free;
    int r = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 &&
        (visit->is_private || st.st_uid == geteuid() || has_file_of_ours(fd))) {
        is_free = flock(fd, (visit->sweeps ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
        if (visit->sweeps && is_free && visit->keeps && visit->keeps(fd, visit->userdata)) {
            r = 0;
        } else if (visit->sweeps && is_free) {
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

static int visit_all(struct visit *visit, const char *prefix)
{
    _cleanup_(closedirp) DIR *dir = opendir(visit->parent);
    const struct dirent *entry;
    struct stat st;
    int r = 0;

    visit->is_private = dir && fstat(dirfd(dir), &st) == 0 &&
                        (visit->any_user || st.st_uid == geteuid()) &&
                        (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    while (dir && r == 0 && (entry = readdir(dir)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            r = visit_one(visit, dirfd(dir), entry->d_name);
    return r;
}

void locked_dir_sweep(const char *parent, const char *prefix, bool empties,
                      bool (*keeps)(int dir, void *userdata), void *userdata)
{
    (void)visit_all(&(struct visit){.parent = parent,
                                    .sweeps = true,
                                    .empties = empties,
                                    .keeps = keeps,
                                    .userdata = userdata},
                    prefix);
}

int locked_dir_foreach(const char *parent, const char *prefix, bool any_user,
                       int (*found)(const char *path, void *userdata), void *userdata)
{
    return visit_all(
        &(struct visit){
            .parent = parent, .any_user = any_user, .found = found, .userdata = userdata},
        prefix);
}
