/* SPDX-License-Identifier: MIT */
#include "agent/own.h"

#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/outlet.h"

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

static void disconnect(struct own *own)
{
    wire_disconnect(&own->wire);
    bell_ring_always(&own->sender_bell);
    if (own->fd >= 0)
        close(own->fd);
    own->fd = -1;
    own->tells = false;
    own->is_closed = false;
}

/* The host's end of a port is closed: the port stays ours, and what was under way is lost. */
static void closed(struct own *own)
{
    if (own->is_socket || own->endpoint.kind != ENDPOINT_PORT) {
        disconnect(own);
        return;
    }
    if (own->is_closed)
        return;
    own->is_closed = true;
    wire_disconnect(&own->wire);
    bell_ring_always(&own->sender_bell);
}

static void begin(struct own *own)
{
    link_reader_reset(&own->reader);
    own->is_closed = false;
    own->is_unread = true; /* by now something may have come */
    own->heard = own->connected = outlet_now();
    wire_connect(&own->wire, own->fd, own->is_socket);
    own->connection = own->wire.connection; /* nobody else changes it */
    bell_ring_always(&own->sender_bell);
}

/* A new connection at the endpoint; -1: there is none. */
static int accept_connection(struct own *own)
{
    int fd;
    int r = endpoint_accept(&own->endpoint, &fd);

    if (r == -ENOTCONN) {
        notify_host_gone(own->notify);
        return -1;
    }
    if (r < 0) {
        if (r != -EAGAIN && r != -ECONNREFUSED && r != own->last_error) {
            say(own->say, "%s: %s; it is tried again", own->endpoint.name, strerror(-r));
            own->last_error = r;
        }
        return -1;
    }
    own->last_error = 0;
    return fd;
}

/* FD is the connection from now on; -1: none. */
static void use_connection(struct own *own, int fd)
{
    struct stat st;

    if (fd < 0)
        return;
    if (own->fd >= 0)
        disconnect(own);
    own->fd = fd;
    own->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    own->tells = own->endpoint.kind == ENDPOINT_PORT && arrivals_watch(&own->arrivals, own->fd);
    begin(own);
}

/* Whether the host may ask for more than to be admitted. */
static bool is_admitted(struct own *own)
{
    return atomic_load(&own->session.admitted) == own->connection;
}

static void take_frames(struct own *own, uint64_t came)
{
    struct link_frame frame;

    while (link_reader_next(&own->reader, &frame) > 0) {
        struct link_ping ping;
        int r;

        if (frame.type == LINK_PING && !frame.flags) {
            if (is_admitted(own) && link_get_ping(&frame, &ping) >= 0 &&
                wire_pong(&own->wire, &ping, came))
                bell_ring_always(&own->sender_bell);
            continue;
        }
        r = inbox_put(&own->inbox, &frame, own->connection);
        if (r < 0) {
            say(own->say, "%s: the host says more than can be held: %s", own->endpoint.name,
                strerror(-r));
            closed(own);
            return;
        }
        bell_ring_always(&own->sender_bell);
    }
}

static void receive(struct own *own)
{
    /* Not for ever, however much the host has to say. */
    for (int i = 0; i < 64 && own->fd >= 0 && !atomic_load(&own->ending); i++) {
        size_t size;
        uint8_t *room = link_reader_room(&own->reader, &size);
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
        came = wire_now(&own->wire);
        own->heard = outlet_now();
        if (own->is_closed)
            begin(own);
        link_reader_filled(&own->reader, (size_t)n);
        take_frames(own, came);
    }
    own->is_unread = true;
}

/* The end of a frame does not come: who began it is gone, and what followed is another's. */
static void give_up_frames(struct own *own)
{
    while (link_reader_is_within(&own->reader)) {
        link_reader_give_up(&own->reader);
        take_frames(own, wire_now(&own->wire));
    }
}

static void supervise(struct own *own, int64_t now)
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
static bool has_room(struct own *own, int64_t now)
{
    return own->fd < 0 || now - own->heard >= SILENT_MS ||
           (!is_admitted(own) && now - own->connected >= ADMIT_MS);
}

static void accept_hosts(struct own *own, bool has_come)
{
    int fd = has_come ? accept_connection(own) : -1;

    if (fd >= 0)
        accept_queue_add(&own->waiting, fd);
    accept_queue_look(&own->waiting);
    if (has_room(own, outlet_now()))
        use_connection(own, accept_queue_take(&own->waiting));
}

static int next_look(const struct own *own)
{
    if (own->is_closed)
        return CLOSED_MS;
    if (own->fd >= 0)
        return 500;
    return own->endpoint.kind == ENDPOINT_LISTEN ? 1000 : CONNECT_MS;
}

/* Is the other end open again? */
static void look_at_closed(struct own *own)
{
    struct pollfd fd = {.fd = own->fd, .events = POLLIN};

    poll(&fd, 1, 0);
    if (!(fd.revents & (POLLHUP | POLLERR | POLLNVAL)))
        begin(own);
    else if (fd.revents & POLLIN)
        receive(own);
    else if (fd.revents & (POLLERR | POLLNVAL))
        disconnect(own);
}

/* What ARRIVALS told of. A PING is answered first; what comes while that is cleared is not told again. */
static void receive_arrivals(struct own *own)
{
    receive(own);
    arrivals_clear(&own->arrivals);
    if (own->fd >= 0 && !own->is_closed)
        receive(own);
}

static void *receiver_main(void *userdata)
{
    struct own *own = userdata;

    pthread_setname_np(pthread_self(), "strata-receiver");
    (void)arrivals_init(&own->arrivals); /* without them the port is polled */
    while (!atomic_load(&own->ending)) {
        int n;
        struct pollfd fds[3 + ACCEPT_QUEUE_MAX] = {
            {.fd = own->receiver_bell.fd, .events = POLLIN},
            {.events = POLLIN},
            {.fd = own->endpoint.listen_fd, .events = POLLIN},
        };

        if (own->fd < 0 && own->endpoint.kind != ENDPOINT_LISTEN)
            use_connection(own, accept_connection(own));
        fds[1].fd = own->is_closed ? -1 : own->tells ? own->arrivals.fd : own->fd;
        for (unsigned i = 0; i < own->waiting.n; i++)
            fds[3 + i] =
                (struct pollfd){.fd = own->waiting.list[i].has_data ? -1 : own->waiting.list[i].fd,
                                .events = POLLIN};
        n = poll(fds, 3 + own->waiting.n, own->is_unread ? 0 : next_look(own));
        bell_disarm(&own->receiver_bell);
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
        supervise(own, outlet_now());
    }
    return NULL;
}

/* The sender's thread, and whoever owns all this. */

static void *sender_main(void *userdata)
{
    struct own *own = userdata;

    pthread_setname_np(pthread_self(), "strata-sender");
    session_run(&own->session);
    notify_finished(own->notify);
    return NULL;
}

/* By now another host may be connected: it is not meant. */
static void on_drop(void *userdata, uint64_t connection)
{
    struct own *own = userdata;

    atomic_store(&own->drop, connection);
    bell_ring_always(&own->receiver_bell);
}

static int start_threads(struct own *own)
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

int own_new(const struct endpoint *endpoint, const struct tracefs *tracefs, size_t queue_bytes,
            pid_t pid, const uint8_t *key, size_t key_size, const struct say *say_to,
            struct notify *notify, struct own **ret_own, struct fault *fault)
{
    struct own *own = calloc(1, sizeof *own);
    uint64_t left;
    int r;

    if (!own)
        return fault_plain(fault, -ENOMEM, "", "out of memory");
    own->say = say_to;
    own->endpoint = *endpoint;
    own->endpoint.listen_fd = own->endpoint.given_fd = -1; /* until all else is there */
    own->notify = notify;
    own->fd = own->sender_bell.fd = own->receiver_bell.fd = own->arrivals.fd = -1;
    wire_init(&own->wire);
    inbox_init(&own->inbox);
    own->session.tracefs = tracefs;
    own->session.say = say_to;
    own->session.wire = &own->wire;
    own->session.inbox = &own->inbox;
    own->session.bell = &own->sender_bell;
    own->session.queue_bytes = queue_bytes;
    own->session.pid = pid;
    own->session.key = key;
    own->session.key_size = key_size;
    own->session.notify = notify;
    own->session.drop = on_drop;
    own->session.userdata = own;
    r = session_init(&own->session);
    if (r >= 0)
        r = bell_init(&own->sender_bell);
    if (r >= 0)
        r = bell_init(&own->receiver_bell);
    if (r >= 0)
        r = link_reader_init(&own->reader, LINK_HOST_BODY_MAX);
    if (r >= 0) {
        own->endpoint = *endpoint;
        r = start_threads(own);
        if (r < 0)
            own->endpoint.listen_fd = own->endpoint.given_fd = -1;
    }
    if (r < 0) {
        own_free(own, 0, &left);
        return fault_plain(fault, r, "", "cannot start: %s", strerror(-r));
    }
    *ret_own = own;
    return 0;
}

void own_end(struct own *own, int64_t deadline)
{
    if (!own)
        return;
    atomic_store(&own->session.deadline, deadline);
    atomic_store(&own->session.ending, true);
    bell_ring_always(&own->sender_bell);
}

void own_free(struct own *own, int64_t deadline, uint64_t *ret_left)
{
    *ret_left = 0;
    if (!own)
        return;
    own_end(own, deadline);
    if (own->has_sender)
        pthread_join(own->sender, NULL);
    /* Up to here the receiver has gone on, so that a host that leaves is noticed. */
    atomic_store(&own->ending, true);
    if (own->has_receiver) {
        bell_ring_always(&own->receiver_bell);
        pthread_join(own->receiver, NULL);
    }
    *ret_left = own->session.pages_left;
    session_done(&own->session);
    if (own->fd >= 0)
        close(own->fd);
    endpoint_done(&own->endpoint);
    wire_done(&own->wire);
    inbox_done(&own->inbox);
    link_reader_done(&own->reader);
    arrivals_done(&own->arrivals);
    accept_queue_done(&own->waiting);
    bell_done(&own->sender_bell);
    bell_done(&own->receiver_bell);
    free(own);
}
