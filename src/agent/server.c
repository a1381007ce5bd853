/* SPDX-License-Identifier: MIT */
#include "agent/server.h"

#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/raw_port.h"

/* Who has not proved anything by then makes room for others. */
#define GREET_MS 10000
/* A host that has sent nothing for this long makes room for another that has come. A host pings. */
#define SILENT_MS 5000
/* So does one that could have been admitted by then: it has not said HELLO, or not proved that it knows the key. */
#define ADMIT_MS 1000
/* A frame whose end does not come is no frame. */
#define WITHIN_MS 3000
#define CLOSED_MS 50
#define CONNECT_MS 500
#define STACK_SIZE ((size_t)256 * 1024)

/* Below, the receiver's thread. */

static void disconnect(struct agent_server *own)
{
    frame_tx_disconnect(&own->tx);
    wakeup_signal_always(&own->sender_bell);
    if (own->fd >= 0)
        close(own->fd);
    own->fd = -1;
    own->tells = false;
    own->is_closed = false;
}

/* The host's end of a port is closed: the port stays ours, and what was under way is lost. */
static void closed(struct agent_server *own)
{
    if (own->is_socket || own->endpoint.kind != ENDPOINT_PORT) {
        disconnect(own);
        return;
    }
    if (own->is_closed)
        return;
    own->is_closed = true;
    frame_tx_disconnect(&own->tx);
    wakeup_signal_always(&own->sender_bell);
}

static void begin(struct agent_server *own)
{
    proto_reader_reset(&own->reader);
    own->is_closed = false;
    own->is_unread = true; /* by now something may have come */
    own->heard = own->connected = raw_port_now();
    frame_tx_connect(&own->tx, own->fd, own->is_socket);
    own->connection = own->tx.connection; /* nobody else changes it */
    wakeup_signal_always(&own->sender_bell);
}

/* A new connection at the endpoint; -1: there is none. */
static int accept_connection(struct agent_server *own)
{
    int fd;
    int r = endpoint_accept(&own->endpoint, &fd);

    if (r == -ENOTCONN) {
        notify_host_gone(own->notify);
        return -1;
    }
    if (r < 0) {
        if (r != -EAGAIN && r != -ECONNREFUSED && r != own->last_error) {
            agent_log(own->log, "%s: %s; it is tried again", own->endpoint.name, strerror(-r));
            own->last_error = r;
        }
        return -1;
    }
    own->last_error = 0;
    return fd;
}

/* FD is the connection from now on; -1: none. */
static void use_connection(struct agent_server *own, int fd)
{
    struct stat st;

    if (fd < 0)
        return;
    if (own->fd >= 0)
        disconnect(own);
    own->fd = fd;
    own->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    own->tells = own->endpoint.kind == ENDPOINT_PORT && port_sigio_watch(&own->sigio, own->fd);
    begin(own);
}

/* Whether the host may ask for more than to be admitted. */
static bool is_admitted(struct agent_server *own)
{
    return atomic_load(&own->session.admitted) == own->connection;
}

static void take_frames(struct agent_server *own, uint64_t came)
{
    struct proto_frame frame;

    while (proto_reader_next(&own->reader, &frame) > 0) {
        struct proto_ping ping;
        int r;

        if (frame.type == PROTO_PING && !frame.flags) {
            if (is_admitted(own) && proto_get_ping(&frame, &ping) >= 0 &&
                frame_tx_pong(&own->tx, &ping, came))
                wakeup_signal_always(&own->sender_bell);
            continue;
        }
        r = rx_queue_put(&own->rx_queue, &frame, own->connection);
        if (r < 0) {
            agent_log(own->log, "%s: the host says more than can be held: %s", own->endpoint.name,
                      strerror(-r));
            closed(own);
            return;
        }
        wakeup_signal_always(&own->sender_bell);
    }
}

static void receive(struct agent_server *own)
{
    /* Not for ever, however much the host has to say. */
    for (int i = 0; i < 64 && own->fd >= 0 && !atomic_load(&own->ending); i++) {
        size_t size;
        uint8_t *room = proto_reader_room(&own->reader, &size);
        ssize_t n = read(own->fd, room, size);
        uint64_t came;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            if (n == 0 || own->is_socket)
                closed(own);
            else
                disconnect(own);
            return;
        }
        came = frame_tx_now(&own->tx);
        own->heard = raw_port_now();
        if (own->is_closed)
            begin(own);
        proto_reader_filled(&own->reader, (size_t)n);
        take_frames(own, came);
    }
    own->is_unread = true;
}

/* The end of a frame does not come: who began it is gone, and what followed is another's. */
static void give_up_frames(struct agent_server *own)
{
    while (proto_reader_is_within(&own->reader)) {
        proto_reader_give_up(&own->reader);
        take_frames(own, frame_tx_now(&own->tx));
    }
}

static void supervise(struct agent_server *own, int64_t now)
{
    if (own->fd < 0 || own->is_closed)
        return;
    if (now - own->heard >= WITHIN_MS)
        give_up_frames(own);
    if (atomic_load(&own->drop) == own->connection ||
        (own->endpoint.is_network && !is_admitted(own) && now - own->connected >= GREET_MS))
        disconnect(own);
}

/* Whether a host that waits is let in. */
static bool has_room(struct agent_server *own, int64_t now)
{
    return own->fd < 0 || now - own->heard >= SILENT_MS ||
           (!is_admitted(own) && now - own->connected >= ADMIT_MS);
}

static void accept_hosts(struct agent_server *own, bool has_come)
{
    int fd = has_come ? accept_connection(own) : -1;

    if (fd >= 0)
        accept_queue_add(&own->waiting, fd);
    accept_queue_look(&own->waiting);
    if (has_room(own, raw_port_now()))
        use_connection(own, accept_queue_take(&own->waiting));
}

static int next_look(const struct agent_server *own)
{
    if (own->is_closed)
        return CLOSED_MS;
    if (own->fd >= 0)
        return 500;
    return own->endpoint.kind == ENDPOINT_LISTEN ? 1000 : CONNECT_MS;
}

/* Is the other end open again? */
static void look_at_closed(struct agent_server *own)
{
    struct pollfd fd = {.fd = own->fd, .events = POLLIN};

    poll(&fd, 1, 0);
    if (!(fd.revents & (POLLHUP | POLLERR | POLLNVAL)))
        begin(own);
    else if ((fd.revents & (POLLERR | POLLNVAL)) && !(fd.revents & POLLIN))
        disconnect(own);
    else
        receive(own); /* fails where the port was removed: another one may have its name by now */
}

/* What ARRIVALS told of. A PING is answered first; what comes while that is cleared is not told again. */
static void receive_arrivals(struct agent_server *own)
{
    receive(own);
    port_sigio_clear(&own->sigio);
    if (own->fd >= 0 && !own->is_closed)
        receive(own);
}

static void *receiver_main(void *userdata)
{
    struct agent_server *own = userdata;

    pthread_setname_np(pthread_self(), "strata-receiver");
    (void)port_sigio_init(&own->sigio); /* without them the port is polled */
    while (!atomic_load(&own->ending)) {
        int n;
        struct pollfd fds[3 + ACCEPT_QUEUE_MAX] = {
            {.fd = own->receiver_bell.fd, .events = POLLIN},
            {.events = POLLIN},
            {.fd = own->endpoint.listen_fd, .events = POLLIN},
        };

        if (own->fd < 0 && own->endpoint.kind != ENDPOINT_LISTEN)
            use_connection(own, accept_connection(own));
        fds[1].fd = own->is_closed ? -1 : own->tells ? own->sigio.fd : own->fd;
        for (unsigned i = 0; i < own->waiting.n; i++)
            fds[3 + i] =
                (struct pollfd){.fd = own->waiting.list[i].has_data ? -1 : own->waiting.list[i].fd,
                                .events = POLLIN};
        n = poll(fds, 3 + own->waiting.n, own->is_unread ? 0 : next_look(own));
        wakeup_disarm(&own->receiver_bell);
        own->is_unread = false;
        if (own->is_closed)
            look_at_closed(own);
        else if (own->tells && (fds[1].revents || n == 0))
            receive_arrivals(own);
        else if (fds[1].revents & POLLIN)
            receive(own);
        else if (fds[1].revents)
            closed(own);
        if (own->endpoint.kind == ENDPOINT_LISTEN)
            accept_hosts(own, fds[2].revents);
        supervise(own, raw_port_now());
    }
    return NULL;
}

/* The sender's thread, and whoever owns all this. */

static void *sender_main(void *userdata)
{
    struct agent_server *own = userdata;

    pthread_setname_np(pthread_self(), "strata-sender");
    session_run(&own->session);
    notify_finished(own->notify);
    return NULL;
}

/* By now another host may be connected: it is not meant. */
static void on_drop(void *userdata, uint64_t connection)
{
    struct agent_server *own = userdata;

    atomic_store(&own->drop, connection);
    wakeup_signal_always(&own->receiver_bell);
}

static int start_threads(struct agent_server *own)
{
    pthread_attr_t attributes;
    int r;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = -pthread_create(&own->sender, &attributes, sender_main, own);
    own->has_sender = r == 0;
    if (r == 0) {
        r = -pthread_create(&own->receiver, &attributes, receiver_main, own);
        own->has_receiver = r == 0;
    }
    pthread_attr_destroy(&attributes);
    return r;
}

int server_new(const struct endpoint *endpoint, const struct tracefs *tracefs, size_t queue_bytes,
               pid_t pid, const uint8_t *key, size_t key_size, const struct agent_log *log,
               struct notify *notify, struct agent_server **ret_own, struct error *error)
{
    struct agent_server *own = calloc(1, sizeof *own);
    uint64_t left;
    int r;

    if (!own)
        return error_set(error, -ENOMEM, "", "out of memory");
    own->log = log;
    own->endpoint = *endpoint;
    own->endpoint.listen_fd = own->endpoint.given_fd = -1; /* until all else is there */
    own->notify = notify;
    own->fd = own->sender_bell.fd = own->receiver_bell.fd = own->sigio.fd = -1;
    frame_tx_init(&own->tx);
    rx_queue_init(&own->rx_queue);
    own->session.tracefs = tracefs;
    own->session.log = log;
    own->session.tx = &own->tx;
    own->session.rx_queue = &own->rx_queue;
    own->session.wakeup = &own->sender_bell;
    own->session.queue_bytes = queue_bytes;
    own->session.pid = pid;
    own->session.key = key;
    own->session.key_size = key_size;
    own->session.notify = notify;
    own->session.drop = on_drop;
    own->session.userdata = own;
    r = session_init(&own->session);
    if (r >= 0)
        r = wakeup_init(&own->sender_bell);
    if (r >= 0)
        r = wakeup_init(&own->receiver_bell);
    if (r >= 0)
        r = proto_reader_init(&own->reader, PROTO_HOST_BODY_MAX);
    if (r >= 0) {
        own->endpoint = *endpoint;
        r = start_threads(own);
        if (r < 0)
            own->endpoint.listen_fd = own->endpoint.given_fd = -1;
    }
    if (r < 0) {
        server_free(own, 0, &left);
        return error_set(error, r, "", "cannot start: %s", strerror(-r));
    }
    *ret_own = own;
    return 0;
}

void server_end(struct agent_server *own, int64_t deadline)
{
    if (!own)
        return;
    atomic_store(&own->session.deadline, deadline);
    atomic_store(&own->session.ending, true);
    wakeup_signal_always(&own->sender_bell);
}

void server_free(struct agent_server *own, int64_t deadline, uint64_t *ret_left)
{
    *ret_left = 0;
    if (!own)
        return;
    server_end(own, deadline);
    if (own->has_sender)
        pthread_join(own->sender, NULL);
    /* Up to here the receiver has gone on, so that a host that leaves is noticed. */
    atomic_store(&own->ending, true);
    if (own->has_receiver) {
        wakeup_signal_always(&own->receiver_bell);
        pthread_join(own->receiver, NULL);
    }
    *ret_left = own->session.pages_left;
    session_done(&own->session);
    if (own->fd >= 0)
        close(own->fd);
    endpoint_done(&own->endpoint);
    frame_tx_done(&own->tx);
    rx_queue_done(&own->rx_queue);
    proto_reader_done(&own->reader);
    port_sigio_done(&own->sigio);
    accept_queue_done(&own->waiting);
    wakeup_done(&own->sender_bell);
    wakeup_done(&own->receiver_bell);
    free(own);
}
