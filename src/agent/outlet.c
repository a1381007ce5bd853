/* SPDX-License-Identifier: MIT */
#include "agent/outlet.h"

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

/* A write of this much: a virtio-serial port takes 32 KiB at a time, and larger ones gain nothing. */
#define SEND_MAX ((size_t)64 * 1024)
#define PARK_MS 100

int64_t outlet_now(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static int reopen(struct outlet *outlet)
{
    char path[512];
    struct stat st;
    int fd;
    int r = port_find(outlet->folder, outlet->name, path, sizeof path);

    if (r >= 0)
        r = port_open(path, &fd);
    if (r < 0)
        return r;
    outlet->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    outlet->fd = fd;
    outlet->is_full = false;
    outlet->suits = splice_suits(fd);
    return 0;
}

int outlet_open_port(struct outlet *outlet, const char *folder, const char *name)
{
    *outlet = (struct outlet){.lock = PTHREAD_MUTEX_INITIALIZER, .folder = folder, .fd = -1};
    snprintf(outlet->name, sizeof outlet->name, "%s", name);
    return reopen(outlet);
}

int outlet_open_stdout(struct outlet *outlet)
{
    struct stat st;
    int fd;

    *outlet = (struct outlet){
        .lock = PTHREAD_MUTEX_INITIALIZER, .name = "standard output", .fd = -1, .is_stdout = true};
    if (fstat(STDOUT_FILENO, &st) < 0)
        return -errno;
    outlet->is_socket = S_ISSOCK(st.st_mode);
    /* To set O_NONBLOCK on what others share with us would be rude; a pipe opened anew is our own. */
    if (S_ISFIFO(st.st_mode)) {
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0) {
            outlet->fd = fd;
            return 0;
        }
    }
    outlet->is_careful = !outlet->is_socket && !S_ISREG(st.st_mode);
    fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return -errno;
    outlet->fd = fd;
    return 0;
}

void outlet_done(struct outlet *outlet)
{
    if (outlet->fd >= 0)
        close(outlet->fd);
    outlet->fd = -1;
}

/* The host's end is closed, or the port is gone. */
static void park(struct outlet *outlet, int error, const struct say *say_to, int64_t now)
{
    outlet->parked_until = now + PARK_MS;
    outlet->is_full = false;
    if (outlet->is_stdout) {
        outlet->dead = error ? error : -EPIPE; /* nobody can open its other end again */
        return;
    }
    outlet->offset = 0;
    if (error && !outlet->was_told) {
        say(say_to, "%s: %s; it is tried again", outlet->name, strerror(-error));
        outlet->was_told = true;
    }
    /* A virtio-serial port that nobody reads stays ours; all else has to be opened anew. */
    if (error || outlet->is_socket) {
        if (outlet->fd >= 0)
            close(outlet->fd);
        outlet->fd = -1;
    }
}

int outlet_send(struct outlet *outlet, struct reader *reader, const struct say *say_to, int64_t now)
{
    size_t page_size = reader->queue.page_size;
    uint8_t *p;
    size_t n_pages, len, moved;
    ssize_t n;
    int r;

    if (outlet->parked_until > now || outlet->is_full)
        return 0;
    if (outlet->fd < 0) {
        r = reopen(outlet);
        if (r < 0) {
            park(outlet, r == -ECONNREFUSED || r == -ENOENT ? 0 : r, say_to, now);
            return 0;
        }
    }
    outlet->current = reader;
    n_pages = queue_look(&reader->queue, &p);
    if (n_pages == 0)
        return 0;
    len =
        MIN(n_pages * page_size, MAX(SEND_MAX / page_size * page_size, page_size)) - outlet->offset;
    if (outlet->is_careful) {
        struct pollfd fd = {.fd = outlet->fd, .events = POLLOUT};

        if (poll(&fd, 1, 0) <= 0) {
            outlet->is_full = true;
            return 0;
        }
        len = MIN(len, (size_t)PIPE_BUF);
    }
    do
        n = outlet->is_socket
                ? send(outlet->fd, p + outlet->offset, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                : write(outlet->fd, p + outlet->offset, len);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        outlet->is_full = true;
        return 0;
    }
    if (n < 0) {
        park(outlet, outlet->is_socket && (errno == EPIPE || errno == ECONNRESET) ? 0 : -errno,
             say_to, now);
        return 0;
    }
    outlet->was_told = false;
    moved = outlet->offset + (size_t)n;
    outlet->offset = moved % page_size;
    if (moved >= page_size) {
        queue_take(&reader->queue, moved / page_size);
        outlet->pages_sent += moved / page_size;
        reader_has_room(reader);
    }
    return 1;
}

bool outlet_pass(struct outlet *outlet, struct reader *reader, unsigned n_pages, int64_t now)
{
    size_t page_size = reader->queue.page_size, size = n_pages * page_size, sent;
    uint8_t *pages;
    uint64_t time = 0;
    int r;

    if (!outlet->suits || outlet->fd < 0 || outlet->parked_until > now || outlet->is_full ||
        outlet->offset > 0 || queue_held(&reader->queue) > 0)
        return false;
    r = splice_out(reader->pipe[0], outlet->fd, size, &sent);
    if (r == 1) {
        queue_pass(&reader->queue, n_pages);
        outlet->pages_sent += n_pages;
        return true;
    }
    outlet->is_full = r == 0;
    if (sent == 0 && r != -ENOBUFS)
        return false; /* what is wrong shows when they are written */
    pages = queue_free_pages(&reader->queue, n_pages);
    if (!pages)
        return false;
    if (r == -ENOBUFS) {
        outlet->suits = false;
        (void)reader_clock(reader->buffer->dir, reader->cpu, &time);
        splice_blank(&reader->buffer->page, pages, n_pages, time);
    } else if (splice_read(reader->pipe[0], pages + sent, size - sent) < 0) {
        return false;
    }
    for (unsigned i = 0; i < n_pages; i++)
        queue_put(&reader->queue);
    queue_take(&reader->queue, sent / page_size);
    outlet->pages_sent += sent / page_size;
    outlet->current = reader;
    outlet->offset = sent % page_size;
    return true;
}

void outlet_polled(struct outlet *outlet, short revents, const struct say *say_to, int64_t now)
{
    if (revents & (POLLHUP | POLLERR | POLLNVAL))
        park(outlet, 0, say_to, now);
    else if (revents & POLLOUT)
        outlet->is_full = false;
}
