/* SPDX-License-Identifier: MIT */
#include "agent/virtio_trace.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ports.h"
#include "agent/splice.h"

/* How often CPUs and ports are looked for. */
#define FOLLOW_MS 500
/* How often a control port is looked at whose other end is closed. */
#define CLOSED_MS 100
/* Of 64 KiB at most, that a reader does before it looks at its ring again. */
#define CARRY_WRITES 4
#define STACK_SIZE ((size_t)256 * 1024)

static struct raw_port *raw_port_of(struct virtio_trace *old, unsigned i)
{
    return &old->outlets[old->options.to_stdout ? 0 : i];
}

static void die(struct virtio_trace *old, int error)
{
    int fine = 0;

    if (atomic_compare_exchange_strong(&old->dead, &fine, error))
        notify_host_gone(old->notify);
}

/* One round over all queues. True: something was written. */
static bool send_all(struct virtio_trace *old)
{
    unsigned n = atomic_load(&old->readers->n);
    int64_t now = raw_port_now();
    bool progress = false;
    int dead;

    for (unsigned i = 0; i < n; i++) {
        struct reader *reader = old->readers->list[i];
        struct raw_port *raw_port = raw_port_of(old, i);

        pthread_mutex_lock(&raw_port->lock);
        /* A page that was begun goes first. */
        if ((!raw_port->offset || raw_port->current == reader) && queue_held(&reader->queue))
            progress |= raw_port_send(raw_port, reader, old->log, now) > 0;
        dead = raw_port->dead;
        pthread_mutex_unlock(&raw_port->lock);
        if (dead)
            die(old, dead);
    }
    return progress;
}

/* A reader sends to its own port (reader_buffer.carry). */
static bool carry(void *carrier, struct reader *reader)
{
    struct virtio_trace *old = carrier;
    struct raw_port *raw_port = raw_port_of(old, reader->index);
    int64_t now = raw_port_now();
    bool all;

    pthread_mutex_lock(&raw_port->lock);
    for (int i = 0; i < CARRY_WRITES && raw_port_send(raw_port, reader, old->log, now) > 0; i++)
        ;
    all = queue_held(&reader->queue) == 0;
    pthread_mutex_unlock(&raw_port->lock);
    return all;
}

static bool splices(void *carrier, struct reader *reader)
{
    struct virtio_trace *old = carrier;
    struct raw_port *raw_port = raw_port_of(old, reader->index);
    bool does;

    pthread_mutex_lock(&raw_port->lock);
    does = raw_port->suits && !raw_port->is_full && !raw_port->offset;
    pthread_mutex_unlock(&raw_port->lock);
    return does;
}

static bool pass(void *carrier, struct reader *reader, unsigned n_pages)
{
    struct virtio_trace *old = carrier;
    struct raw_port *raw_port = raw_port_of(old, reader->index);
    int64_t now = raw_port_now();
    bool done;

    pthread_mutex_lock(&raw_port->lock);
    done = raw_port_pass(raw_port, reader, n_pages, now);
    pthread_mutex_unlock(&raw_port->lock);
    return done;
}

/* Sleeps until there are pages, or a port takes more. */
static void sleep_for_work(struct virtio_trace *old, struct pollfd *fds)
{
    unsigned n = atomic_load(&old->readers->n);
    int64_t now = raw_port_now();
    int64_t until = INT64_MAX;
    unsigned n_fds = 1, n_outlets = old->options.to_stdout ? MIN(n, 1u) : n;

    wakeup_arm(&old->sender_bell);
    fds[0] = (struct pollfd){.fd = old->sender_bell.fd, .events = POLLIN};
    for (unsigned i = 0; i < n; i++) {
        struct raw_port *raw_port = raw_port_of(old, i);
        bool came = false;

        if (!queue_held(&old->readers->list[i]->queue))
            continue;
        pthread_mutex_lock(&raw_port->lock);
        if (raw_port->parked_until > now)
            until = MIN(until, raw_port->parked_until);
        else
            came = !raw_port->is_full && !raw_port->dead; /* meanwhile */
        pthread_mutex_unlock(&raw_port->lock);
        if (came) {
            wakeup_disarm(&old->sender_bell);
            return;
        }
    }
    for (unsigned i = 0; i < n_outlets; i++) {
        struct raw_port *raw_port = &old->outlets[i];

        pthread_mutex_lock(&raw_port->lock);
        fds[n_fds++] =
            (struct pollfd){.fd = raw_port->is_full ? raw_port->fd : -1, .events = POLLOUT};
        pthread_mutex_unlock(&raw_port->lock);
    }
    if (atomic_load(&old->closing)) {
        if (readers_are_stopped(old->readers) && readers_held(old->readers) == 0) {
            wakeup_disarm(&old->sender_bell);
            return;
        }
        until = MIN(until, atomic_load(&old->deadline));
    }
    poll(fds, n_fds, until == INT64_MAX ? -1 : (int)MAX(until - now, (int64_t)1));
    wakeup_disarm(&old->sender_bell);
    now = raw_port_now();
    for (unsigned i = 0; i < n_outlets; i++)
        if (fds[i + 1].revents) {
            pthread_mutex_lock(&old->outlets[i].lock);
            if (old->outlets[i].fd ==
                fds[i + 1].fd) /* else a reader has seen it, and opened it anew */
                raw_port_polled(&old->outlets[i], fds[i + 1].revents, old->log, now);
            pthread_mutex_unlock(&old->outlets[i].lock);
        }
}

static void *sender_main(void *userdata)
{
    struct virtio_trace *old = userdata;
    struct pollfd *fds = calloc(CPU_SET_MAX + 1, sizeof *fds);

    pthread_setname_np(pthread_self(), "strata-sender");
    if (!fds) {
        die(old, -ENOMEM);
        notify_finished(old->notify);
        return NULL;
    }
    for (;;) {
        if (atomic_load(&old->closing) &&
            ((readers_are_stopped(old->readers) && readers_held(old->readers) == 0) ||
             raw_port_now() >= atomic_load(&old->deadline)))
            break;
        if (!send_all(old))
            sleep_for_work(old, fds);
    }
    free(fds);
    notify_finished(old->notify);
    return NULL;
}

/* Gives CPU a reader and a port. -ENOENT: it has no port. */
static int add_cpu(struct virtio_trace *old, uint32_t cpu)
{
    unsigned n = atomic_load(&old->readers->n);
    char name[64];
    int r = 0;

    /* The outlet first: once the reader is in the list the sender looks at both. */
    if (!old->options.to_stdout) {
        snprintf(name, sizeof name, VIRTIO_TRACE_DATA_PORT "%" PRIu32, cpu);
        r = raw_port_open_port(&old->outlets[n], old->options.ports, name);
        if (r < 0) {
            if (!cpu_set_has(&old->missing, cpu)) {
                cpu_set_add(&old->missing, cpu);
                agent_log(old->log,
                          "CPU %" PRIu32 ": the port %s cannot be used: %s; the CPU is not traced",
                          cpu, name, r == -ENOENT ? "there is none" : strerror(-r));
            }
            return r;
        }
    }
    r = readers_add(old->readers, cpu);
    if (r < 0) {
        if (!old->options.to_stdout)
            raw_port_done(&old->outlets[n]);
        agent_log(old->log, "CPU %" PRIu32 ": %s; the CPU is not traced", cpu, strerror(-r));
    }
    return r;
}

static void add_cpus(struct virtio_trace *old)
{
    for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++)
        if (cpu_set_has(&old->readers->online, cpu) && !cpu_set_has(&old->readers->have, cpu))
            add_cpu(old, cpu);
}

static int open_control(struct virtio_trace *old)
{
    char path[512];
    struct stat st;
    int r = port_find(old->options.ports, VIRTIO_TRACE_CONTROL_PORT, path, sizeof path);

    if (r >= 0)
        r = port_open(path, &old->control_fd);
    if (r >= 0)
        old->control_is_socket = fstat(old->control_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    return r;
}

static void obey(struct virtio_trace *old, const uint8_t *p, size_t n)
{
    enum control_command command;
    size_t pos = 0;

    while (control_next(&old->control, p, n, &pos, &command)) {
        if (command == CONTROL_STOP) {
            readers_stop(old->readers);
            continue;
        }
        readers_start(old->readers);
        notify_tracing(old->notify);
    }
    if (old->control.n_unknown && !old->unknown_was_told) {
        agent_log(old->log,
                  VIRTIO_TRACE_CONTROL_PORT
                  ": the byte 0x%02x is not a command (1 starts, 0 stops); such are passed over",
                  old->control.first_unknown);
        old->unknown_was_told = true;
    }
}

/* True: the host's end is closed. */
static bool read_control(struct virtio_trace *old)
{
    uint8_t buf[256];

    /* Not for ever, however much the host has to say. */
    for (int i = 0; i < 16; i++) {
        ssize_t n = read(old->control_fd, buf, sizeof buf);

        if (n > 0) {
            obey(old, buf, (size_t)n);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0 || old->control_is_socket) {
            close(old->control_fd);
            old->control_fd = -1;
        }
        return true;
    }
    return false;
}

static void *controller_main(void *userdata)
{
    struct virtio_trace *old = userdata;
    int64_t next_follow = raw_port_now() + FOLLOW_MS;
    bool is_closed = false;

    pthread_setname_np(pthread_self(), "strata-control");
    while (!atomic_load(&old->ending)) {
        struct pollfd fds[2] = {{.fd = old->controller_bell.fd, .events = POLLIN},
                                {.fd = is_closed ? -1 : old->control_fd, .events = POLLIN}};
        int64_t now = raw_port_now();
        int64_t ms = next_follow - now;

        if (is_closed)
            ms = MIN(ms, (int64_t)CLOSED_MS);
        poll(fds, 2, (int)MAX(ms, (int64_t)0));
        if (is_closed) {
            /* Look again. */
            if (old->control_fd < 0 && !old->is_free)
                open_control(old);
            is_closed = old->control_fd < 0 ? !old->is_free : read_control(old);
        } else if (fds[1].revents & POLLIN) {
            is_closed = read_control(old);
        } else if (fds[1].revents) {
            is_closed = true;
        }
        now = raw_port_now();
        if (now >= next_follow) {
            next_follow = now + FOLLOW_MS;
            readers_follow(old->readers);
            add_cpus(old); /* also ports that came */
        }
    }
    return NULL;
}

static int start_threads(struct virtio_trace *old)
{
    pthread_attr_t attributes;
    int r;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = -pthread_create(&old->sender, &attributes, sender_main, old);
    old->has_sender = r == 0;
    if (r == 0) {
        r = -pthread_create(&old->controller, &attributes, controller_main, old);
        old->has_controller = r == 0;
    }
    pthread_attr_destroy(&attributes);
    return r;
}

static int set_up(struct virtio_trace *old, int dir, struct error *error)
{
    int r = wakeup_init(&old->sender_bell);

    if (r >= 0)
        r = wakeup_init(&old->controller_bell);
    if (r < 0)
        return error_set(error, r, "", "cannot make an eventfd: %s", strerror(-r));
    r = open_control(old);
    if (r == -ENOENT && old->options.to_stdout)
        old->is_free = true;
    else if (r < 0)
        return error_set(error, r, VIRTIO_TRACE_CONTROL_PORT, "%s",
                         r == -ENOENT  ? "there is no such virtio-serial port"
                         : r == -EBUSY ? "another program has this port open"
                                       : strerror(-r));
    r = readers_init(old->readers, dir, old->options.queue_bytes, old->log, &old->sender_bell,
                     error);
    if (r < 0)
        return r;
    /* Standard output is one for all: the sender's. */
    if (!old->options.to_stdout) {
        old->readers->buffer.carry = carry;
        old->readers->buffer.splices = splices;
        old->readers->buffer.pass = pass;
        old->readers->buffer.splice_most = SPLICE_PAGES;
        old->readers->buffer.carrier = old;
    }
    old->outlets = calloc(old->options.to_stdout ? 1 : CPU_SET_MAX, sizeof *old->outlets);
    if (!old->outlets)
        return error_set(error, -ENOMEM, "", "out of memory");
    if (old->options.to_stdout) {
        r = raw_port_open_stdout(&old->outlets[0]);
        if (r < 0)
            return error_set(error, r, "standard output", "%s", strerror(-r));
    }
    add_cpus(old);
    if (old->is_free)
        readers_start(old->readers);
    r = start_threads(old);
    if (r >= 0 && old->is_free)
        notify_tracing(old->notify);
    return r < 0 ? error_set(error, r, "", "cannot start a thread: %s", strerror(-r)) : 0;
}

int virtio_trace_new(int dir, const struct virtio_trace_options *options,
                     const struct agent_log *log, struct notify *notify,
                     struct virtio_trace **ret_old, struct error *error)
{
    struct virtio_trace *old = calloc(1, sizeof *old);
    uint64_t left;
    int r;

    if (old)
        old->readers = calloc(1, sizeof *old->readers);
    if (!old || !old->readers) {
        free(old);
        return error_set(error, -ENOMEM, "", "out of memory");
    }
    old->options = *options;
    old->log = log;
    old->control_fd = old->sender_bell.fd = old->controller_bell.fd = -1;
    old->notify = notify;
    r = set_up(old, dir, error);
    if (r < 0) {
        virtio_trace_free(old, 0, &left);
        return r;
    }
    *ret_old = old;
    return 0;
}

void old_end(struct virtio_trace *old, int64_t deadline)
{
    if (!old)
        return;
    /* First the controller, which starts and stops the readers. */
    atomic_store(&old->ending, true);
    if (old->has_controller) {
        wakeup_signal_always(&old->controller_bell);
        pthread_join(old->controller, NULL);
        old->has_controller = false;
    }
    atomic_store(&old->deadline, deadline);
    if (!atomic_load(&old->closing))
        readers_stop(old->readers);
    atomic_store(&old->closing, true);
    wakeup_signal_always(&old->sender_bell);
}

void virtio_trace_free(struct virtio_trace *old, int64_t deadline, uint64_t *ret_left)
{
    unsigned n;

    *ret_left = 0;
    if (!old)
        return;
    old_end(old, deadline);
    if (old->has_sender)
        pthread_join(old->sender, NULL);
    *ret_left = readers_held(old->readers);
    n = atomic_load(&old->readers->n);
    readers_done(old->readers); /* they send, too */
    for (unsigned i = 0; old->outlets && i < n; i++)
        raw_port_done(raw_port_of(old, i));
    free(old->readers);
    free(old->outlets);
    if (old->control_fd >= 0)
        close(old->control_fd);
    wakeup_done(&old->sender_bell);
    wakeup_done(&old->controller_bell);
    free(old);
}
