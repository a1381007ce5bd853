/* SPDX-License-Identifier: MIT */
#include "agent/virtio_trace.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/clock_ms.h"
#include "agent/ports.h"
#include "agent/splice.h"

/* How often the online CPUs and their ports are checked. */
#define CPU_CHECK_INTERVAL_MS 500
/* How often a control port is checked whose other end is closed. */
#define PEER_CLOSED_POLL_MS 100
/* Writes, of up to 64 KiB, that a reader does before it reads its ring again. */
#define READER_WRITES_MAX 4
#define STACK_SIZE ((size_t)256 * 1024)

static struct raw_port *raw_port_of(struct virtio_trace *vt, unsigned i)
{
    return &vt->ports[vt->options.to_stdout ? 0 : i];
}

static void set_dead(struct virtio_trace *vt, int error)
{
    int fine = 0;

    if (atomic_compare_exchange_strong(&vt->dead, &fine, error))
        notify_host_gone(vt->notify);
}

/* Sends from all queues once. Returns true if something was written. */
static bool send_all(struct virtio_trace *vt)
{
    unsigned n = atomic_load(&vt->readers->n);
    int64_t now = agent_now_ms();
    bool progress = false;
    int dead;

    for (unsigned i = 0; i < n; i++) {
        struct reader *reader = vt->readers->list[i];
        struct raw_port *raw_port = raw_port_of(vt, i);

        pthread_mutex_lock(&raw_port->lock);
        /* A half-written page goes first. */
        if ((!raw_port->offset || raw_port->current == reader) && queue_held(&reader->queue))
            progress |= raw_port_send(raw_port, reader, vt->log, now) > 0;
        dead = raw_port->dead;
        pthread_mutex_unlock(&raw_port->lock);
        if (dead)
            set_dead(vt, dead);
    }
    return progress;
}

/* A reader sends to its own port (page_sink.send). */
static bool send_from_reader(void *userdata, struct reader *reader)
{
    struct virtio_trace *vt = userdata;
    struct raw_port *raw_port = raw_port_of(vt, reader->index);
    int64_t now = agent_now_ms();
    bool all;

    pthread_mutex_lock(&raw_port->lock);
    for (int i = 0; i < READER_WRITES_MAX && raw_port_send(raw_port, reader, vt->log, now) > 0; i++)
        ;
    all = queue_held(&reader->queue) == 0;
    pthread_mutex_unlock(&raw_port->lock);
    return all;
}

static size_t splice_size(void *userdata, struct reader *reader)
{
    struct virtio_trace *vt = userdata;
    struct raw_port *raw_port = raw_port_of(vt, reader->index);
    bool can;

    pthread_mutex_lock(&raw_port->lock);
    can = raw_port->can_splice && !raw_port->is_full && !raw_port->offset;
    pthread_mutex_unlock(&raw_port->lock);
    return can ? SPLICE_SIZE : 0;
}

static bool splice_pages(void *userdata, struct reader *reader, unsigned n_pages)
{
    struct virtio_trace *vt = userdata;
    struct raw_port *raw_port = raw_port_of(vt, reader->index);
    int64_t now = agent_now_ms();
    bool done;

    pthread_mutex_lock(&raw_port->lock);
    done = raw_port_splice(raw_port, reader, n_pages, now);
    pthread_mutex_unlock(&raw_port->lock);
    return done;
}

/* Sleeps until there are pages or a port accepts more. */
static void sleep_for_work(struct virtio_trace *vt, struct pollfd *fds)
{
    unsigned n = atomic_load(&vt->readers->n);
    int64_t now = agent_now_ms();
    int64_t until = INT64_MAX;
    unsigned n_fds = 1, n_ports = vt->options.to_stdout ? MIN(n, 1u) : n;

    wakeup_arm(&vt->sender_wakeup);
    fds[0] = (struct pollfd){.fd = vt->sender_wakeup.fd, .events = POLLIN};
    for (unsigned i = 0; i < n; i++) {
        struct raw_port *raw_port = raw_port_of(vt, i);
        bool came = false;

        if (!queue_held(&vt->readers->list[i]->queue))
            continue;
        pthread_mutex_lock(&raw_port->lock);
        if (raw_port->parked_until > now)
            until = MIN(until, raw_port->parked_until);
        else
            came = !raw_port->is_full && !raw_port->dead; /* a reader changed it meanwhile */
        pthread_mutex_unlock(&raw_port->lock);
        if (came) {
            wakeup_disarm(&vt->sender_wakeup);
            return;
        }
    }
    for (unsigned i = 0; i < n_ports; i++) {
        struct raw_port *raw_port = &vt->ports[i];

        pthread_mutex_lock(&raw_port->lock);
        fds[n_fds++] =
            (struct pollfd){.fd = raw_port->is_full ? raw_port->fd : -1, .events = POLLOUT};
        pthread_mutex_unlock(&raw_port->lock);
    }
    if (atomic_load(&vt->closing)) {
        if (readers_are_stopped(vt->readers) && readers_held(vt->readers) == 0) {
            wakeup_disarm(&vt->sender_wakeup);
            return;
        }
        until = MIN(until, atomic_load(&vt->deadline));
    }
    poll(fds, n_fds, until == INT64_MAX ? -1 : (int)MAX(until - now, (int64_t)1));
    wakeup_disarm(&vt->sender_wakeup);
    now = agent_now_ms();
    for (unsigned i = 0; i < n_ports; i++)
        if (fds[i + 1].revents) {
            pthread_mutex_lock(&vt->ports[i].lock);
            if (vt->ports[i].fd ==
                fds[i + 1].fd) /* otherwise a reader has noticed and opened it again */
                raw_port_polled(&vt->ports[i], fds[i + 1].revents, vt->log, now);
            pthread_mutex_unlock(&vt->ports[i].lock);
        }
}

static void *sender_main(void *userdata)
{
    struct virtio_trace *vt = userdata;
    struct pollfd *fds = calloc(CPU_SET_MAX + 1, sizeof *fds);

    pthread_setname_np(pthread_self(), "strata-sender");
    if (!fds) {
        set_dead(vt, -ENOMEM);
        notify_finished(vt->notify);
        return NULL;
    }
    for (;;) {
        if (atomic_load(&vt->closing) &&
            ((readers_are_stopped(vt->readers) && readers_held(vt->readers) == 0) ||
             agent_now_ms() >= atomic_load(&vt->deadline)))
            break;
        if (!send_all(vt))
            sleep_for_work(vt, fds);
    }
    free(fds);
    notify_finished(vt->notify);
    return NULL;
}

/* Adds a reader and a port for CPU. -ENOENT: it has no port. */
static int add_cpu(struct virtio_trace *vt, uint32_t cpu)
{
    unsigned n = atomic_load(&vt->readers->n);
    char name[64];
    int r = 0;

    /* The port first: once the reader is in the list, the sender uses both. */
    if (!vt->options.to_stdout) {
        snprintf(name, sizeof name, VIRTIO_TRACE_DATA_PORT "%" PRIu32, cpu);
        r = raw_port_open_port(&vt->ports[n], vt->options.ports, name);
        if (r < 0) {
            if (!cpu_set_has(&vt->port_missing, cpu)) {
                cpu_set_add(&vt->port_missing, cpu);
                agent_log(vt->log,
                          "CPU %" PRIu32 ": cannot use the port %s: %s; the CPU is not traced", cpu,
                          name, r == -ENOENT ? "it does not exist" : strerror(-r));
            }
            return r;
        }
    }
    r = readers_add(vt->readers, cpu);
    if (r < 0) {
        if (!vt->options.to_stdout)
            raw_port_done(&vt->ports[n]);
        agent_log(vt->log, "CPU %" PRIu32 ": %s; the CPU is not traced", cpu, strerror(-r));
    }
    return r;
}

static void add_cpus(struct virtio_trace *vt)
{
    const struct cpu_set *online = &vt->readers->online;

    for (uint32_t cpu = cpu_set_next(online, 0); cpu < CPU_SET_MAX;
         cpu = cpu_set_next(online, cpu + 1))
        if (!cpu_set_has(&vt->readers->have, cpu))
            add_cpu(vt, cpu);
}

static int open_control(struct virtio_trace *vt)
{
    char path[512];
    struct stat st;
    int r = port_find(vt->options.ports, VIRTIO_TRACE_CONTROL_PORT, path, sizeof path);

    if (r >= 0)
        r = port_open(path, &vt->control_fd);
    if (r >= 0)
        vt->control_is_socket = fstat(vt->control_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    return r;
}

static void run_commands(struct virtio_trace *vt, const uint8_t *p, size_t n)
{
    enum control_command command;
    size_t pos = 0;

    while (control_next(&vt->control, p, n, &pos, &command)) {
        if (command == CONTROL_STOP) {
            readers_stop(vt->readers);
            continue;
        }
        readers_start(vt->readers);
        notify_tracing(vt->notify);
    }
    if (vt->control.n_unknown && !vt->unknown_reported) {
        agent_log(vt->log,
                  VIRTIO_TRACE_CONTROL_PORT
                  ": the byte 0x%02x is not a command (1 starts, 0 stops); ignored",
                  vt->control.first_unknown);
        vt->unknown_reported = true;
    }
}

/* Returns true if the host has closed its end. */
static bool read_control(struct virtio_trace *vt)
{
    uint8_t buf[256];

    /* Bounded, so that a flood from the host does not keep this thread from its other work. */
    for (int i = 0; i < 16; i++) {
        ssize_t n = read(vt->control_fd, buf, sizeof buf);

        if (n > 0) {
            run_commands(vt, buf, (size_t)n);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0 || vt->control_is_socket) {
            close(vt->control_fd);
            vt->control_fd = -1;
        }
        return true;
    }
    return false;
}

static void *controller_main(void *userdata)
{
    struct virtio_trace *vt = userdata;
    int64_t next_follow = agent_now_ms() + CPU_CHECK_INTERVAL_MS;
    bool is_closed = false;

    pthread_setname_np(pthread_self(), "strata-control");
    while (!atomic_load(&vt->ending)) {
        struct pollfd fds[2] = {{.fd = vt->controller_wakeup.fd, .events = POLLIN},
                                {.fd = is_closed ? -1 : vt->control_fd, .events = POLLIN}};
        int64_t now = agent_now_ms();
        int64_t ms = next_follow - now;

        if (is_closed)
            ms = MIN(ms, (int64_t)PEER_CLOSED_POLL_MS);
        poll(fds, 2, (int)MAX(ms, (int64_t)0));
        if (is_closed) {
            /* Check again. */
            if (vt->control_fd < 0 && !vt->always_on)
                open_control(vt);
            is_closed = vt->control_fd < 0 ? !vt->always_on : read_control(vt);
        } else if (fds[1].revents & POLLIN) {
            is_closed = read_control(vt);
        } else if (fds[1].revents) {
            is_closed = true;
        }
        now = agent_now_ms();
        if (now >= next_follow) {
            next_follow = now + CPU_CHECK_INTERVAL_MS;
            readers_update_cpus(vt->readers);
            add_cpus(vt); /* also CPUs whose port has appeared */
        }
    }
    return NULL;
}

static int start_threads(struct virtio_trace *vt)
{
    pthread_attr_t attributes;
    int r;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = -pthread_create(&vt->sender, &attributes, sender_main, vt);
    vt->has_sender = r == 0;
    if (r == 0) {
        r = -pthread_create(&vt->controller, &attributes, controller_main, vt);
        vt->has_controller = r == 0;
    }
    pthread_attr_destroy(&attributes);
    return r;
}

static int set_up(struct virtio_trace *vt, int dir, struct error *error)
{
    int r = wakeup_init(&vt->sender_wakeup);

    if (r >= 0)
        r = wakeup_init(&vt->controller_wakeup);
    if (r < 0)
        return error_set(error, r, "", "cannot make an eventfd: %s", strerror(-r));
    r = open_control(vt);
    if (r == -ENOENT && vt->options.to_stdout)
        vt->always_on = true;
    else if (r < 0)
        return error_set(error, r, VIRTIO_TRACE_CONTROL_PORT, "%s",
                         r == -ENOENT  ? "no such virtio-serial port"
                         : r == -EBUSY ? "another program has this port open"
                                       : strerror(-r));
    r = readers_init(vt->readers, dir, vt->options.queue_bytes, vt->log, &vt->sender_wakeup, error);
    if (r < 0)
        return r;
    /* Standard output is shared by all CPUs, so only the sender writes to it. */
    if (!vt->options.to_stdout) {
        vt->sink = (struct page_sink){.send = send_from_reader,
                                      .splice_size = splice_size,
                                      .splice = splice_pages,
                                      .userdata = vt,
                                      .splice_size_max = SPLICE_SIZE};
        vt->readers->buffer.sink = &vt->sink;
    }
    vt->ports = calloc(vt->options.to_stdout ? 1 : CPU_SET_MAX, sizeof *vt->ports);
    if (!vt->ports)
        return error_set(error, -ENOMEM, "", "out of memory");
    if (vt->options.to_stdout) {
        r = raw_port_open_stdout(&vt->ports[0]);
        if (r < 0)
            return error_set(error, r, "standard output", "%s", strerror(-r));
    }
    add_cpus(vt);
    if (vt->always_on)
        readers_start(vt->readers);
    r = start_threads(vt);
    if (r >= 0 && vt->always_on)
        notify_tracing(vt->notify);
    return r < 0 ? error_set(error, r, "", "cannot start a thread: %s", strerror(-r)) : 0;
}

int virtio_trace_new(int dir, const struct virtio_trace_options *options,
                     const struct agent_log *log, struct notify *notify,
                     struct virtio_trace **ret_virtio_trace, struct error *error)
{
    struct virtio_trace *vt = calloc(1, sizeof *vt);
    uint64_t left;
    int r;

    if (vt)
        vt->readers = calloc(1, sizeof *vt->readers);
    if (!vt || !vt->readers) {
        free(vt);
        return error_set(error, -ENOMEM, "", "out of memory");
    }
    vt->options = *options;
    vt->log = log;
    vt->control_fd = vt->sender_wakeup.fd = vt->controller_wakeup.fd = -1;
    vt->notify = notify;
    r = set_up(vt, dir, error);
    if (r < 0) {
        virtio_trace_free(vt, 0, &left);
        return r;
    }
    *ret_virtio_trace = vt;
    return 0;
}

void virtio_trace_stop(struct virtio_trace *vt, int64_t deadline)
{
    if (!vt)
        return;
    /* First the controller, because it starts and stops the readers. */
    atomic_store(&vt->ending, true);
    if (vt->has_controller) {
        wakeup_signal_always(&vt->controller_wakeup);
        pthread_join(vt->controller, NULL);
        vt->has_controller = false;
    }
    atomic_store(&vt->deadline, deadline);
    if (!atomic_load(&vt->closing))
        readers_stop(vt->readers);
    atomic_store(&vt->closing, true);
    wakeup_signal_always(&vt->sender_wakeup);
}

void virtio_trace_free(struct virtio_trace *vt, int64_t deadline, uint64_t *ret_left)
{
    unsigned n;

    *ret_left = 0;
    if (!vt)
        return;
    virtio_trace_stop(vt, deadline);
    if (vt->has_sender)
        pthread_join(vt->sender, NULL);
    *ret_left = readers_held(vt->readers);
    n = atomic_load(&vt->readers->n);
    readers_done(vt->readers); /* before the ports are closed, because readers send too */
    for (unsigned i = 0; vt->ports && i < n; i++)
        raw_port_done(raw_port_of(vt, i));
    free(vt->readers);
    free(vt->ports);
    if (vt->control_fd >= 0)
        close(vt->control_fd);
    wakeup_done(&vt->sender_wakeup);
    wakeup_done(&vt->controller_wakeup);
    free(vt);
}
