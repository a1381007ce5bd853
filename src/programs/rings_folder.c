/* SPDX-License-Identifier: MIT */
#include "programs/rings_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/process_file.h"

/* The folder of this user's rings, made if it is missing: -EPERM, it is somebody else's, or others may write
 * to it. */
static int open_parent(char *path, size_t size)
{
    struct stat st;
    int fd;

    snprintf(path, size, RINGS_PARENT "%u", (unsigned)geteuid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

static void sweep(int parent)
{
    DIR *dir = open_dir_at(parent, ".");
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        int fd;

        if (strncmp(entry->d_name, RINGS_FOLDER_PREFIX, strlen(RINGS_FOLDER_PREFIX)) != 0)
            continue;
        fd = openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(parent, entry->d_name, AT_REMOVEDIR);
        close(fd);
    }
    closedir(dir);
}

void rings_folder_sweep(void)
{
    char path[48];
    int parent = open_parent(path, sizeof path);

    if (parent < 0)
        return;
    sweep(parent);
    close(parent);
}

/* Locked before anybody could take it for one that was left: in the one moment in between it may be swept
 * away, so that there has to be another. */
static int make_in(const char *parent, const char *prefix, struct rings_folder *ret)
{
    for (unsigned tries = 0; tries < 10; tries++) {
        struct rings_folder folder = {.fd = -1};
        struct stat made, there;

        if ((size_t)snprintf(folder.path, sizeof folder.path, "%s/%sXXXXXX", parent, prefix) >=
            sizeof folder.path)
            return -ENAMETOOLONG;
        if (!mkdtemp(folder.path))
            return -errno;
        folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder.fd >= 0 && flock(folder.fd, LOCK_EX | LOCK_NB) == 0 &&
            fstat(folder.fd, &made) == 0 && stat(folder.path, &there) == 0 &&
            made.st_ino == there.st_ino) {
            *ret = folder;
            return 0;
        }
        if (folder.fd >= 0)
            close(folder.fd);
    }
    return -EAGAIN;
}

int rings_folder_make(struct rings_folder *ret, struct fault *fault)
{
    char path[48];
    int parent = open_parent(path, sizeof path);
    int r = parent;

    if (parent >= 0) {
        sweep(parent);
        r = make_in(path, RINGS_FOLDER_PREFIX, ret);
        close(parent);
    }
    if (r < 0)
        r = make_in("/tmp", "strata-" RINGS_FOLDER_PREFIX, ret);
    return r < 0 ? fault_plain(fault, r, "/tmp", "cannot make a folder for rings there: %s",
                               strerror(-r))
                 : 0;
}

void rings_folder_done(struct rings_folder *folder, bool *ret_left)
{
    bool left = false;

    if (folder->path[0]) {
        left = rmdir(folder->path) < 0 && (errno == ENOTEMPTY || errno == EEXIST);
        close(folder->fd);
    }
    *folder = (struct rings_folder){.fd = -1};
    if (ret_left)
        *ret_left = left;
}
