/* SPDX-License-Identifier: MIT */
#include "runtime/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/counts.h"
#include "runtime/format.h"
#include "runtime/macro.h"
#include "runtime/pieces.h"

#define PIECES_MAX 64

char *output_path(const char *path)
{
    char text[PATH_MAX];
    struct line line = {text, text + sizeof(text) - 1, false};

    if (*path != '/') {
        char folder[PATH_MAX];

        if (getcwd(folder, sizeof(folder))) {
            line_put(&line, folder, strlen(folder));
            line_put(&line, "/", 1);
        }
    }
    for (; *path; path++) {
        if (path[0] == '%' && path[1] == 'p') {
            line_put_decimal(&line, (uint64_t)getpid());
            path++;
        } else {
            line_put(&line, path, 1);
        }
    }
    *line.at = '\0';
    return strdup(text);
}

int output_open(struct output *output, const char *path, enum output_mode mode)
{
    struct stat st;
    int fd;
    int r;

    if (output->fd >= 0)
        return -EBUSY;
    /* Not O_NONBLOCK for writing: a pipe that nobody reads yet is waited for by the writer thread, and
     * the program does not notice. */
    fd = open(path,
              O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (mode == OUTPUT_NEW ? O_TRUNC : O_APPEND),
              0666);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    if (!output->path || strcmp(output->path, path) != 0) {
        char *copy = strdup(path);

        if (!copy) {
            close(fd);
            return -ENOMEM;
        }
        free(output->path);
        output->path = copy;
    }
    output->fd = fd;
    output->device = st.st_dev;
    output->inode = st.st_ino;
    output->regular = S_ISREG(st.st_mode);
    output->appending = mode == OUTPUT_APPEND;
    output->length = 0;
    return 0;
}

/* A program that becomes a daemon closes all files, and opens others, which then have our numbers:
 * those must not get our bytes. */
static bool still_ours(const struct output *output)
{
    struct stat st;

    return fstat(output->fd, &st) == 0 && st.st_dev == output->device && st.st_ino == output->inode;
}

/* Opens the same file again, where we were in it. */
static int come_back(struct output *output)
{
    int fd =
        open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (output->appending ? O_APPEND : 0));

    output->fd = -1;
    if (fd < 0)
        return -errno;
    output->fd = fd;
    if (!still_ours(output) ||
        (output->regular && !output->appending &&
         lseek(fd, (off_t)output->length, SEEK_SET) != (off_t)output->length)) {
        close(fd);
        output->fd = -1;
        return -EBADF;
    }
    return 0;
}

/* Writes PIECES, which it changes. Returns how many bytes were written; *ret_error 0 or why not all. */
static size_t write_pieces(int fd, struct iovec *pieces, unsigned n, int *ret_error)
{
    size_t written = 0;

    *ret_error = 0;
    while (n) {
        ssize_t some = writev(fd, pieces, (int)n);

        if (some < 0) {
            if (errno == EINTR)
                continue;
            *ret_error = -errno;
            break;
        }
        written += (size_t)some;
        n = pieces_skip(&pieces, n, (size_t)some);
    }
    return written;
}

int output_write(struct output *output, const struct iovec *pieces, unsigned n)
{
    struct iovec mine[PIECES_MAX];
    size_t written;
    int r;

    if (n > PIECES_MAX)
        return -EINVAL;
    if (output->fd < 0)
        return -EBADF;
    if (unlikely(!still_ours(output))) {
        r = come_back(output);
        if (r < 0)
            return r;
    }
    memcpy(mine, pieces, n * sizeof(*pieces));
    written = write_pieces(output->fd, mine, n, &r);
    if (r == 0) {
        output->length += written;
        COUNT(bytes_written, written);
        return 0;
    }
    if (written && output->regular && !output->appending) {
        /* Nothing torn stays. When even that fails, the file is of no more use. */
        if (ftruncate(output->fd, (off_t)output->length) < 0 ||
            lseek(output->fd, (off_t)output->length, SEEK_SET) < 0)
            output_done(output);
    } else if (written && !output->appending) {
        output_done(output); /* a pipe: its reader has half a record now */
    }
    return r;
}

void output_done(struct output *output)
{
    if (output->fd >= 0 && still_ours(output))
        close(output->fd);
    output->fd = -1;
    free(output->path);
    output->path = NULL;
}
