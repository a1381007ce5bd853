/* SPDX-License-Identifier: MIT */
#include "record/kernel/virtio_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macro.h"
#include "proto/message.h"
#include "record/kernel/endpoint.h"
#include "tracedir/tracefs_copy.h"

#define BUF_SIZE ((size_t)256 * 1024)
/* An agent that was stopped, and from which nothing came for so long, has sent all. */
#define QUIET_TIMEOUT (500 * NSEC_PER_MSEC)
/* … and however much comes, it is not read for longer. */
#define DRAIN_MAX (30 * NSEC_PER_SEC)
#define CONTROL "agent-ctl-path"

static bool is_end(const char *dir, const char *name)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;

    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        path = NULL;
        return false;
    }
    if (stat(path, &st) == 0)
        return S_ISSOCK(st.st_mode);
    free(path);
    if (asprintf(&path, "%s/%s.out", dir, name) < 0) {
        path = NULL;
        return false;
    }
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

static int open_port(const char *dir, const char *name, bool make, struct virtio_trace_port *ret,
                     struct error *error)
{
    _cleanup_free_ char *path = NULL;
    struct guest_endpoint endpoint;
    bool pending;
    int fds[2];
    unsigned n;
    int r;

    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, dir, "out of memory");
    }
    r = guest_endpoint_parse(ENDPOINT_PORT, path, &endpoint, error);
    if (r >= 0 && make && !is_end(dir, name))
        r = guest_endpoint_make_fifos(path, error);
    if (r >= 0)
        r = guest_endpoint_connect(&endpoint, fds, &n, &pending, error);
    if (r < 0)
        return r;
    ret->in = fds[0];
    ret->out = n > 1 ? fds[1] : fds[0];
    return 0;
}

static void close_port(struct virtio_trace_port *port)
{
    if (port->in >= 0)
        close(port->in);
    if (port->out >= 0 && port->out != port->in)
        close(port->out);
    port->in = port->out = -1;
}

/* Exactly two bytes, as Linux's agent requires. */
static int command(const struct virtio_trace_guest *guest, const char *what, struct error *error)
{
    ssize_t n = write(guest->control.out, what, 2);

    if (n == 2)
        return 0;
    return error_set(error, n < 0 ? -errno : -EIO, CONTROL, "cannot write to it: %s",
                     n < 0 ? strerror(errno) : "the port is full");
}

static int open_all(const char *dir, unsigned cpus, struct virtio_trace_guest *guest,
                    struct error *error)
{
    bool make = cpus > 0;
    int r = 0;

    while (cpus == 0 || guest->n < cpus) {
        struct virtio_trace_port *bigger;
        char name[40];

        snprintf(name, sizeof name, "trace-path-cpu%u", guest->n);
        if (!make && !is_end(dir, name))
            break;
        bigger = realloc(guest->ports, (guest->n + 1) * sizeof *bigger);
        if (!bigger)
            return error_set(error, -ENOMEM, dir, "out of memory");
        guest->ports = bigger;
        bigger[guest->n] = (struct virtio_trace_port){-1, -1, guest->n};
        r = open_port(dir, name, make, &bigger[guest->n], error);
        if (r < 0)
            return r;
        if (++guest->n == PROTO_CPUS_MAX)
            break;
    }
    if (guest->n == 0)
        return error_set(error, -ENOENT, dir,
                         "no FIFOs or sockets trace-path-cpu0, … in this directory; --cpus=N makes "
                         "FIFOs");
    return open_port(dir, CONTROL, make, &guest->control, error);
}

int virtio_trace_guest_open(const char *dir, unsigned cpus, uint64_t max_size,
                            struct virtio_trace_guest *ret, struct error *error)
{
    struct virtio_trace_guest guest = {.control = {-1, -1, 0}, .max_size = max_size};
    int r;

    guest.buf = malloc(BUF_SIZE);
    r = guest.buf ? open_all(dir, cpus, &guest, error)
                  : error_set(error, -ENOMEM, dir, "out of memory");
    if (r >= 0)
        r = command(&guest, "1\n", error);
    if (r < 0) {
        virtio_trace_guest_done(&guest);
        return r;
    }
    *ret = guest;
    return 0;
}

void virtio_trace_guest_done(struct virtio_trace_guest *guest)
{
    close_port(&guest->control);
    while (guest->n > 0)
        close_port(&guest->ports[--guest->n]);
    free(guest->ports);
    free(guest->buf);
    guest->ports = NULL;
    guest->buf = NULL;
}

void virtio_trace_guest_poll(const struct virtio_trace_guest *guest, struct recorder_wait *wait)
{
    recorder_wait_fd(wait, guest->control.in, POLLIN);
    for (unsigned i = 0; i < guest->n; i++)
        recorder_wait_fd(wait, guest->ports[i].in, POLLIN);
}

static int take_port(struct virtio_trace_guest *guest, struct virtio_trace_port *port,
                     struct kernel_sink *sink, uint64_t now, struct error *error)
{
    /* Not without end: other ports have data as well. */
    for (unsigned i = 0; i < 8; i++) {
        ssize_t n = read(port->in, guest->buf, BUF_SIZE);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            close_port(port);
            return 0;
        }
        guest->received_at = now;
        if (guest->full)
            continue;
        if (guest->max_size && (uint64_t)n > guest->max_size - guest->bytes) {
            guest->full = true;
            continue;
        }
        guest->bytes += (uint64_t)n;
        r = kernel_sink_pages(sink, port->cpu, port->bytes, guest->buf, (size_t)n, error);
        if (r < 0)
            return r;
        port->bytes += (uint64_t)n;
    }
    return 0;
}

int virtio_trace_guest_read(struct virtio_trace_guest *guest, const struct pollfd *fds,
                            struct kernel_sink *sink, uint64_t now, struct error *error)
{
    int r = 0;

    /* The agent sends nothing by this port; what comes is dropped. */
    if (fds[0].revents && guest->control.in >= 0) {
        ssize_t n = read(guest->control.in, guest->buf, BUF_SIZE);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            close_port(&guest->control);
    }
    for (unsigned i = 0; i < guest->n && r >= 0; i++)
        if (fds[i + 1].revents && guest->ports[i].in >= 0)
            r = take_port(guest, &guest->ports[i], sink, now, error);
    return r;
}

void virtio_trace_guest_stop(struct virtio_trace_guest *guest, uint64_t now)
{
    if (guest->stopped)
        return;
    guest->stopped = true;
    guest->stopped_at = guest->received_at = now;
    if (guest->control.out >= 0)
        (void)command(guest, "0\n", NULL);
}

uint64_t virtio_trace_guest_ends_at(const struct virtio_trace_guest *guest)
{
    bool any = false;

    for (unsigned i = 0; i < guest->n; i++)
        any = any || guest->ports[i].in >= 0;
    if (!any)
        return 0;
    return guest->stopped ? MIN(guest->received_at + QUIET_TIMEOUT, guest->stopped_at + DRAIN_MAX)
                          : UINT64_MAX;
}

bool virtio_trace_guest_has_ended(const struct virtio_trace_guest *guest, uint64_t now)
{
    return now >= virtio_trace_guest_ends_at(guest);
}

/* ---- The tracefs tree ---- */

static int copy_file(const char *tree, const char *path, struct kernel_sink *sink, bool needed,
                     struct error *error)
{
    _cleanup_free_ char *full = NULL;
    char buf[4096];
    struct stat st;
    size_t total = 0;
    int fd, r;

    if (asprintf(&full, "%s/%s", tree, path) < 0) {
        full = NULL;
        return error_set(error, -ENOMEM, tree, "out of memory");
    }
    /* The tree comes from a guest: a link in it could lead to a file of the host. */
    fd = open(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno != ELOOP)
        return needed ? error_set(error, -errno, full, "cannot open it: %s", strerror(errno)) : 0;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return error_set(error, -EINVAL, full,
                         "not a regular file, as the files of tracefs are; copy it again");
    }
    r = kernel_sink_file_begin(sink, path, strlen(path), error);
    while (r >= 0) {
        ssize_t n = read(fd, buf, sizeof buf);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = error_set(error, -errno, full, "cannot read it: %s", strerror(errno));
        if (n <= 0)
            break;
        total += (size_t)n;
        if (total > PROTO_META_FILE_MAX)
            r = error_set(error, -EFBIG, full, "too large for a file of tracefs");
        else
            r = kernel_sink_file_put(sink, buf, (size_t)n, error);
    }
    close(fd);
    if (r >= 0)
        r = kernel_sink_file_end(sink, error);
    return r < 0 ? r : 0;
}

static DIR *open_dir(const char *tree, const char *path)
{
    _cleanup_free_ char *full = NULL;

    if (asprintf(&full, "%s/%s", tree, path) < 0) {
        full = NULL;
        return NULL;
    }
    return opendir(full);
}

static int copy_system(const char *tree, const char *system, struct kernel_sink *sink,
                       struct error *error)
{
    _cleanup_free_ char *directory = NULL;
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;
    int r = 0;

    if (asprintf(&directory, "events/%s", system) < 0) {
        directory = NULL;
        return error_set(error, -ENOMEM, tree, "out of memory");
    }
    dir = open_dir(tree, directory);
    if (!dir)
        return 0; /* a file of the tree */
    while (r >= 0 && (entry = readdir(dir))) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s/%s/format", directory, entry->d_name) < 0) {
            path = NULL;
            return error_set(error, -ENOMEM, tree, "out of memory");
        }
        if (tracefs_copy_has(path, strlen(path)))
            r = copy_file(tree, path, sink, false, error);
    }
    return r;
}

int virtio_trace_guest_copy_tree(const char *tree, struct kernel_sink *sink, struct error *error)
{
    static const char *const files[] = {
        "events/header_event", "trace_clock",    "saved_cmdlines",
        "saved_tgids",         "printk_formats", "kallsyms",
    };
    _cleanup_(closedirp) DIR *dir = open_dir(tree, "events");
    const struct dirent *entry;
    int r;

    if (!dir)
        return error_set(error, -errno, tree, "not a tracefs tree (a directory with events): %s",
                         strerror(errno));
    r = copy_file(tree, "events/header_page", sink, true, error);
    for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++)
        r = copy_file(tree, files[i], sink, false, error);
    while (r >= 0 && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            r = copy_system(tree, entry->d_name, sink, error);
    return r;
}
