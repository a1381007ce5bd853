/* SPDX-License-Identifier: MIT */
#include "trace/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"

/* Bytes at the beginning and at the end of a file. */
#define SAMPLE_SIZE ((size_t)64 * 1024)
#define FILES_MAX 65536u
#define DEPTH_MAX 8u

struct walk {
    struct sha256 sha;
    unsigned n_files;
    char sample[SAMPLE_SIZE];
};

static void put_number(struct sha256 *sha, uint64_t n)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(n >> (8 * i));
    sha256_put(sha, bytes, sizeof bytes);
}

static int put_sample(struct walk *walk, int fd, off_t from)
{
    size_t done = 0;

    while (done < SAMPLE_SIZE) {
        ssize_t n = pread(fd, walk->sample + done, SAMPLE_SIZE - done, from + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    sha256_put(&walk->sha, walk->sample, done);
    return 0;
}

static int put_file(struct walk *walk, int fd, off_t size)
{
    int r;

    put_number(&walk->sha, (uint64_t)size);
    r = put_sample(walk, fd, 0);
    if (r == 0 && size > (off_t)SAMPLE_SIZE)
        r = put_sample(walk, fd, MAX(size - (off_t)SAMPLE_SIZE, (off_t)SAMPLE_SIZE));
    return r;
}

static int put_any(struct walk *walk, int fd, unsigned depth);

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* Lists the names in directory FD, sorted. */
static int list_names(int fd, char ***ret_names, unsigned *ret_n)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(fd, ".");
    const struct dirent *entry;
    char **names = NULL;
    unsigned n = 0;

    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        char **bigger;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bigger = n < FILES_MAX ? realloc(names, (n + 1) * sizeof *names) : NULL;
        if (bigger) {
            names = bigger;
            names[n] = strdup(entry->d_name);
        }
        if (!bigger || !names[n]) {
            free_names(names, n);
            return n < FILES_MAX ? -ENOMEM : -EFBIG;
        }
        n++;
    }
    if (n > 0)
        qsort(names, n, sizeof *names, compare_names);
    *ret_names = names;
    *ret_n = n;
    return 0;
}

static int put_directory(struct walk *walk, int fd, unsigned depth)
{
    char **names = NULL;
    unsigned n = 0;
    int r = list_names(fd, &names, &n);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < n && r == 0; i++) {
        _cleanup_(closep) int sub =
            openat(fd, names[i], O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

        sha256_put(&walk->sha, names[i], strlen(names[i]) + 1);
        /* A link, or a socket: its name is all there is. */
        if (sub >= 0)
            r = put_any(walk, sub, depth + 1);
        else if (errno != ELOOP && errno != ENXIO)
            r = -errno;
    }
    free_names(names, n);
    return r;
}

static int put_any(struct walk *walk, int fd, unsigned depth)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (++walk->n_files > FILES_MAX || depth > DEPTH_MAX)
        return -EFBIG;
    if (S_ISREG(st.st_mode))
        return put_file(walk, fd, st.st_size);
    return S_ISDIR(st.st_mode) ? put_directory(walk, fd, depth) : 0;
}

int trace_identity(const char *const *paths, unsigned n, char ret_identity[TRACE_IDENTITY_SIZE],
                   struct error *error)
{
    _cleanup_free_ struct walk *walk = malloc(sizeof *walk);
    uint8_t digest[SHA256_SIZE];
    struct stat st;

    if (!walk)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    sha256_init(&walk->sha);
    walk->n_files = 0;
    for (unsigned i = 0; i < n; i++) {
        _cleanup_(closep) int fd = -1;
        int r;

        if (strcmp(paths[i], "-") == 0)
            return error_set(error, -ESPIPE, NULL,
                             "standard input can be read once only; give a file or a directory");
        fd = open(paths[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        r = fd < 0 ? -errno : 0;
        if (r == 0 && (fstat(fd, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
            return error_set(error, -ESPIPE, paths[i],
                             "can be read once only; give a file or a directory");
        if (r == 0)
            r = put_any(walk, fd, 0);
        if (r < 0)
            return error_set(error, r, paths[i], "cannot read it: %s", error_text(r));
    }
    sha256_end(&walk->sha, digest);
    for (unsigned i = 0; i < (TRACE_IDENTITY_SIZE - 1) / 2; i++)
        snprintf(ret_identity + (size_t)2 * i, 3, "%02x", digest[i]);
    return 0;
}
