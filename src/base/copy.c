/* SPDX-License-Identifier: MIT */
#include "base/copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

#define CHUNK ((size_t)1 << 30)
#define BUFFER ((size_t)64 * 1024)

static int fail(struct error *error, const char *path, const char *what)
{
    int err = errno;

    return error_set(error, -err, path, "%s: %s", what, strerror(err));
}

/* Copies from IN's offset to its end. */
static int read_and_write(int in, int out)
{
    _cleanup_free_ char *buffer = malloc(BUFFER);

    if (!buffer)
        return -ENOMEM;
    for (;;) {
        ssize_t n = read(in, buffer, BUFFER);
        int r;

        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        r = n > 0 ? write_all(out, buffer, (size_t)n) : 0;
        if (r < 0)
            return r;
    }
}

/* Copies the bytes from the offset of both files up to END: in the kernel, or sharing blocks, where possible. 0: the rest is
 * to be read and written. */
static int copy_in_kernel(int in, int out, off_t at, off_t end)
{
    ssize_t n = 1;

    if (lseek(in, at, SEEK_SET) < 0 || lseek(out, at, SEEK_SET) < 0)
        return -errno;
    while (at < end && n > 0) {
        n = copy_file_range(in, NULL, out, NULL, MIN(CHUNK, (size_t)(end - at)), 0);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            at += n;
    }
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return -errno;
    return at >= end;
}

/* Copies a file of SIZE bytes, or more by now, with its holes: a beginning that was released stays one. */
static int copy_bytes(int in, int out, off_t size)
{
    off_t at = 0;

    while (at < size) {
        off_t data = lseek(in, at, SEEK_DATA), hole;
        int r;

        if (data < 0 && errno == ENXIO) {
            if (ftruncate(out, size) < 0)
                return -errno;
            break;
        }
        if (data < 0) /* the file system does not say */
            data = at;
        hole = lseek(in, data, SEEK_HOLE);
        if (hole < 0 || hole > size)
            hole = size;
        r = copy_in_kernel(in, out, data, hole);
        if (r < 0)
            return r;
        if (r == 0)
            return read_and_write(in, out);
        at = hole;
    }
    if (lseek(in, size, SEEK_SET) < 0 || lseek(out, size, SEEK_SET) < 0)
        return -errno;
    return read_and_write(in, out);
}

int copy_file(const char *from, const char *to, const struct copy_options *options,
              struct error *error)
{
    _cleanup_(closep) int in = -1;
    _cleanup_(closep) int out = -1;
    struct stat st;
    int r;

    /* Non-blocking: opening must not wait, whatever FROM is. */
    in = open(from, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (options->follow ? 0 : O_NOFOLLOW));
    if (in < 0 || fstat(in, &st) < 0)
        return fail(error, from, "cannot open it");
    if (!S_ISREG(st.st_mode))
        return error_set(error, -EINVAL, from, "is not a regular file, and cannot be copied");
    if (options->link &&
        linkat(AT_FDCWD, from, AT_FDCWD, to, options->follow ? AT_SYMLINK_FOLLOW : 0) == 0)
        return 0;
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (out < 0)
        return fail(error, to, "cannot make the file");
    r = copy_bytes(in, out, st.st_size);
    if (r < 0)
        return error_set(error, r, to, "cannot copy %.200s: %s", from, strerror(-r));
    return 0;
}

/* The current paths of the walk, which grow and shrink. */
struct walk {
    const struct copy_options *options;
    struct error *error;
    char from[4096], to[4096];
    size_t from_len, to_len, top_len; /* top_len: length of the directory that was passed in */
};

static int make_dir(const char *path, struct error *error)
{
    return mkdir(path, 0777) < 0 && errno != EEXIST ? fail(error, path, "cannot make the directory")
                                                    : 0;
}

/* Creates the directories above the file at walk->to, below the top one. */
static int make_dirs(struct walk *walk, size_t top)
{
    int r = 0;

    for (char *slash = strchr(walk->to + top, '/'); slash && r >= 0;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        r = make_dir(walk->to, walk->error);
        *slash = '/';
    }
    return r;
}

static int copy_entry(struct walk *walk, size_t to_top)
{
    const char *path = walk->from + walk->top_len + 1;
    int r;

    if (walk->options->takes && !walk->options->takes(path, strlen(path)))
        return 0;
    r = make_dirs(walk, to_top + 1);
    return r < 0 ? r : copy_file(walk->from, walk->to, walk->options, walk->error);
}

/* Appends "/NAME" to both paths. False: too long. */
static bool enter(struct walk *walk, const char *name)
{
    size_t room_from = sizeof walk->from - walk->from_len;
    size_t room_to = sizeof walk->to - walk->to_len;
    int in_from = snprintf(walk->from + walk->from_len, room_from, "/%s", name);
    int in_to = snprintf(walk->to + walk->to_len, room_to, "/%s", name);

    if (in_from < 0 || (size_t)in_from >= room_from || in_to < 0 || (size_t)in_to >= room_to)
        return false;
    walk->from_len += (size_t)in_from;
    walk->to_len += (size_t)in_to;
    return true;
}

static int copy_level(struct walk *walk, unsigned depth, size_t to_top);

static int copy_one(struct walk *walk, const char *name, unsigned depth, size_t to_top)
{
    size_t from_len = walk->from_len, to_len = walk->to_len;
    struct stat st;
    int r = 0;

    if (!enter(walk, name))
        return error_set(walk->error, -ENAMETOOLONG, walk->from, "the path is too long");
    if ((walk->options->follow ? stat : lstat)(walk->from, &st) < 0)
        r = errno == ENOENT ? 0 : fail(walk->error, walk->from, "cannot look at it");
    else if (S_ISDIR(st.st_mode) && depth < COPY_DEPTH_MAX)
        r = copy_level(walk, depth + 1, to_top);
    else if (S_ISREG(st.st_mode))
        r = copy_entry(walk, to_top);
    walk->from_len = from_len;
    walk->to_len = to_len;
    walk->from[from_len] = walk->to[to_len] = '\0';
    return r;
}

static int copy_level(struct walk *walk, unsigned depth, size_t to_top)
{
    _cleanup_(closedirp) DIR *dir = opendir(walk->from);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return fail(walk->error, walk->from, "cannot open the directory");
    while (r >= 0 && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = copy_one(walk, entry->d_name, depth, to_top);
    return r;
}

int copy_dir(const char *from, const char *to, const struct copy_options *options,
             struct error *error)
{
    struct walk walk = {.options = options, .error = error};
    int from_len = snprintf(walk.from, sizeof walk.from, "%s", from);
    int to_len = snprintf(walk.to, sizeof walk.to, "%s", to);
    int r;

    if (from_len < 0 || (size_t)from_len >= sizeof walk.from || to_len < 0 ||
        (size_t)to_len >= sizeof walk.to)
        return error_set(error, -ENAMETOOLONG, from, "the path is too long");
    walk.from_len = walk.top_len = (size_t)from_len;
    walk.to_len = (size_t)to_len;
    r = make_dir(to, error);
    return r < 0 ? r : copy_level(&walk, 0, walk.to_len);
}
