/* SPDX-License-Identifier: MIT */
#include "serve/file_server.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "libraries/libmicrohttpd.h"

/* A browser opens some connections before it needs them. */
#define CONNECTIONS_MAX 64u
/* Limit for a connection without traffic. */
#define IDLE_SECONDS 15u
#define HEADERS_MAX ((size_t)32 << 10)
/* The size of the socket's buffer, whose contents count as sent. It is small, so that a fetch that breaks off earlier
 * does not count. */
#define SEND_ROOM (128 << 10)

struct file_server {
    const struct file_site *site;
    int file;
    struct MHD_Daemon *daemon;
    struct MHD_Connection *sending; /* the connection that gets the file, or NULL */
    bool is_sent;
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    const char *value = libmicrohttpd.lookup_connection_value(connection, MHD_HEADER_KIND, name);

    return value ? value : "";
}

/* True if TARGET is the file's path. Compares all of it, so that the time tells nothing about the secret. */
static bool is_path(const struct file_site *site, const char *target)
{
    size_t len = strlen(site->path), n = strlen(target);
    unsigned differences = n != len;

    for (size_t i = 0; i < n && i < len; i++)
        differences |= (unsigned char)target[i] ^ (unsigned char)site->path[i];
    return differences == 0;
}

/* Called after the first line, with TARGET from it. Returns what handle() gets: a mark for the file's path, NULL for
 * another. */
static void *begin(void *arg, const char *target, struct MHD_Connection *connection)
{
    static char mark;
    const struct file_server *server = arg;

    (void)connection;
    return is_path(server->site, target) ? &mark : NULL;
}

static unsigned find_status(const struct file_server *server, struct MHD_Connection *connection,
                            const char *method, bool is_file)
{
    bool is_get = strcmp(method, MHD_HTTP_METHOD_GET) == 0;

    if (!guard_accepts_host(&server->site->guard, header(connection, MHD_HTTP_HEADER_HOST)) ||
        strcmp(header(connection, MHD_HTTP_HEADER_ORIGIN), server->site->origin) != 0)
        return MHD_HTTP_FORBIDDEN;
    if (!is_file)
        return MHD_HTTP_NOT_FOUND;
    if (strcmp(method, MHD_HTTP_METHOD_OPTIONS) == 0)
        return MHD_HTTP_NO_CONTENT;
    if (!is_get && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    return is_get && server->sending ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK;
}

/* Makes the response with the file, or an empty one. NULL if out of memory. */
static struct MHD_Response *make_response(const struct file_server *server, unsigned status)
{
    static char nothing[1];
    struct MHD_Response *response;
    int fd;

    if (status != MHD_HTTP_OK)
        return libmicrohttpd.create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    fd = fcntl(server->file, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    response = libmicrohttpd.create_response_from_fd64(server->site->size, fd);
    if (!response)
        close(fd);
    return response;
}

static void add_headers(const struct file_server *server, struct MHD_Connection *connection,
                        unsigned status, struct MHD_Response *response)
{
    const struct {
        const char *name, *value;
        bool is_given;
    } headers[] = {
        {MHD_HTTP_HEADER_VARY, "Origin", true},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store", true},
        {"X-Content-Type-Options", "nosniff", true},
        {MHD_HTTP_HEADER_CONNECTION, "close", true},
        /* Only the site learns anything. */
        {MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, server->site->origin,
         status != MHD_HTTP_FORBIDDEN},
        {MHD_HTTP_HEADER_CONTENT_TYPE, "application/octet-stream", status == MHD_HTTP_OK},
        {MHD_HTTP_HEADER_ALLOW, "GET, HEAD, OPTIONS", status == MHD_HTTP_METHOD_NOT_ALLOWED},
        {"Access-Control-Allow-Methods", "GET, HEAD", status == MHD_HTTP_NO_CONTENT},
        {"Access-Control-Allow-Private-Network", "true",
         status == MHD_HTTP_NO_CONTENT &&
             strcmp(header(connection, "Access-Control-Request-Private-Network"), "true") == 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        if (headers[i].is_given)
            (void)libmicrohttpd.add_response_header(response, headers[i].name, headers[i].value);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *piece,
                              size_t *piece_len, void **state)
{
    struct file_server *server = arg;
    unsigned status = find_status(server, connection, method, *state != NULL);
    struct MHD_Response *response = make_response(server, status);
    enum MHD_Result r;

    (void)url;
    (void)version;
    (void)piece;
    (void)piece_len;
    if (!response)
        return MHD_NO;
    add_headers(server, connection, status, response);
    r = libmicrohttpd.queue_response(connection, status, response);
    libmicrohttpd.destroy_response(response);
    if (r == MHD_YES && status == MHD_HTTP_OK && strcmp(method, MHD_HTTP_METHOD_GET) == 0)
        server->sending = connection;
    return r;
}

static void end(void *arg, struct MHD_Connection *connection, void **state,
                enum MHD_RequestTerminationCode code)
{
    struct file_server *server = arg;

    (void)state;
    if (connection != server->sending)
        return;
    server->sending = NULL;
    server->is_sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

/* Returns the descriptor to wait for, or a negative errno. */
static int start(struct file_server *server, int listener)
{
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)begin, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)end, server},
        {MHD_OPTION_END, 0, NULL},
    };
    const union MHD_DaemonInfo *info;
    int room = SEND_ROOM;
    int r;

    (void)setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    r = libmicrohttpd_start(MHD_USE_EPOLL, &listener, handle, server, options, &server->daemon);
    if (r < 0)
        return r;
    info = libmicrohttpd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info && info->epoll_fd >= 0 ? info->epoll_fd : -EOPNOTSUPP;
}

/* Waits once, and serves what is ready. 1 to continue; 0 if stopped; a negative errno. */
static int serve(struct file_server *server, int fd, int stop_fd, int64_t deadline)
{
    struct pollfd fds[] = {{stop_fd, POLLIN, 0}, {fd, POLLIN, 0}};
    int64_t left = server->sending ? INT32_MAX : MAX(deadline - now_ms(), 0);
    MHD_UNSIGNED_LONG_LONG ms;

    if (libmicrohttpd.get_timeout(server->daemon, &ms) == MHD_YES && ms < (uint64_t)left)
        left = (int64_t)ms;
    if (poll(fds, ARRAY_SIZE(fds), (int)MIN(left, 60000)) < 0)
        return errno == EINTR ? 1 : -errno;
    if (fds[0].revents)
        return 0;
    (void)libmicrohttpd.run(server->daemon);
    return 1;
}

int file_server_run(int listener, const struct file_site *site, int file, int stop_fd,
                    unsigned wait_ms, struct error *error)
{
    struct file_server server = {.site = site, .file = file};
    int64_t deadline = now_ms() + wait_ms;
    int fd, r = libmicrohttpd_load(error);

    if (r < 0) {
        close(listener);
        return r;
    }
    fd = r = start(&server, listener);
    if (r >= 0)
        r = 1;
    while (r > 0 && !server.is_sent && (server.sending || now_ms() < deadline))
        r = serve(&server, fd, stop_fd, deadline);
    if (server.daemon)
        libmicrohttpd.stop_daemon(server.daemon);
    if (r > 0)
        r = server.is_sent ? 1 : -ETIMEDOUT;
    return r < 0 ? error_set(error, r, NULL, "cannot serve the trace: %s", error_text(r)) : r;
}
