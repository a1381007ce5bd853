/* SPDX-License-Identifier: MIT */
#include "agent/raw_port.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ports.h"
#include "agent/splice.h"
#include "base/clock_ns.h"

/* Bytes per write: a virtio-serial port accepts 32 KiB at a time, so larger writes gain nothing. */
#define SEND_MAX ((size_t)64 * 1024)
#define PARK_MS 100

static int reopen(struct raw_port *raw_port)
{
    char path[512];
    struct stat st;
    int fd;
    int r = port_find(raw_port->dir, raw_port->name, path, sizeof path);

    if (r >= 0)
        r = port_open(path, &fd);
    if (r < 0)
        return r;
    raw_port->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    raw_port->fd = fd;
    raw_port->is_full = false;
    raw_port->can_splice = splice_supported(fd);
    return 0;
}

int raw_port_open_port(struct raw_port *raw_port, const char *directory, const char *name)
{
    *raw_port = (struct raw_port){.lock = PTHREAD_MUTEX_INITIALIZER, .dir = directory, .fd = -1};
    snprintf(raw_port->name, sizeof raw_port->name, "%s", name);
    return reopen(raw_port);
}

int raw_port_open_stdout(struct raw_port *raw_port)
{
    struct stat st;
    int fd;

    *raw_port = (struct raw_port){
        .lock = PTHREAD_MUTEX_INITIALIZER, .name = "standard output", .fd = -1, .is_stdout = true};
    if (fstat(STDOUT_FILENO, &st) < 0)
        return -errno;
    raw_port->is_socket = S_ISSOCK(st.st_mode);
    /* O_NONBLOCK would also affect the other users of a shared open file; a FIFO can be reopened for
     * ourselves. */
    if (S_ISFIFO(st.st_mode)) {
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0) {
            raw_port->fd = fd;
            return 0;
        }
    }
    raw_port->may_block = !raw_port->is_socket && !S_ISREG(st.st_mode);
    fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return -errno;
    raw_port->fd = fd;
    return 0;
}

void raw_port_done(struct raw_port *raw_port)
{
    if (raw_port->fd >= 0)
        close(raw_port->fd);
    raw_port->fd = -1;
}

/* The host's end is closed, or the port is gone: tries again later. */
static void park(struct raw_port *raw_port, int error, const struct agent_log *log, int64_t now)
{
    raw_port->parked_until = now + PARK_MS;
    raw_port->is_full = false;
    if (raw_port->is_stdout) {
        raw_port->dead = error ? error : -EPIPE; /* no process can open its other end again */
        return;
    }
    raw_port->offset = 0;
    if (error && !raw_port->error_reported) {
        agent_log(log, "%s: %s; trying again", raw_port->name, strerror(-error));
        raw_port->error_reported = true;
    }
    /* A virtio-serial port without a reader stays open; anything else must be opened again. */
    if (error || raw_port->is_socket) {
        if (raw_port->fd >= 0)
            close(raw_port->fd);
        raw_port->fd = -1;
    }
}

int raw_port_send(struct raw_port *raw_port, struct reader *reader, const struct agent_log *log,
                  int64_t now)
{
    size_t page_size = reader->queue.page_size;
    uint8_t *p;
    size_t n_pages, len, moved;
    ssize_t n;
    int r;

    if (raw_port->parked_until > now || raw_port->is_full)
        return 0;
    if (raw_port->fd < 0) {
        r = reopen(raw_port);
        if (r < 0) {
            park(raw_port, r == -ECONNREFUSED || r == -ENOENT ? 0 : r, log, now);
            return 0;
        }
    }
    raw_port->current = reader;
    n_pages = queue_look(&reader->queue, &p);
    if (n_pages == 0)
        return 0;
    len = MIN(n_pages * page_size, MAX(SEND_MAX / page_size * page_size, page_size)) -
          raw_port->offset;
    if (raw_port->may_block) {
        struct pollfd fd = {.fd = raw_port->fd, .events = POLLOUT};

        if (poll(&fd, 1, 0) <= 0) {
            raw_port->is_full = true;
            return 0;
        }
        len = MIN(len, (size_t)PIPE_BUF);
    }
    do
        n = raw_port->is_socket
                ? send(raw_port->fd, p + raw_port->offset, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                : write(raw_port->fd, p + raw_port->offset, len);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        raw_port->is_full = true;
        return 0;
    }
    if (n < 0) {
        park(raw_port, raw_port->is_socket && (errno == EPIPE || errno == ECONNRESET) ? 0 : -errno,
             log, now);
        return 0;
    }
    raw_port->error_reported = false;
    moved = raw_port->offset + (size_t)n;
    raw_port->offset = moved % page_size;
    if (moved >= page_size) {
        queue_take(&reader->queue, moved / page_size);
        raw_port->pages_sent += moved / page_size;
        reader_has_room(reader);
    }
    return 1;
}

bool raw_port_splice(struct raw_port *raw_port, struct reader *reader, unsigned n_pages,
                     int64_t now)
{
    size_t page_size = reader->queue.page_size, size = n_pages * page_size, sent;
    uint8_t *pages;
    uint64_t time = 0;
    int r;

    if (!raw_port->can_splice || raw_port->fd < 0 || raw_port->parked_until > now ||
        raw_port->is_full || raw_port->offset > 0 || queue_held(&reader->queue) > 0)
        return false;
    r = splice_out(reader->pipe[0], raw_port->fd, size, &sent);
    if (r == 1) {
        queue_skip(&reader->queue, n_pages);
        raw_port->pages_sent += n_pages;
        return true;
    }
    raw_port->is_full = r == 0;
    if (sent == 0 && r != -ENOBUFS)
        return false; /* the next write reports the error */
    pages = queue_free_pages(&reader->queue, n_pages);
    if (!pages)
        return false;
    if (r == -ENOBUFS) {
        raw_port->can_splice = false;
        (void)reader_clock(reader->buffer->dir, reader->cpu, &time);
        splice_fill_lost(&reader->buffer->page, pages, n_pages, time);
    } else if (splice_read(reader->pipe[0], pages + sent, size - sent) < 0) {
        return false;
    }
    for (unsigned i = 0; i < n_pages; i++)
        queue_put(&reader->queue);
    queue_take(&reader->queue, sent / page_size);
    raw_port->pages_sent += sent / page_size;
    raw_port->current = reader;
    raw_port->offset = sent % page_size;
    return true;
}

void raw_port_polled(struct raw_port *raw_port, short revents, const struct agent_log *log,
                     int64_t now)
{
    if (revents & (POLLHUP | POLLERR | POLLNVAL))
        park(raw_port, 0, log, now);
    else if (revents & POLLOUT)
        raw_port->is_full = false;
}
