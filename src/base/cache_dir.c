/* SPDX-License-Identifier: MIT */
#include "base/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define DEPTH_MAX 16 /* of directories in a trace directory */

/* ---- The directory ---- */

/* PATH, or of what does not exist yet the directory around it, is this user's, or root's: as root with the environment of
 * another user ("sudo -E"), what is made there would be in that user's way, and links there would lead anywhere. */
static bool is_own(const char *path, bool must_exist)
{
    _cleanup_free_ char *copy = strdup(path);
    struct stat st;
    char *slash;

    while (copy && *copy) {
        if (stat(copy, &st) == 0)
            return st.st_uid == geteuid() || (!must_exist && st.st_uid == 0);
        slash = strrchr(copy, '/');
        if (must_exist || errno != ENOENT || !slash)
            return false;
        *slash = '\0';
    }
    return copy && !must_exist;
}

void cache_dir_put_path(struct text *text)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (cache && *cache == '/') {
        if (is_own(cache, false))
            text_printf(text, "%s/strata", cache);
    } else if (home && *home == '/' && is_own(home, true)) {
        text_printf(text, "%s/.cache/strata", home);
    }
    text_put_char(text, '\0');
}

static int errno_of(struct error *error, const char *path)
{
    int r = -errno;

    return error_set(error, r, path, "%s", error_text(r));
}

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

int cache_dir_open(const char *directory, const char *name, bool make, struct error *error)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;
    int fd;
    int r;

    if (asprintf(&path, "%s/%s", directory, name) < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, directory, "out of memory");
    }
    r = !*directory ? -ENOENT : make ? make_directories(path) : 0;
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

/* ---- Keys ---- */

void cache_key_put_text(struct sha256 *sha, const char *text)
{
    sha256_put(sha, text, strlen(text) + 1);
}

static void put_file(struct sha256 *sha, const struct stat *st, bool with_inode_time)
{
    const uint64_t facts[] = {(uint64_t)st->st_size,
                              (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec,
                              with_inode_time ? (uint64_t)st->st_ctim.tv_sec : 0,
                              with_inode_time ? (uint64_t)st->st_ctim.tv_nsec : 0,
                              (uint64_t)st->st_ino,
                              (uint64_t)st->st_dev};

    sha256_put(sha, facts, sizeof facts);
}

/* All that is in the directory FD, in the order of names. DEPTH bounds the recursion. */
// NOLINTNEXTLINE(misc-no-recursion)
static int put_directory(struct sha256 *sha, int fd, bool with_inode_time, unsigned depth)
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
        cache_key_put_text(sha, name);
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            r = -errno;
        else if (!S_ISDIR(st.st_mode))
            put_file(sha, &st, with_inode_time);
        if (r == 0 && S_ISDIR(st.st_mode)) {
            _cleanup_(closep) int inner =
                openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

            r = inner < 0    ? -errno
                : depth == 0 ? -ELOOP
                             : put_directory(sha, inner, with_inode_time, depth - 1);
            cache_key_put_text(sha, "/");
        }
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return r;
}

int cache_key_put_path(struct sha256 *sha, const char *path, bool with_inode_time,
                       struct error *error)
{
    _cleanup_(closep) int fd = -1;
    _cleanup_free_ char *real = realpath(path, NULL);
    struct stat st;
    int r;

    if (!real || stat(real, &st) < 0)
        return errno_of(error, path);
    cache_key_put_text(sha, real);
    if (S_ISREG(st.st_mode)) {
        put_file(sha, &st, with_inode_time);
        return 0;
    }
    if (!S_ISDIR(st.st_mode))
        return error_set(error, -EINVAL, path,
                         "not a file or a directory; save the trace in a file first");
    fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = fd < 0 ? -errno : put_directory(sha, fd, with_inode_time, DEPTH_MAX);
    return r < 0 ? error_set(error, r, path, "%s", error_text(r)) : 0;
}

void cache_key_end(struct sha256 *sha, char ret_key[CACHE_KEY_SIZE])
{
    uint8_t digest[SHA256_SIZE];

    sha256_end(sha, digest);
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        snprintf(ret_key + (size_t)2 * i, 3, "%02x", digest[i]);
}
