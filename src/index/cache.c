/* SPDX-License-Identifier: MIT */
#include "index/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/fd.h"
#include "index/cache_internal.h"
#include "index/format.h"
#include "index/index.h"

/* ---- the key ---- */

static int make_key(const struct index_cache_request *request, bool with_inode_time,
                    char ret_key[KEY_SIZE], struct error *error)
{
    const uint32_t format[] = {INDEX_VERSION, INDEX_ORDER};
    struct sha256 sha;

    sha256_init(&sha);
    sha256_put(&sha, format, sizeof format);
    cache_key_put_text(&sha, STRATA_VERSION);
    cache_key_put_text(&sha, request->settings ? request->settings : "");
    for (unsigned i = 0; i < request->n_paths; i++) {
        int r = cache_key_put_path(&sha, request->paths[i], with_inode_time, error);

        if (r < 0)
            return r;
    }
    cache_key_end(&sha, ret_key);
    return 0;
}

int index_cache_key(const struct index_cache_request *request, char ret_key[KEY_SIZE],
                    struct error *error)
{
    return make_key(request, true, ret_key, error);
}

int index_cache_data_key(const struct index_cache_request *request, char ret_key[KEY_SIZE],
                         struct error *error)
{
    return make_key(request, false, ret_key, error);
}

/* ---- one index ---- */

static int errno_of(struct error *error, const char *path)
{
    int r = -errno;

    return error_set(error, r, path, "%s", error_text(r));
}

struct place {
    const struct index_cache_request *request;
    int directory;
    char key[KEY_SIZE];
    char index[NAME_SIZE], lock[NAME_SIZE], unnamed[NAME_SIZE]; /* names in the directory */
    char path[PATH_MAX];                                        /* for messages */
};

/* -ENOENT if there is none. Sets the file's time to now, which cache_clean() takes as its last use. */
static int open_index(const struct place *place, struct index **ret_index, struct error *error)
{
    _cleanup_(closep) int fd =
        openat(place->directory, place->index, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? -ENOENT : errno_of(error, place->path);
    (void)futimens(fd, NULL);
    return index_open_fd(fd, place->path, ret_index, error);
}

/* Gives the index in FD its name, unless the trace has changed since the build began. */
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

/* Call with the lock, so that no other process uses the unnamed file. An existing one was left by a crash. */
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
    place.directory = cache_dir_open(request->directory, "index", true, error);
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
    int directory = cache_dir_open(request->directory, "index", true, error);
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
