/* SPDX-License-Identifier: MIT */
#include "metrics/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/clock_ns.h"
#include "libraries/libmicrohttpd.h"

/* With another one, the oldest ends: clients that say nothing keep none from its answer. */
#define CONNECTIONS_MAX 16u
/* … for libmicrohttpd, which closes them a little later. */
#define SOCKETS_MAX (2 * CONNECTIONS_MAX)
#define IDLE_SECONDS 10u
/* Limit of a connection's life. A client that sends byte after byte is never idle, and would keep others out. */
#define CONNECTION_NS (10 * NSEC_PER_SEC)
#define HEADERS_MAX ((size_t)16 * 1024)
#define NS_PER_MS UINT64_C(1000000)

#define OPENMETRICS "application/openmetrics-text"
#define OPENMETRICS_TYPE OPENMETRICS "; version=1.0.0; charset=utf-8"
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct client {
    struct MHD_Connection *connection; /* NULL: a free place */
    uint64_t until;                    /* CLOCK_MONOTONIC, ns; UINT64_MAX: it was shut down */
};

struct metrics_server {
    const struct metrics *metrics;
    metrics_collect *collect;
    void *userdata;
    struct MHD_Daemon *daemons[METRICS_SERVER_LISTENERS_MAX];
    int fds[METRICS_SERVER_LISTENERS_MAX]; /* the daemons' epoll sets */
    unsigned n;
    bool is_local; /* other machines cannot connect */
    struct client clients[METRICS_SERVER_LISTENERS_MAX * SOCKETS_MAX];
};

/* ---- What a client accepts ---- */

/* The weight of one media range, LEN bytes, of its parameters, in thousandths: "q=0.5" is 500. */
static unsigned weight_of(const char *range, size_t len)
{
    for (size_t i = 0; i + 3 < len; i++) {
        const char *q = range + i;
        unsigned weight = 0, unit = 100;

        if ((q[0] != ';' && q[0] != ' ') || (q[1] != 'q' && q[1] != 'Q') || q[2] != '=')
            continue;
        if (q[3] != '0')
            break;
        for (size_t j = i + 5; j < len && range[j] >= '0' && range[j] <= '9'; j++, unit /= 10)
            weight += (unsigned)(range[j] - '0') * unit;
        return weight;
    }
    return 1000;
}

/* The largest weight of TYPE in ACCEPT; 0: it is not there. */
static unsigned accept_weight(const char *accept, const char *type)
{
    size_t type_len = strlen(type);
    unsigned weight = 0;

    while (*accept) {
        size_t len;

        accept += strspn(accept, " \t,");
        len = strcspn(accept, ",");
        if (len >= type_len && strncasecmp(accept, type, type_len) == 0 &&
            (len == type_len || strchr("; \t", accept[type_len])))
            weight = MAX(weight, weight_of(accept, len));
        accept += len;
    }
    return weight;
}

enum metrics_format metrics_format_of_accept(const char *accept)
{
    unsigned openmetrics = accept ? accept_weight(accept, OPENMETRICS) : 0;

    return openmetrics > 0 && openmetrics >= accept_weight(accept, "text/plain")
               ? METRICS_OPENMETRICS
               : METRICS_TEXT;
}

/* ---- Requests ---- */

/* Frees nothing of TEXT that is the response's. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct text *text)
{
    size_t len = text->error ? 0 : text_len(text);
    struct MHD_Response *response =
        libmicrohttpd.create_response_from_buffer(len, text->start, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result r = MHD_NO;

    if (response) {
        if (text->error)
            status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        (void)libmicrohttpd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        (void)libmicrohttpd.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
        (void)libmicrohttpd.add_response_header(response, "X-Content-Type-Options", "nosniff");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
            (void)libmicrohttpd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
        r = libmicrohttpd.queue_response(connection, status, response);
        libmicrohttpd.destroy_response(response);
    }
    text_done(text);
    return r;
}

static enum MHD_Result answer_message(struct MHD_Connection *connection, unsigned status,
                                      const char *message)
{
    struct text text = TEXT_IN_MEMORY;

    text_put_str(&text, message);
    return answer(connection, status, "text/plain; charset=utf-8", &text);
}

static bool is_local(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;

    return getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6) &&
           address_is_loopback((const struct sockaddr *)&address);
}

/* HOST, the header, names this machine itself: not a site whose name resolves to it, for a page in this machine's browser
 * ("DNS rebinding"). */
static bool names_local(const char *host)
{
    static const char local[] = "localhost";
    struct host_port parts;

    if (!host || host_port_parse(host, strlen(host), &parts) < 0)
        return false;
    return (parts.host_len == sizeof local - 1 &&
            strncasecmp(parts.host, local, sizeof local - 1) == 0) ||
           host_port_is_address(&parts);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *piece,
                              size_t *piece_len, void **state)
{
    static char seen;
    struct metrics_server *server = arg;
    struct text text = TEXT_IN_MEMORY;
    const char *accept;
    enum metrics_format format;

    (void)version;
    (void)piece;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_message(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is possible\n");
    if (!*state) { /* the headers alone: what follows would be a body */
        *state = &seen;
        return MHD_YES;
    }
    if (*piece_len > 0) {
        *piece_len = 0;
        return MHD_YES;
    }
    if (server->is_local && !names_local(libmicrohttpd.lookup_connection_value(
                                connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return answer_message(connection, MHD_HTTP_FORBIDDEN,
                              "the header Host does not name this machine: use localhost or an "
                              "address\n");
    if (strcmp(url, "/metrics") != 0)
        return answer_message(connection, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
    accept =
        libmicrohttpd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    format = metrics_format_of_accept(accept);
    server->collect(server->userdata);
    metrics_put(server->metrics, format, &text);
    return answer(connection, MHD_HTTP_OK,
                  format == METRICS_OPENMETRICS ? OPENMETRICS_TYPE : TEXT_TYPE, &text);
}

/* ---- Connections ---- */

/* libmicrohttpd then sees that it has ended. */
static void end_connection(struct client *client)
{
    const union MHD_ConnectionInfo *info =
        libmicrohttpd.get_connection_info(client->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    client->until = UINT64_MAX;
    if (info)
        (void)shutdown(info->connect_fd, SHUT_RDWR);
}

static void end_oldest_connection(struct metrics_server *server)
{
    struct client *oldest = NULL;
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(server->clients); i++) {
        struct client *client = &server->clients[i];

        if (!client->connection || client->until == UINT64_MAX)
            continue;
        n++;
        if (!oldest || client->until < oldest->until)
            oldest = client;
    }
    if (n > CONNECTIONS_MAX)
        end_connection(oldest);
}

static void note_connection(void *arg, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode code)
{
    struct metrics_server *server = arg;
    const struct MHD_Connection *sought = code == MHD_CONNECTION_NOTIFY_STARTED ? NULL : connection;

    (void)context;
    for (unsigned i = 0; i < ARRAY_SIZE(server->clients); i++) {
        if (server->clients[i].connection != sought)
            continue;
        server->clients[i] =
            sought ? (struct client){0}
                   : (struct client){connection, clock_ns(CLOCK_MONOTONIC) + CONNECTION_NS};
        break;
    }
    if (!sought)
        end_oldest_connection(server);
}

static void end_old_connections(struct metrics_server *server)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    for (unsigned i = 0; i < ARRAY_SIZE(server->clients); i++)
        if (server->clients[i].connection && now >= server->clients[i].until)
            end_connection(&server->clients[i]);
}

/* ---- The server ---- */

static int start_daemon(struct metrics_server *server, int *listener)
{
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, SOCKETS_MAX, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)note_connection, server},
        {MHD_OPTION_END, 0, NULL},
    };
    const union MHD_DaemonInfo *info;
    struct MHD_Daemon *daemon;
    int r = libmicrohttpd_start(MHD_USE_EPOLL, listener, handle, server, options, &daemon);

    if (r < 0)
        return r;
    server->daemons[server->n] = daemon;
    info = libmicrohttpd.get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    server->fds[server->n++] = info ? info->epoll_fd : -1;
    return info && info->epoll_fd >= 0 ? 0 : -EOPNOTSUPP;
}

int metrics_server_new(int *sockets, unsigned n, const struct metrics *metrics,
                       metrics_collect *collect, void *userdata, struct metrics_server **ret,
                       struct error *error)
{
    struct metrics_server *server = calloc(1, sizeof *server);
    int r = server ? libmicrohttpd_load(error) : -ENOMEM;

    if (server) {
        server->metrics = metrics;
        server->collect = collect;
        server->userdata = userdata;
        server->is_local = true;
    }
    for (unsigned i = 0; server && i < n; i++)
        server->is_local &= is_local(sockets[i]);
    for (unsigned i = 0; r >= 0 && i < MIN(n, METRICS_SERVER_LISTENERS_MAX); i++)
        r = start_daemon(server, &sockets[i]);
    if (r < 0) {
        metrics_server_free(server);
        return error_set(error, r, NULL, "cannot serve metrics: %s", strerror(-r));
    }
    *ret = server;
    return 0;
}

const int *metrics_server_fds(const struct metrics_server *server, unsigned *ret_n)
{
    *ret_n = server->n;
    return server->fds;
}

uint64_t metrics_server_timeout(const struct metrics_server *server)
{
    uint64_t timeout = UINT64_MAX, now = clock_ns(CLOCK_MONOTONIC);

    for (unsigned i = 0; i < server->n; i++) {
        MHD_UNSIGNED_LONG_LONG ms;

        if (libmicrohttpd.get_timeout(server->daemons[i], &ms) == MHD_YES &&
            ms < UINT64_MAX / NS_PER_MS)
            timeout = MIN(timeout, (uint64_t)ms * NS_PER_MS);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(server->clients); i++) {
        const struct client *client = &server->clients[i];

        if (client->connection && client->until != UINT64_MAX)
            timeout = MIN(timeout, client->until > now ? client->until - now : 0);
    }
    return timeout;
}

static bool is_full(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info =
        libmicrohttpd.get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info && info->num_connections >= SOCKETS_MAX;
}

/* libmicrohttpd does not listen while it has its maximum of connections, and begins again with the next call after one of them
 * has ended. */
static void run(struct MHD_Daemon *daemon)
{
    bool was_full;

    do {
        was_full = is_full(daemon);
        (void)libmicrohttpd.run(daemon);
    } while (was_full && !is_full(daemon));
}

void metrics_server_run(struct metrics_server *server)
{
    end_old_connections(server);
    for (unsigned i = 0; i < server->n; i++)
        run(server->daemons[i]);
}

void metrics_server_free(struct metrics_server *server)
{
    if (!server)
        return;
    for (unsigned i = 0; i < server->n; i++)
        libmicrohttpd.stop_daemon(server->daemons[i]);
    free(server);
}
