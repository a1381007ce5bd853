/* SPDX-License-Identifier: MIT */
#include "base/spool.h"
#include "base/fd.h"
#include "base/unnamed_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int temporary_file(const char *dir, const char **ret_dir)
{
    int fd;

    if (dir) {
        *ret_dir = dir;
        return unnamed_file_open(AT_FDCWD, dir);
    }
    *ret_dir = "/var/tmp";
    fd = unnamed_file_open(AT_FDCWD, "/var/tmp");
    if (fd < 0) {
        *ret_dir = "/tmp";
        fd = unnamed_file_open(AT_FDCWD, "/tmp");
    }
    return fd;
}

int spool(struct input *in, const char *dir, struct error *error)
{
    const char *directory;
    uint64_t size = 0;
    int fd;
    int r;

    if (in->seekable)
        return 0;
    if (in->offset != 0)
        return error_at(error, -ESPIPE, in->path, in->offset, "a pipe cannot be read backwards");

    fd = temporary_file(dir, &directory);
    if (fd < 0)
        return error_set(error, fd, directory, "cannot make a temporary file: %s", strerror(-fd));
    in->next = 0;
    for (;;) {
        r = write_all(fd, input_at(in), input_buffered(in));
        if (r < 0) {
            error_set(
                error, r, directory,
                "cannot buffer the input from the pipe: %s (set TMPDIR to use another directory)",
                strerror(-r));
            break;
        }
        size += input_buffered(in);
        input_skip(in, input_buffered(in));
        r = input_refill(in, error);
        if (r <= 0)
            break;
    }
    if (r < 0) {
        close(fd);
        return r;
    }

    if (in->owns_fd)
        close(in->fd);
    in->fd = fd;
    in->owns_fd = true;
    in->seekable = true;
    in->ended = false;
    in->offset = 0;
    in->next = in->filled = 0;
    in->size = size;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set(error, -errno, directory, "cannot read it back: %s", strerror(errno));
    return 0;
}
