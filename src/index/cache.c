/* SPDX-License-Identifier: MIT */
#include "index/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "index/cache_internal.h"
#include "index/format.h"
#include "index/index.h"

#define LOCK_POLL_US 50000
#define DEPTH_MAX 16 /* of directories in a trace directory */

/* ---- the key ---- */

static int errno_of(struct error *error, const char *path)
{
    int r = -errno;

    return error_set(error, r, path, "%s", error_text(r));
}

static void put_text(struct sha256 *sha, const char *text)
{
    sha256_put(sha, text, strlen(text) + 1);
}

static void put_file(struct sha256 *sha, const struct stat *st)
{
    const uint64_t facts[] = {(uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ino,
                              (uint64_t)st->st_dev};

    sha256_put(sha, facts, sizeof facts);
}

/* All that is in the directory FD, in the order of names. DEPTH bounds the recursion. */
// NOLINTNEXTLINE(misc-no-recursion)
static int put_directory(struct sha256 *sha, int fd, unsigned depth)
{
    struct dirent **entries;
    int n = scandirat(fd, ".", &entries, NULL, alphasort);
    int r = 0;

    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        struct stat st;

        if (r < 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        put_text(sha, name);
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            r = -errno;
        else if (!S_ISDIR(st.st_mode))
            put_file(sha, &st);
        if (r == 0 && S_ISDIR(st.st_mode)) {
            _cleanup_(closep) int inner =
                openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

            r = inner < 0 ? -errno : depth == 0 ? -ELOOP : put_directory(sha, inner, depth - 1);
            put_text(sha, "/");
        }
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return r;
}

static int put_path(struct sha256 *sha, const char *path, struct error *error)
{
    _cleanup_(closep) int fd = -1;
    _cleanup_free_ char *real = realpath(path, NULL);
    struct stat st;
    int r;

    if (!real || stat(real, &st) < 0)
        return errno_of(error, path);
    put_text(sha, real);
    if (S_ISREG(st.st_mode)) {
        put_file(sha, &st);
        return 0;
    }
    if (!S_ISDIR(st.st_mode))
        return error_set(error, -EINVAL, path,
                         "not a file or a directory; save the trace in a file first");
    fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = fd < 0 ? -errno : put_directory(sha, fd, DEPTH_MAX);
    return r < 0 ? error_set(error, r, path, "%s", error_text(r)) : 0;
}

int index_cache_key(const struct index_cache_request *request, char ret_key[KEY_SIZE],
                    struct error *error)
{
    const uint32_t format[] = {INDEX_VERSION, INDEX_ORDER};
    uint8_t digest[SHA256_SIZE];
    struct sha256 sha;

    sha256_init(&sha);
    sha256_put(&sha, format, sizeof format);
    put_text(&sha, STRATA_VERSION);
    put_text(&sha, request->settings ? request->settings : "");
    for (unsigned i = 0; i < request->n_paths; i++) {
        int r = put_path(&sha, request->paths[i], error);

        if (r < 0)
            return r;
    }
    sha256_end(&sha, digest);
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        snprintf(ret_key + (size_t)2 * i, 3, "%02x", digest[i]);
    return 0;
}

/* ---- the directory ---- */

/* Makes PATH and those around it. */
static int make_directories(const char *path)
{
    char *copy = strdup(path);
    int r = 0;

    if (!copy)
        return -ENOMEM;
    for (char *p = copy + 1; r == 0; p++) {
        char c = *p;

        if (c && c != '/')
            continue;
        *p = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            r = -errno;
        *p = c;
        if (!c)
            break;
    }
    free(copy);
    return r;
}

/* A descriptor of the directory of indexes, to which no other user can write. */
static int open_directory(const char *directory, struct error *error)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;
    int fd;
    int r;

    if (asprintf(&path, "%s/index", directory) < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, directory, "out of memory");
    }
    r = *directory ? make_directories(path) : -ENOENT;
    if (r < 0)
        return error_set(error, r, path, "%s", error_text(r));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno_of(error, path);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
        return fd;
    close(fd);
    return error_set(error, -EPERM, path,
                     "other users can write here; remove it, or set XDG_CACHE_HOME");
}

/* ---- one index ---- */

struct place {
    const struct index_cache_request *request;
    int directory;
    char key[KEY_SIZE];
    char index[NAME_SIZE], lock[NAME_SIZE], unnamed[NAME_SIZE]; /* names in the directory */
    char path[PATH_MAX];                                        /* for messages */
};

/* -ENOENT: there is none. The time of the file is that of its last use, for cache_clean(). */
static int open_index(const struct place *place, struct index **ret_index, struct error *error)
{
    _cleanup_(closep) int fd =
        openat(place->directory, place->index, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? -ENOENT : errno_of(error, place->path);
    (void)futimens(fd, NULL);
    return index_open_fd(fd, place->path, ret_index, error);
}

/* Without WAIT, -EWOULDBLOCK where another process has the lock; with it, -ECANCELED once STOPS becomes true. */
static int lock_file(int fd, bool wait, const atomic_bool *stops)
{
    for (;;) {
        if (flock(fd, wait && !stops ? LOCK_EX : LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno == EINTR)
            continue;
        if (!wait || !stops || errno != EWOULDBLOCK)
            return -errno;
        if (atomic_load(stops))
            return -ECANCELED;
        (void)usleep(LOCK_POLL_US);
    }
}

/* The file of the lock is removed by its owner, so that it may have gone, or been made again, by the time at which it is
 * locked. */
int cache_lock(int directory, const char *name, bool wait, const atomic_bool *stops)
{
    for (;;) {
        int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (wait ? O_CREAT : 0);
        int fd = openat(directory, name, flags, 0600);
        struct stat mine;
        struct stat there;
        int r;

        if (fd < 0)
            return -errno;
        r = lock_file(fd, wait, stops);
        if (r < 0) {
            close(fd);
            return r;
        }
        if (fstat(fd, &mine) == 0 && fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
            return fd;
        close(fd);
    }
}

void cache_unlock(int directory, const char *name, int fd)
{
    unlinkat(directory, name, 0);
    close(fd);
}

/* Gives the index in FD its name, unless the trace has changed since it was begun. */
static int name_index(const struct place *place, int fd, struct error *error)
{
    char key[KEY_SIZE];

    if (index_cache_key(place->request, key, NULL) < 0 || strcmp(key, place->key) != 0) {
        unlinkat(place->directory, place->unnamed, 0);
        return 0;
    }
    if (fsync(fd) < 0 ||
        renameat(place->directory, place->unnamed, place->directory, place->index) < 0 ||
        fsync(place->directory) < 0)
        return errno_of(error, place->path);
    return 0;
}

/* With the lock held, so that the file without a name is nobody else's: one that is there was left by a crash. */
static int build_index(const struct place *place, struct index **ret_index, struct error *error)
{
    _cleanup_(closep) int fd = -1;
    int r;

    unlinkat(place->directory, place->unnamed, 0);
    fd = openat(place->directory, place->unnamed, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno_of(error, place->path);
    r = place->request->build(place->request->arg, fd, error);
    if (r >= 0)
        r = index_open_fd(fd, place->path, ret_index, error);
    if (r >= 0) {
        r = name_index(place, fd, error);
        if (r < 0)
            *ret_index = index_free(*ret_index);
    }
    if (r < 0)
        unlinkat(place->directory, place->unnamed, 0);
    return r;
}

static int open_or_build(const struct place *place, struct index **ret_index, bool *ret_built,
                         struct error *error)
{
    int lock;
    int r;

    *ret_built = false;
    /* What is damaged is built again. */
    if (open_index(place, ret_index, NULL) == 0)
        return 0;
    lock = cache_lock(place->directory, place->lock, true, place->request->stops);
    if (lock < 0)
        return error_set(error, lock, place->path, "%s", error_text(lock));
    r = open_index(place, ret_index, NULL);
    if (r < 0) {
        *ret_built = true;
        r = build_index(place, ret_index, error);
    }
    cache_unlock(place->directory, place->lock, lock);
    if (*ret_built)
        cache_clean(place->directory, place->index, place->request->max_size,
                    place->request->max_unused_s);
    return r;
}

int index_cache_open(const struct index_cache_request *request, struct index **ret_index,
                     bool *ret_built, struct error *error)
{
    struct place place = {.request = request};
    struct index *index = NULL;
    bool built;
    int r = index_cache_key(request, place.key, error);

    if (r < 0)
        return r;
    place.directory = open_directory(request->directory, error);
    if (place.directory < 0)
        return place.directory;
    snprintf(place.index, sizeof place.index, "%s" INDEX_SUFFIX, place.key);
    snprintf(place.lock, sizeof place.lock, "%s" LOCK_SUFFIX, place.key);
    snprintf(place.unnamed, sizeof place.unnamed, "%s" UNNAMED_SUFFIX, place.key);
    snprintf(place.path, sizeof place.path, "%s/index/%s", request->directory, place.index);
    r = open_or_build(&place, &index, &built, error);
    close(place.directory);
    if (r < 0)
        return r;
    *ret_index = index;
    if (ret_built)
        *ret_built = built;
    return 0;
}

int index_cache_open_unnamed(const struct index_cache_request *request, struct error *error)
{
    static const char name[] = "live.XXXXXX";
    int directory = open_directory(request->directory, error);
    _cleanup_free_ char *path = NULL;
    int fd;
    int r;

    if (directory < 0)
        return directory;
    fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    r = -errno;
    close(directory);
    if (fd >= 0)
        return fd;
    if (r != -EOPNOTSUPP && r != -EISDIR)
        return error_set(error, r, request->directory, "%s", error_text(r));
    /* The file system has no files without a name. */
    if (asprintf(&path, "%s/index/%s", request->directory, name) < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, request->directory, "out of memory");
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return errno_of(error, path);
    unlink(path);
    return fd;
}
