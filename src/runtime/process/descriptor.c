/* SPDX-License-Identifier: MIT */
#include "runtime/process/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/format.h"
#include "runtime/macro.h"

/* Descriptors below this are left to the program if its limit is high enough. */
#define LOWEST_FD 512

static int raise_number(int fd)
{
    struct rlimit limit;
    int lowest = LOWEST_FD;
    int high;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2 * LOWEST_FD)
        lowest = (int)limit.rlim_cur / 2;
    if (fd >= lowest)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static enum descriptor_kind kind_of(int fd, mode_t mode)
{
    if (S_ISSOCK(mode))
        return DESCRIPTOR_SOCKET;
    return S_ISFIFO(mode) || (S_ISCHR(mode) && isatty(fd)) ? DESCRIPTOR_PIPE : DESCRIPTOR_PLAIN;
}

int descriptor_share(struct descriptor *ret, int fd)
{
    int saved_errno = errno;
    struct stat st;
    int r = 0;

    if (fstat(fd, &st) == 0)
        *ret = (struct descriptor){fd, st.st_dev, st.st_ino, kind_of(fd, st.st_mode), true};
    else
        r = -errno;
    errno = saved_errno;
    return r;
}

int descriptor_take(struct descriptor *ret, int fd)
{
    int r;

    fd = raise_number(fd);
    r = descriptor_share(ret, fd);
    if (r < 0)
        close(fd);
    else
        ret->shared = false;
    return r;
}

bool descriptor_is_ours(const struct descriptor *descriptor)
{
    struct stat st;

    return descriptor->fd >= 0 && fstat(descriptor->fd, &st) == 0 &&
           st.st_dev == descriptor->device && st.st_ino == descriptor->inode;
}

void descriptor_close(struct descriptor *descriptor)
{
    if (descriptor_is_ours(descriptor))
        close(descriptor->fd);
    descriptor->fd = -1;
}

/* ---- Writing ---- */

/* Not by writev(): a program built with ThreadSanitizer has that intercepted, and what a thread has stored
 * in its ring is handed over to us by code that the sanitizer has not seen. */
static ssize_t write_plain(int fd, const struct iovec *pieces, unsigned n)
{
    return syscall(SYS_writev, fd, pieces, n);
}

/* A write to a pipe without a reader raises SIGPIPE in the calling thread. There is no flag against it, so
 * the signal is blocked, and taken back if it was not already pending. */
static ssize_t write_pipe(int fd, const struct iovec *pieces, unsigned n)
{
    static const struct timespec no_time;
    bool was_pending = false;
    sigset_t pipe, before;
    ssize_t written;
    int error;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    if (sigismember(&before, SIGPIPE)) {
        sigset_t pending;

        was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
    }
    written = write_plain(fd, pieces, n);
    error = errno;
    if (written < 0 && error == EPIPE && !was_pending)
        while (sigtimedwait(&pipe, NULL, &no_time) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* The first bytes of PIECES that a pipe with room takes as a whole. */
static struct iovec first_piece(const struct iovec *pieces)
{
    return (struct iovec){pieces->iov_base, MIN(pieces->iov_len, (size_t)4096 /* PIPE_BUF */)};
}

/* O_NONBLOCK is a property of the open file description, which the program and its relatives share. So
 * the pipe is opened once more, and closed again at once: its reader waits until all have closed it. */
static ssize_t write_shared_pipe(const struct descriptor *descriptor, const struct iovec *pieces,
                                 unsigned n)
{
    char path[48];
    struct line line = {path, path + sizeof(path) - 1, false};
    struct descriptor again = *descriptor;
    ssize_t written;

    line_put(&line, "/proc/self/fd/", strlen("/proc/self/fd/"));
    line_put_decimal(&line, (uint64_t)descriptor->fd);
    *line.at = '\0';
    again.fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (again.fd >= 0) {
        int error;

        errno = EBADF;
        written = descriptor_is_ours(&again) ? write_pipe(again.fd, pieces, n) : -1;
        error = errno;
        close(again.fd);
        errno = error;
    } else if (errno == ENXIO) { /* no reader */
        written = -1;
        errno = EPIPE;
    } else {
        /* No /proc, or the pipe is of another user, whom the program was before. When there is room a
         * piece of this size does not wait, unless another process is faster. */
        struct iovec first = first_piece(pieces);
        struct pollfd poll_fd = {.fd = descriptor->fd, .events = POLLOUT};

        if (poll(&poll_fd, 1, 0) > 0)
            return write_pipe(descriptor->fd, &first, 1);
        written = -1;
        errno = EAGAIN;
    }
    return written;
}

static ssize_t write_socket(int fd, const struct iovec *pieces, unsigned n)
{
    const struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = n};

    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t descriptor_write(const struct descriptor *descriptor, const struct iovec *pieces,
                         unsigned n)
{
    int saved_errno = errno;
    ssize_t written;

    do {
        switch (descriptor->kind) {
        case DESCRIPTOR_PIPE:
            written = descriptor->shared ? write_shared_pipe(descriptor, pieces, n)
                                         : write_pipe(descriptor->fd, pieces, n);
            break;
        case DESCRIPTOR_SOCKET: written = write_socket(descriptor->fd, pieces, n); break;
        default: written = write_plain(descriptor->fd, pieces, n); break;
        }
    } while (written < 0 && errno == EINTR);
    if (written < 0)
        written = -errno;
    errno = saved_errno;
    return written;
}

void descriptor_wait(const struct descriptor *descriptor, unsigned ms)
{
    struct pollfd poll_fd = {.fd = descriptor->fd, .events = POLLOUT};

    (void)poll(&poll_fd, 1, (int)ms);
}
