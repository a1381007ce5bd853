/* SPDX-License-Identifier: MIT */
#include "serve/file_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"

/* A browser opens some before it needs them. */
#define CONNECTIONS_MAX 8
#define BACKLOG 16
/* A connection on which nothing is received or sent. */
#define IDLE_MS 15000
#define CHUNK ((size_t)128 << 10)

enum state {
    UNUSED,
    READING, /* the request */
    SENDING, /* the answer */
    ENDING,  /* all was sent: waits for the other side to close */
};

struct connection {
    enum state state;
    int fd;
    int64_t active_ms; /* when something was last received or sent */
    char request[FILE_REQUEST_MAX];
    size_t n_request;
    struct file_answer answer;
    size_t n_sent;   /* of the answer's head */
    uint64_t offset; /* of the file: what was sent */
};

struct file_server {
    const struct file_site *site;
    int listener, file, stop_fd;
    struct connection connections[CONNECTIONS_MAX];
    char chunk[CHUNK];
    bool is_fetched;
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC);
}

int file_server_listen(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    int r = 0;

    if (fd < 0)
        return -errno;
    /* The port is free again as soon as the server before has ended. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0) {
        r = -errno;
        close(fd);
    }
    return r < 0 ? r : fd;
}

static void drop(struct connection *connection)
{
    close(connection->fd);
    connection->state = UNUSED;
}

static bool is_sending_file(const struct connection *connection)
{
    return connection->answer.has_file &&
           (connection->state == SENDING || connection->state == ENDING);
}

static bool is_busy(const struct file_server *server)
{
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        if (is_sending_file(&server->connections[i]))
            return true;
    return false;
}

/* An unused one; else the one that has been idle for longest and is not sent the file. NULL: there is none. */
static struct connection *find_room(struct file_server *server)
{
    struct connection *room = NULL;

    for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &server->connections[i];

        if (connection->state == UNUSED)
            return connection;
        if (!is_sending_file(connection) && (!room || connection->active_ms < room->active_ms))
            room = connection;
    }
    if (room)
        drop(room);
    return room;
}

static void accept_one(struct file_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct connection *connection;

    if (fd < 0)
        return;
    connection = find_room(server);
    if (!connection) {
        close(fd);
        return;
    }
    connection->state = READING;
    connection->fd = fd;
    connection->active_ms = now_ms();
    connection->n_request = 0;
    connection->n_sent = 0;
    connection->offset = 0;
    connection->answer.has_file = false;
}

static void receive(struct file_server *server, struct connection *connection)
{
    size_t room = sizeof connection->request - connection->n_request;
    ssize_t n = recv(connection->fd, connection->request + connection->n_request, room, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(connection);
        return;
    }
    connection->active_ms = now_ms();
    connection->n_request += (size_t)n;
    if (file_request_is_whole(connection->request, connection->n_request)) {
        file_request_answer(server->site, connection->request, connection->n_request,
                            is_busy(server), &connection->answer);
        connection->state = SENDING;
    } else if (connection->n_request == sizeof connection->request) {
        drop(connection);
    }
}

/* Sends N bytes at P, or some of them. How many; 0: there is no room; -1: the connection is gone. */
static ssize_t send_some(struct connection *connection, const char *p, size_t n)
{
    ssize_t sent = send(connection->fd, p, n, MSG_NOSIGNAL);

    if (sent >= 0) {
        connection->active_ms = now_ms();
        return sent;
    }
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    drop(connection);
    return -1;
}

/* Sends more of the file. False: there is no more to send, for now or at all. */
static bool send_file(struct file_server *server, struct connection *connection)
{
    uint64_t left = server->site->size - connection->offset;
    ssize_t n = pread(server->file, server->chunk, (size_t)MIN(left, (uint64_t)CHUNK),
                      (off_t)connection->offset);
    ssize_t sent;

    /* The file became shorter: the other side must not take what it has for all of it. */
    if (n <= 0) {
        drop(connection);
        return false;
    }
    sent = send_some(connection, server->chunk, (size_t)n);
    if (sent > 0)
        connection->offset += (uint64_t)sent;
    return sent == n;
}

static void send_answer(struct file_server *server, struct connection *connection)
{
    struct file_answer *answer = &connection->answer;
    bool has_room = true;

    if (connection->n_sent < answer->len) {
        ssize_t n = send_some(connection, answer->head + connection->n_sent,
                              answer->len - connection->n_sent);

        if (n <= 0)
            return;
        connection->n_sent += (size_t)n;
    }
    while (answer->has_file && has_room && connection->offset < server->site->size)
        has_room = send_file(server, connection);
    if (connection->state == SENDING && connection->n_sent == answer->len &&
        (!answer->has_file || connection->offset == server->site->size)) {
        shutdown(connection->fd, SHUT_WR);
        connection->state = ENDING;
    }
}

/* The other side has received all when it closes. */
static void wait_for_close(struct file_server *server, struct connection *connection)
{
    ssize_t n = recv(connection->fd, connection->request, sizeof connection->request, 0);

    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    if (connection->answer.has_file && n == 0)
        server->is_fetched = true;
    drop(connection);
}

static void drop_idle(struct file_server *server)
{
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        if (server->connections[i].state != UNUSED &&
            now_ms() - server->connections[i].active_ms >= IDLE_MS)
            drop(&server->connections[i]);
}

/* Until when to sleep. */
static int64_t find_deadline(const struct file_server *server, int64_t deadline)
{
    if (is_busy(server))
        deadline = INT64_MAX;
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        if (server->connections[i].state != UNUSED)
            deadline = MIN(deadline, server->connections[i].active_ms + IDLE_MS);
    return deadline;
}

/* One round: sleeps, and serves what is ready. 1: go on; 0: stopped; -errno. */
static int serve(struct file_server *server, int64_t deadline)
{
    struct pollfd fds[CONNECTIONS_MAX + 2] = {
        {server->stop_fd, POLLIN, 0},
        {server->listener, POLLIN, 0},
    };
    int64_t left = find_deadline(server, deadline) - now_ms();

    for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
        const struct connection *connection = &server->connections[i];

        fds[i + 2].fd = connection->state == UNUSED ? -1 : connection->fd;
        fds[i + 2].events = connection->state == SENDING ? POLLOUT : POLLIN;
    }
    if (poll(fds, ARRAY_SIZE(fds), (int)MIN(MAX(left, 0), 60000)) < 0)
        return errno == EINTR ? 1 : -errno;
    if (fds[0].revents)
        return 0;
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &server->connections[i];

        if (!fds[i + 2].revents)
            continue;
        switch (connection->state) {
        case READING: receive(server, connection); break;
        case SENDING: send_answer(server, connection); break;
        case ENDING: wait_for_close(server, connection); break;
        case UNUSED: break;
        }
    }
    if (fds[1].revents)
        accept_one(server);
    drop_idle(server);
    return 1;
}

int file_server_run(int listener, const struct file_site *site, int file, int stop_fd,
                    unsigned wait_ms)
{
    _cleanup_free_ struct file_server *server = calloc(1, sizeof *server);
    int64_t deadline = now_ms() + wait_ms;
    int r = 1;

    if (!server)
        return -ENOMEM;
    server->site = site;
    server->listener = listener;
    server->file = file;
    server->stop_fd = stop_fd;
    while (r > 0 && !server->is_fetched && (now_ms() < deadline || is_busy(server)))
        r = serve(server, deadline);
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        if (server->connections[i].state != UNUSED)
            drop(&server->connections[i]);
    return r <= 0 ? r : server->is_fetched ? 1 : -ETIMEDOUT;
}
