/* SPDX-License-Identifier: MIT */
#include "record/qemu/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process_root.h"
#include "record/qemu/log_destination.h"

#define PREFIX "strata-record-"
/* A file of this user's, by which the next recorder knows the directory (base/locked_dir.h). */
#define MARK "place"

bool qemu_place_is_needed(pid_t pid)
{
    uid_t uid;
    gid_t gid;

    return process_root_differs(pid) ||
           (log_destination_user(pid, &uid, &gid) >= 0 && uid != geteuid());
}

static int give(const struct qemu_place *place, pid_t pid)
{
    uid_t uid = 0;
    gid_t gid = 0;
    int r = log_destination_user(pid, &uid, &gid);
    int mark =
        r < 0 ? r : openat(place->dir.fd, MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (mark < 0)
        return r < 0 ? r : -errno;
    close(mark);
    return fchown(place->dir.fd, uid, gid) < 0 ? -errno : 0;
}

static int make_in(pid_t pid, const char *parent, struct qemu_place *ret)
{
    struct qemu_place place = QEMU_PLACE_NONE;
    const char *name;
    char path[32];
    int r;

    place.parent = process_root_open(pid, parent, O_PATH | O_DIRECTORY);
    if (place.parent < 0)
        return place.parent;
    snprintf(path, sizeof path, "/proc/self/fd/%d", place.parent);
    r = locked_dir_make(path, PREFIX, &place.dir);
    if (r >= 0)
        r = give(&place, pid);
    if (r < 0) {
        qemu_place_done(&place);
        return r;
    }
    name = strrchr(place.dir.path, '/') + 1;
    parent = strcmp(parent, "/") == 0 ? "" : parent;
    snprintf(place.inside, sizeof place.inside, "%s/%s", parent, name);
    snprintf(place.left, sizeof place.left, "/proc/%ld/root%s", (long)pid, place.inside);
    *ret = place;
    return 0;
}

int qemu_place_make(pid_t pid, struct qemu_place *ret, struct error *error)
{
    static const char *const parents[] = {"/tmp", "/run", "/var/tmp", "/dev/shm", "/"};
    int first = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
        int r = make_in(pid, parents[i], ret);

        if (r >= 0)
            return r;
        first = first == 0 ? r : first;
    }
    return error_set(
        error, first, NULL,
        "cannot make a directory in /tmp that QEMU (process %ld) can open files in: %s", (long)pid,
        strerror(-first));
}

void qemu_place_done(struct qemu_place *place)
{
    locked_dir_done(&place->dir, true);
    if (place->parent >= 0)
        close(place->parent);
    *place = QEMU_PLACE_NONE;
}

void qemu_place_remove_left(const char *fifo)
{
    _cleanup_free_ char *dir = NULL;
    _cleanup_(closep) int fd = -1;
    const char *slash = strrchr(fifo, '/');
    const char *name;
    struct stat st;

    if (!slash)
        return;
    name = slash + 1;
    dir = strndup(fifo, (size_t)(slash - fifo));
    fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    /* Another user owns the directory, and may put something else in its place. */
    if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISFIFO(st.st_mode))
        return;
    (void)unlinkat(fd, name, 0);
    slash = strrchr(dir, '/');
    if (!slash || strncmp(slash + 1, PREFIX, strlen(PREFIX)) != 0)
        return;
    (void)unlinkat(fd, "agent", 0);
    (void)unlinkat(fd, MARK, 0);
    (void)rmdir(dir);
}
