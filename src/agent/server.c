/* SPDX-License-Identifier: MIT */
#include "agent/server.h"

#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/clock_ms.h"
#include "agent/raw_port.h"

/* A network peer that has not authenticated by then is disconnected. */
#define AUTH_TIMEOUT_MS 10000
/* A host that has sent nothing for this long is replaced by another that has connected. Hosts ping. */
#define IDLE_TIMEOUT_MS 5000
/* A host that has not authenticated by then (no HELLO, or no proof of the key) is replaced too. */
#define HELLO_TIMEOUT_MS 1000
/* A frame that is not complete by then is dropped. */
#define FRAME_TIMEOUT_MS 3000
#define PEER_CLOSED_POLL_MS 50
#define CONNECT_RETRY_MS 500
#define STACK_SIZE ((size_t)256 * 1024)

/* The functions below run in the receiver thread. */

static void disconnect(struct agent_server *server)
{
    frame_tx_disconnect(&server->tx);
    rx_queue_leave(&server->rx_queue);
    wakeup_signal_always(&server->sender_wakeup);
    if (server->fd >= 0)
        close(server->fd);
    server->fd = -1;
    server->uses_sigio = false;
    server->is_closed = false;
}

/* The host has closed its end of a port: the port stays open, and the frame in progress is lost. */
static void on_peer_closed(struct agent_server *server)
{
    if (server->is_socket || server->endpoint.kind != ENDPOINT_PORT) {
        disconnect(server);
        return;
    }
    if (server->is_closed)
        return;
    server->is_closed = true;
    frame_tx_disconnect(&server->tx);
    rx_queue_leave(&server->rx_queue);
    wakeup_signal_always(&server->sender_wakeup);
}

static void on_connected(struct agent_server *server)
{
    proto_reader_reset(&server->reader);
    server->is_closed = false;
    server->has_unread = true; /* data may have arrived already */
    server->last_received_ms = server->connected_ms = agent_now_ms();
    frame_tx_connect(&server->tx, server->fd, server->is_socket);
    server->connection = server->tx.connection; /* only this thread changes it */
    wakeup_signal_always(&server->sender_wakeup);
}

/* Accepts a connection at the endpoint; -1: none. */
static int accept_connection(struct agent_server *server)
{
    int fd;
    int r = endpoint_accept(&server->endpoint, &fd);

    if (r == -ENOTCONN) {
        notify_host_gone(server->notify);
        return -1;
    }
    if (r < 0) {
        if (r != -EAGAIN && r != -ECONNREFUSED && r != server->last_error) {
            agent_log(server->log, "%s: %s; trying again", server->endpoint.name, strerror(-r));
            server->last_error = r;
        }
        return -1;
    }
    server->last_error = 0;
    return fd;
}

/* Makes FD the connection; does nothing for -1. */
static void use_connection(struct agent_server *server, int fd)
{
    struct stat st;

    if (fd < 0)
        return;
    if (server->fd >= 0)
        disconnect(server);
    server->fd = fd;
    server->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    server->uses_sigio =
        server->endpoint.kind == ENDPOINT_PORT && port_sigio_watch(&server->sigio, server->fd);
    on_connected(server);
}

/* True if the host has authenticated, so that its other messages count. */
static bool is_authenticated(const struct agent_server *server)
{
    return atomic_load(&server->session.authenticated) == server->connection;
}

static void dispatch_frames(struct agent_server *server, uint64_t came)
{
    struct proto_frame frame;

    while (proto_reader_next(&server->reader, &frame) > 0) {
        struct proto_ping ping;
        int r;

        if (frame.type == PROTO_PING && !frame.flags) {
            if (is_authenticated(server) && proto_get_ping(&frame, &ping) >= 0 &&
                frame_tx_pong(&server->tx, &ping, came))
                wakeup_signal_always(&server->sender_wakeup);
            continue;
        }
        r = rx_queue_put(&server->rx_queue, &frame, server->connection);
        if (r < 0) {
            agent_log(server->log, "%s: too many messages from the host: %s", server->endpoint.name,
                      strerror(-r));
            on_peer_closed(server);
            return;
        }
        wakeup_signal_always(&server->sender_wakeup);
    }
}

static void receive(struct agent_server *server)
{
    /* Bounded, so that a flood from the host does not keep this thread from its other work. */
    for (int i = 0; i < 64 && server->fd >= 0 && !atomic_load(&server->ending); i++) {
        size_t size;
        uint8_t *room = proto_reader_room(&server->reader, &size);
        ssize_t n = read(server->fd, room, size);
        uint64_t came;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            if (n == 0 || server->is_socket)
                on_peer_closed(server);
            else
                disconnect(server);
            return;
        }
        came = frame_tx_now(&server->tx);
        server->last_received_ms = agent_now_ms();
        if (server->is_closed)
            on_connected(server);
        proto_reader_filled(&server->reader, (size_t)n);
        dispatch_frames(server, came);
    }
    server->has_unread = true;
}

/* The end of a frame does not arrive: its sender is gone, and the bytes after its start may be frames
 * of another. */
static void abandon_partial_frame(struct agent_server *server)
{
    while (proto_reader_is_within(&server->reader)) {
        proto_reader_give_up(&server->reader);
        dispatch_frames(server, frame_tx_now(&server->tx));
    }
}

static void check_timeouts(struct agent_server *server, int64_t now)
{
    if (server->fd < 0 || server->is_closed)
        return;
    if (now - server->last_received_ms >= FRAME_TIMEOUT_MS)
        abandon_partial_frame(server);
    if (atomic_load(&server->drop_connection) == server->connection ||
        (server->endpoint.is_network && !is_authenticated(server) &&
         now - server->connected_ms >= AUTH_TIMEOUT_MS))
        disconnect(server);
}

/* True if a waiting host may replace the current one. */
static bool can_switch_host(struct agent_server *server, int64_t now)
{
    return server->fd < 0 || now - server->last_received_ms >= IDLE_TIMEOUT_MS ||
           (!is_authenticated(server) && now - server->connected_ms >= HELLO_TIMEOUT_MS);
}

static void accept_hosts(struct agent_server *server, bool has_come)
{
    int fd = has_come ? accept_connection(server) : -1;

    if (fd >= 0)
        accept_queue_add(&server->accept_queue, fd);
    accept_queue_look(&server->accept_queue);
    if (can_switch_host(server, agent_now_ms()))
        use_connection(server, accept_queue_take(&server->accept_queue));
}

static int poll_timeout_ms(const struct agent_server *server)
{
    if (server->is_closed)
        return PEER_CLOSED_POLL_MS;
    /* No other client can connect, and nothing has begun that might not end. */
    if (server->fd >= 0 && server->endpoint.kind == ENDPOINT_FD &&
        !proto_reader_is_within(&server->reader))
        return -1;
    /* Incoming data wakes the thread. It polls with a timeout only for a host that waits until another host is silent,
     * and for a host that must be disconnected. */
    if (server->fd >= 0 && atomic_load(&server->session.holds) && is_authenticated(server) &&
        server->accept_queue.n == 0 && !proto_reader_is_within(&server->reader))
        return IDLE_TIMEOUT_MS;
    if (server->fd >= 0)
        return 500;
    return server->endpoint.kind == ENDPOINT_LISTEN ? 1000 : CONNECT_RETRY_MS;
}

/* Checks whether the host has opened its end again. */
static void check_peer_reopened(struct agent_server *server)
{
    struct pollfd fd = {.fd = server->fd, .events = POLLIN};

    poll(&fd, 1, 0);
    if (!(fd.revents & (POLLHUP | POLLERR | POLLNVAL)))
        on_connected(server);
    else if ((fd.revents & (POLLERR | POLLNVAL)) && !(fd.revents & POLLIN))
        disconnect(server);
    else
        receive(server); /* fails if the port was removed; another port may have its name by now */
}

/* After `sigio` reported data. PINGs are answered first; data that arrives while `sigio` is cleared is
 * not reported again, hence the second receive(). */
static void receive_after_sigio(struct agent_server *server)
{
    receive(server);
    port_sigio_clear(&server->sigio);
    if (server->fd >= 0 && !server->is_closed)
        receive(server);
}

static void *receiver_main(void *userdata)
{
    struct agent_server *server = userdata;

    pthread_setname_np(pthread_self(), "strata-receiver");
    (void)port_sigio_init(&server->sigio); /* if it fails, the port itself is polled */
    while (!atomic_load(&server->ending)) {
        int n;
        struct pollfd fds[3 + ACCEPT_QUEUE_MAX] = {
            {.fd = server->receiver_wakeup.fd, .events = POLLIN},
            {.events = POLLIN},
            {.fd = server->endpoint.listen_fd, .events = POLLIN},
        };

        if (server->fd < 0 && server->endpoint.kind != ENDPOINT_LISTEN)
            use_connection(server, accept_connection(server));
        fds[1].fd = server->is_closed ? -1 : server->uses_sigio ? server->sigio.fd : server->fd;
        for (unsigned i = 0; i < server->accept_queue.n; i++)
            fds[3 + i] = (struct pollfd){
                .fd = server->accept_queue.list[i].has_data ? -1 : server->accept_queue.list[i].fd,
                .events = POLLIN};
        n = poll(fds, 3 + server->accept_queue.n, server->has_unread ? 0 : poll_timeout_ms(server));
        wakeup_disarm(&server->receiver_wakeup);
        server->has_unread = false;
        if (server->is_closed)
            check_peer_reopened(server);
        else if (server->uses_sigio && (fds[1].revents || n == 0))
            receive_after_sigio(server);
        else if (fds[1].revents & POLLIN)
            receive(server);
        else if (fds[1].revents)
            on_peer_closed(server);
        if (server->endpoint.kind == ENDPOINT_LISTEN)
            accept_hosts(server, fds[2].revents);
        check_timeouts(server, agent_now_ms());
    }
    return NULL;
}

/* The functions below run in the sender thread or in the thread that owns the server. */

static void *sender_main(void *userdata)
{
    struct agent_server *server = userdata;

    pthread_setname_np(pthread_self(), "strata-sender");
    session_run(&server->session);
    notify_finished(server->notify);
    return NULL;
}

/* CONNECTION keeps a host that has connected meanwhile from being dropped. */
static void on_drop(void *userdata, uint64_t connection)
{
    struct agent_server *server = userdata;

    atomic_store(&server->drop_connection, connection);
    wakeup_signal_always(&server->receiver_wakeup);
}

static int start_threads(struct agent_server *server)
{
    pthread_attr_t attributes;
    int r;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = -pthread_create(&server->sender, &attributes, sender_main, server);
    server->has_sender = r == 0;
    if (r == 0) {
        r = -pthread_create(&server->receiver, &attributes, receiver_main, server);
        server->has_receiver = r == 0;
    }
    pthread_attr_destroy(&attributes);
    return r;
}

int server_new(const struct endpoint *endpoint, const struct tracefs *tracefs, size_t queue_bytes,
               pid_t pid, const uint8_t *key, size_t key_size, const struct agent_log *log,
               struct notify *notify, struct agent_server **ret_server, struct error *error)
{
    struct agent_server *server = calloc(1, sizeof *server);
    uint64_t left;
    int r;

    if (!server)
        return error_set(error, -ENOMEM, "", "out of memory");
    server->log = log;
    server->endpoint = *endpoint;
    /* taken over below, when nothing can fail any more */
    server->endpoint.listen_fd = server->endpoint.given_fd = -1;
    server->notify = notify;
    server->fd = server->sender_wakeup.fd = server->receiver_wakeup.fd = server->sigio.fd = -1;
    frame_tx_init(&server->tx);
    rx_queue_init(&server->rx_queue);
    server->session.tracefs = tracefs;
    server->session.log = log;
    server->session.tx = &server->tx;
    server->session.rx_queue = &server->rx_queue;
    server->session.wakeup = &server->sender_wakeup;
    server->session.queue_bytes = queue_bytes;
    server->session.pid = pid;
    server->session.key = key;
    server->session.key_size = key_size;
    server->session.notify = notify;
    server->session.drop_connection = on_drop;
    server->session.userdata = server;
    r = session_init(&server->session);
    if (r >= 0)
        r = wakeup_init(&server->sender_wakeup);
    if (r >= 0)
        r = wakeup_init(&server->receiver_wakeup);
    if (r >= 0)
        r = proto_reader_init(&server->reader, PROTO_HOST_BODY_MAX);
    if (r >= 0) {
        server->endpoint = *endpoint;
        r = start_threads(server);
        if (r < 0)
            server->endpoint.listen_fd = server->endpoint.given_fd = -1;
    }
    if (r < 0) {
        server_free(server, 0, &left);
        return error_set(error, r, "", "cannot start: %s", strerror(-r));
    }
    *ret_server = server;
    return 0;
}

void server_stop(struct agent_server *server, int64_t deadline)
{
    if (!server)
        return;
    atomic_store(&server->session.deadline, deadline);
    atomic_store(&server->session.ending, true);
    wakeup_signal_always(&server->sender_wakeup);
}

void server_free(struct agent_server *server, int64_t deadline, uint64_t *ret_left)
{
    *ret_left = 0;
    if (!server)
        return;
    server_stop(server, deadline);
    if (server->has_sender)
        pthread_join(server->sender, NULL);
    /* The receiver runs until the sender has ended, to detect that a host disconnects. */
    atomic_store(&server->ending, true);
    if (server->has_receiver) {
        wakeup_signal_always(&server->receiver_wakeup);
        pthread_join(server->receiver, NULL);
    }
    *ret_left = server->session.pages_left;
    session_done(&server->session);
    if (server->fd >= 0)
        close(server->fd);
    endpoint_done(&server->endpoint);
    frame_tx_done(&server->tx);
    rx_queue_done(&server->rx_queue);
    proto_reader_done(&server->reader);
    port_sigio_done(&server->sigio);
    accept_queue_done(&server->accept_queue);
    wakeup_done(&server->sender_wakeup);
    wakeup_done(&server->receiver_wakeup);
    free(server);
}
