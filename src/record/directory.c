/* SPDX-License-Identifier: MIT */
#include "record/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static int check_empty(int fd, const char *path, struct error *error)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(fd, ".");
    const struct dirent *entry;

    if (!dir)
        return error_set(error, -errno, path, "cannot be opened: %s", strerror(errno));
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return error_set(error, -EEXIST, path,
                             "directory is not empty; name another or a new one");
    return 0;
}

/* Who owns the directory can put other files in place of the recorder's. */
static int check_owner(int fd, const char *path, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_set(error, -errno, path, "%s", strerror(errno));
    if (geteuid() != 0 || st.st_uid == 0)
        return 0;
    return error_set(error, -EPERM, path,
                     "belongs to user %lu, who could replace what root records there; name a "
                     "directory that does not exist yet",
                     (unsigned long)st.st_uid);
}

/* So long a child of a recorder that was killed may have its lock. */
#define LOCK_TRIES 50u
#define LOCK_INTERVAL_US 100000u

static bool is_locked_by_another(int fd, unsigned tries)
{
    for (unsigned i = 0; i < tries; i++) {
        if (i > 0)
            (void)usleep(LOCK_INTERVAL_US);
        /* A file system without locks is used without. */
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return false;
    }
    return true;
}

static int open_locked(const char *path, bool again, struct record_dir *ret, struct error *error)
{
    struct record_dir dir = RECORD_DIR_NONE;
    int r = 0;

    if (mkdir(path, 0777) == 0)
        dir.is_made = true;
    else if (errno != EEXIST)
        return error_set(error, -errno, path, "cannot be made: %s", strerror(errno));
    dir.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir.fd < 0)
        r = error_set(error, -errno, path, "cannot be opened: %s", strerror(errno));
    else if (is_locked_by_another(dir.fd, again ? LOCK_TRIES : 1))
        r = error_set(error, -EEXIST, path,
                      "another recording is under way there; name another directory");
    else if (!again)
        r = check_empty(dir.fd, path, error);
    if (r >= 0 && !dir.is_made)
        r = check_owner(dir.fd, path, error);
    if (r >= 0) {
        dir.path = realpath(path, NULL);
        if (!dir.path)
            r = error_set(error, -errno, path, "%s", strerror(errno));
    }
    if (r < 0) {
        dir.is_made &= r != -EEXIST; /* then it is another's, which began just now */
        if (dir.fd >= 0)
            close(dir.fd);
        if (dir.is_made)
            (void)rmdir(path);
        return r;
    }
    *ret = dir;
    return 0;
}

int record_dir_open(const char *path, struct record_dir *ret, struct error *error)
{
    return open_locked(path, false, ret, error);
}

int record_dir_open_again(const char *path, struct record_dir *ret, struct error *error)
{
    return open_locked(path, true, ret, error);
}

void record_dir_close(struct record_dir *dir, bool remove)
{
    if (remove && dir->is_made)
        (void)rmdir(dir->path);
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir->path);
    *dir = RECORD_DIR_NONE;
}
