/* SPDX-License-Identifier: MIT */
/* The HTTP server, by libmicrohttpd, with a thread per connection, so that a request that reads many events does not
 * delay others. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "libraries/libmicrohttpd.h"
#include "libraries/libpcre2.h"
#include "serve/routes.h"

#define CONNECTIONS_MAX 64u
/* Limit for a connection without traffic. */
#define IDLE_SECONDS 60u
/* The first line and all headers of a request. */
#define HEADERS_MAX ((size_t)64 << 10)
#define BODY_MAX ((size_t)1 << 20)

/* The page loads only what is built in. No other page may embed it. */
#define POLICY "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy", POLICY},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
    {"Cache-Control", "no-store"},
};

static void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    *x->place = NULL;
    request_done(&x->request);
    text_done(&x->body);
    answer_done(&x->answer);
    free(x);
}

/* PLACE has the exchange of a connection. If a request has too many headers or arguments, libmicrohttpd itself refuses
 * it after begin(), and calls neither handle() nor end(). */
static void connect_or_close(void *arg, struct MHD_Connection *connection, void **place,
                             enum MHD_ConnectionNotificationCode code)
{
    struct exchange **own = *place;

    (void)arg;
    (void)connection;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *place = calloc(1, sizeof *own);
        return;
    }
    if (own)
        exchange_free(*own);
    free(own);
    *place = NULL;
}

/* Called after the first line, with TARGET from it. */
static void *begin(void *arg, const char *target, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        libmicrohttpd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct exchange **place = info ? info->socket_context : NULL;
    struct exchange *x = place ? calloc(1, sizeof *x) : NULL;

    if (!x)
        return NULL;
    exchange_free(*place);
    *place = x;
    x->place = place;
    x->server = arg;
    x->body = TEXT_IN_MEMORY;
    answer_init(&x->answer);
    x->request_error = request_parse(target, &x->request);
    return x;
}

static void end(void *arg, struct MHD_Connection *connection, void **state,
                enum MHD_RequestTerminationCode code)
{
    (void)arg;
    (void)connection;
    (void)code;
    exchange_free(*state);
    *state = NULL;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return libmicrohttpd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* -1 for a method that no address accepts. */
static int parse_method(const char *name)
{
    static const char *const names[] = {
        [METHOD_GET] = "GET",
        [METHOD_POST] = "POST",
        [METHOD_PUT] = "PUT",
        [METHOD_DELETE] = "DELETE",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

/* True if the request may be answered. Otherwise the answer says why not. */
static bool is_allowed(struct exchange *x, struct MHD_Connection *connection, const char *method)
{
    struct guard *guard = &x->server->guard;
    struct guard_headers h = {
        .host = header(connection, "Host"),
        .origin = header(connection, "Origin"),
        .site = header(connection, "Sec-Fetch-Site"),
        .mode = header(connection, "Sec-Fetch-Mode"),
        .destination = header(connection, "Sec-Fetch-Dest"),
    };
    const struct request *request = &x->request;
    bool is_page = request->n_parts == 1 || (request->n_parts == 2 && !*request->parts[1]);
    int number = parse_method(method);
    const char *refusal = guard_refuses(guard, &h, is_page && number == METHOD_GET);

    if (refusal)
        answer_error(&x->answer, HTTP_FORBIDDEN, "%s", refusal);
    else if (number < 0)
        answer_error(&x->answer, HTTP_METHOD, "the method is not GET, POST, PUT or DELETE");
    else if (x->request_error == -E2BIG)
        answer_error(&x->answer, HTTP_TOO_LONG, "the address is longer than %d bytes",
                     REQUEST_TARGET_MAX);
    else if (x->request_error == -ENOMEM)
        answer_error(&x->answer, HTTP_FAILED, "out of memory");
    else if (x->request_error < 0)
        answer_error(&x->answer, HTTP_BAD_REQUEST, "malformed address");
    else if (!guard_knows_secret(guard, request->parts[0]))
        answer_error(
            &x->answer, HTTP_FORBIDDEN,
            "the address does not begin with the secret; use the address that strata printed");
    else
        x->method = (enum method)number;
    return x->answer.status == HTTP_OK;
}

static enum MHD_Result send_answer(struct exchange *x, struct MHD_Connection *connection)
{
    struct answer *answer = &x->answer;
    struct MHD_Response *response;
    enum MHD_Result r = MHD_YES;
    char location[SECRET_LEN + 8];

    if (answer->text.error) /* of the error's own text */
        return MHD_NO;
    if (answer->fixed) {
        response = libmicrohttpd.create_response_from_buffer(
            answer->fixed_len, (void *)(uintptr_t)answer->fixed, MHD_RESPMEM_PERSISTENT);
    } else {
        response = libmicrohttpd.create_response_from_buffer(
            answer->text.start ? text_len(&answer->text) : 0, answer->text.start,
            MHD_RESPMEM_MUST_FREE);
        if (response)
            answer->text = TEXT_IN_MEMORY; /* the response's now */
    }
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < ARRAY_SIZE(headers) && r == MHD_YES; i++)
        r = libmicrohttpd.add_response_header(response, headers[i].name, headers[i].value);
    if (r == MHD_YES)
        r = libmicrohttpd.add_response_header(response, "Content-Type", answer->type);
    if (r == MHD_YES && answer->location) {
        snprintf(location, sizeof location, "/%.*s/", SECRET_LEN, answer->location);
        r = libmicrohttpd.add_response_header(response, "Location", location);
    }
    if (r == MHD_YES)
        r = libmicrohttpd.queue_response(connection, answer->status, response);
    libmicrohttpd.destroy_response(response);
    return r;
}

/* Called when the headers were read, for each piece of the body, and after the body. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *piece,
                              size_t *piece_len, void **state)
{
    struct exchange *x = *state;

    (void)arg;
    (void)url;
    (void)version;
    if (!x)
        return MHD_NO;
    if (!x->seen) {
        x->seen = true;
        /* A refusal is sent at once, and the connection closed before the body. */
        return is_allowed(x, connection, method) ? MHD_YES : send_answer(x, connection);
    }
    if (*piece_len > 0) {
        if (x->answer.status == HTTP_OK) {
            text_put(&x->body, piece, *piece_len);
            if (x->body.error)
                answer_failure(&x->answer, x->body.error, NULL);
            else if (text_len(&x->body) > BODY_MAX)
                answer_error(&x->answer, HTTP_TOO_LARGE, "the request is longer than %zu bytes",
                             BODY_MAX);
        }
        *piece_len = 0;
        return MHD_YES;
    }
    if (x->answer.status == HTTP_OK)
        routes_run(x);
    return send_answer(x, connection);
}

static void set_hosts(struct server *server)
{
    struct listeners *listeners = &server->listeners;
    struct guard *guard = &server->guard;
    char name[256];

    guard->any_address = listeners->is_any;
    if (!listeners->is_public || listeners->is_any) {
        guard_add_host(guard, "localhost");
        guard_add_host(guard, "127.0.0.1");
        guard_add_host(guard, "::1");
    }
    if (listeners->is_any) {
        if (gethostname(name, sizeof name) == 0) {
            name[sizeof name - 1] = '\0';
            guard_add_host(guard, name);
        }
    } else if (*listeners->host) {
        guard_add_host(guard, listeners->host);
    }
}

static int start_daemon(struct server *server, unsigned i)
{
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)begin, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)end, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connect_or_close, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    int r = libmicrohttpd_start(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                                    MHD_USE_POLL | MHD_USE_ITC,
                                &server->listeners.fds[i], handle, server, options,
                                &server->daemons[server->n_daemons]);

    if (r == 0)
        server->n_daemons++;
    return r;
}

int server_open(const char *where, struct server **ret_server, struct error *error)
{
    struct server *server = calloc(1, sizeof *server);
    int r;

    if (!server)
        return -ENOMEM;
    r = audience_init(&server->audience, clock_ns(CLOCK_MONOTONIC));
    if (r < 0) {
        free(server);
        return error_set(error, r, NULL, "cannot start the server: %s", error_text(r));
    }
    generations_init(&server->generations);
    tsp_bookmarks_init(&server->bookmarks);
    r = libmicrohttpd_load(error);
    if (r == 0)
        r = libpcre2_load(error);
    if (r == 0)
        r = listeners_open(where, &server->listeners, error);
    if (r == 0)
        r = guard_init(&server->guard, server->listeners.port);
    if (r < 0) {
        server_stop(server);
        return error_set(error, r, NULL, "cannot start the server: %s", error_text(r));
    }
    set_hosts(server);
    snprintf(server->address, sizeof server->address, "http://%s/%s/", server->listeners.shown,
             server->guard.secret);
    *ret_server = server;
    return 0;
}

int server_set_data(struct server *server, const struct server_data *data)
{
    int r = generations_add(&server->generations, data);

    if (r == 0) {
        atomic_store(&server->n_missing, data->n_missing);
        atomic_store(&server->has_losses, data->has_losses);
    }
    return r;
}

void server_set_ended(struct server *server)
{
    generations_end(&server->generations);
}

struct audience *server_audience(struct server *server)
{
    return &server->audience;
}

bool server_has_losses(struct server *server)
{
    struct generation *generation = generations_get(&server->generations, 0);
    bool has_losses = generation && index_summary(generation->index)->n_lost > 0;

    generation_put(generation);
    return has_losses || atomic_load(&server->has_losses);
}

int server_start(struct server *server, const struct server_options *options, struct error *error)
{
    server->options = *options;
    for (unsigned i = 0; i < server->listeners.n; i++) {
        int r = start_daemon(server, i);

        if (r < 0)
            return error_set(error, r, NULL, "cannot start the server: %s", error_text(r));
    }
    return 0;
}

const char *server_address(const struct server *server)
{
    return server->address;
}

bool server_is_public(const struct server *server)
{
    return server->listeners.is_public;
}

struct server *server_stop(struct server *server)
{
    if (!server)
        return NULL;
    atomic_store(&server->stops, true);
    for (unsigned i = 0; i < server->n_daemons; i++)
        libmicrohttpd.stop_daemon(server->daemons[i]);
    listeners_close(&server->listeners);
    generations_done(&server->generations);
    tsp_bookmarks_done(&server->bookmarks);
    audience_done(&server->audience);
    explicit_bzero(server->guard.secret, sizeof server->guard.secret);
    free(server);
    return NULL;
}
