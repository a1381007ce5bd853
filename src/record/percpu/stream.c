/* SPDX-License-Identifier: MIT */
#include "record/percpu/stream.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"

/* A pipe that can be written at all takes as much without making the writer wait. */
#define PIPE_PIECE 4096

int stream_init(struct stream *ret, int fd, const char *path, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_set(error, -errno, path, "cannot be written: %s", strerror(errno));
    *ret = (struct stream){.fd = fd, .regular = S_ISREG(st.st_mode), .until = UINT64_MAX};
    snprintf(ret->path, sizeof ret->path, "%s", path);
    return 0;
}

void stream_hurry(struct stream *output)
{
    output->until = MIN(output->until, clock_ns(CLOCK_MONOTONIC));
}

static int failed(const struct stream *output, int err, struct error *error)
{
    if (err == -ENOSPC || err == -EDQUOT)
        return error_set(error, err, output->path,
                         "the disk is full; the file ends with a whole window");
    if (err == -EPIPE)
        return error_set(error, err, output->path, "the reader of the records has ended");
    if (err == -ETIMEDOUT)
        return error_set(error, err, output->path,
                         "the reader of the records is too slow; the last ones are lost");
    return error_set(error, err, output->path, "cannot be written: %s", strerror(-err));
}

/* Until a pipe can be written, or the end has come and its reader had its time. */
static int wait_writable(struct stream *output)
{
    uint64_t began = clock_ns(CLOCK_MONOTONIC);
    struct stop_signals *signals = output->signals;

    for (;;) {
        struct pollfd fds[] = {{output->fd, POLLOUT, 0}, {signals ? signals->fd : -1, POLLIN, 0}};
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        uint64_t until = output->until > UINT64_MAX - STREAM_TIMEOUT_NS
                             ? UINT64_MAX
                             : MAX(output->until, began) + STREAM_TIMEOUT_NS;
        bool is_stopped = signals && stop_signals_pending(signals);
        uint64_t ns = !is_stopped && until > now ? until - now : 0;
        struct timespec time = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
        int r =
            ppoll(fds, ARRAY_SIZE(fds), !is_stopped && until == UINT64_MAX ? NULL : &time, NULL);

        if (r < 0 && errno != EINTR)
            return -errno;
        if (r > 0 && fds[0].revents)
            return 0;
        if (is_stopped) {
            stream_hurry(output);
            signals = NULL;
        }
        if (r == 0 && clock_ns(CLOCK_MONOTONIC) >= until)
            return -ETIMEDOUT;
    }
}

static int write_pipe(struct stream *output, const struct iovec *parts, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const char *p = parts[i].iov_base;
        size_t left = parts[i].iov_len;

        while (left > 0) {
            int r = wait_writable(output);
            ssize_t written;

            if (r < 0)
                return r;
            written = write(output->fd, p, MIN(left, (size_t)PIPE_PIECE));
            if (written < 0 && (errno == EINTR || errno == EAGAIN))
                continue;
            if (written < 0)
                return -errno;
            p += written;
            left -= (size_t)written;
        }
    }
    return 0;
}

static int write_file(int fd, struct iovec *parts, unsigned n)
{
    while (n > 0) {
        ssize_t written = writev(fd, parts, (int)n);
        size_t left;

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        left = (size_t)written;
        while (n > 0 && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++;
            n--;
        }
        if (n > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return 0;
}

/* Takes away what of a piece was written before it failed. */
static void take_back(const struct stream *output, off_t start)
{
    if (start >= 0 && ftruncate(output->fd, start) == 0)
        (void)lseek(output->fd, start, SEEK_SET);
}

int stream_write(struct stream *output, struct iovec *parts, unsigned n, struct error *error)
{
    uint64_t size = 0;
    off_t start = -1;
    int r;

    for (unsigned i = 0; i < n; i++)
        size += parts[i].iov_len;
    if (output->max && output->written + size > output->max)
        return STREAM_MAX;
    if (output->reserve && output->regular) {
        struct statvfs st;
        uint64_t room;

        if (fstatvfs(output->fd, &st) < 0)
            return failed(output, -errno, error);
        room = (uint64_t)st.f_bavail * st.f_frsize;
        if (room < size || room - size < output->reserve)
            return STREAM_RESERVE;
    }
    if (output->regular) {
        start = lseek(output->fd, 0, SEEK_CUR);
        r = write_file(output->fd, parts, n);
        if (r < 0)
            take_back(output, start);
    } else {
        r = write_pipe(output, parts, n);
    }
    if (r < 0)
        return failed(output, r, error);
    output->written += size;
    return STREAM_WRITTEN;
}
