/* SPDX-License-Identifier: MIT */
#include "base/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"

#define BACKLOG 64
/* Ports that the kernel chose for 127.0.0.1 and that are in use on [::1]. */
#define TRIES 16

static unsigned port_of(const struct sockaddr *address)
{
    return ntohs(address->sa_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)address)->sin_port);
}

/* Listens on ADDRESS. The descriptor, or -errno. */
static int listen_on(const struct sockaddr *address, socklen_t size)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0)
        return -errno;
    /* A port is free again as soon as the server before has ended; no second server can listen on it. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        (address->sa_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
        bind(fd, address, size) < 0 || listen(fd, BACKLOG) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

static int add(struct listeners *listeners, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_storage bound;
    socklen_t bound_size = sizeof bound;
    int fd = listen_on(address, size);

    if (fd < 0)
        return fd;
    if (getsockname(fd, (struct sockaddr *)&bound, &bound_size) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    listeners->port = port_of((struct sockaddr *)&bound);
    listeners->fds[listeners->n++] = fd;
    return 0;
}

/* Both addresses of this machine, with the same port: who gets "localhost" from another program may try either. */
static int open_loopback(unsigned port, struct listeners *listeners)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int r = 0;

    for (unsigned tries = 0; tries < TRIES; tries++) {
        r = add(listeners, (struct sockaddr *)&ipv4, sizeof ipv4);
        if (r < 0)
            return r;
        ipv6.sin6_port = htons((uint16_t)listeners->port);
        r = add(listeners, (struct sockaddr *)&ipv6, sizeof ipv6);
        if (r != -EADDRINUSE) /* else there is no IPv6 */
            return 0;
        listeners_close(listeners);
        if (port != 0)
            break;
    }
    return r;
}

static bool is_any(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == INADDR_ANY;
}

static int open_host(const char *where, unsigned port, struct listeners *listeners,
                     struct error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *addresses;
    char service[16];
    int r;

    snprintf(service, sizeof service, "%u", port);
    r = getaddrinfo(listeners->host, service, &hints, &addresses);
    if (r != 0)
        return error_set(error, r == EAI_MEMORY ? -ENOMEM : -EINVAL, NULL,
                         "cannot find the address '%s': %s", where, gai_strerror(r));
    r = -EAFNOSUPPORT;
    for (const struct addrinfo *a = addresses; a && r < 0; a = a->ai_next) {
        r = add(listeners, a->ai_addr, a->ai_addrlen);
        listeners->is_public = !address_is_loopback(a->ai_addr);
        listeners->is_any = is_any(a->ai_addr);
    }
    freeaddrinfo(addresses);
    return r;
}

/* The port in WHERE, which is of LEN characters. */
static int parse_port(const char *s, size_t len, unsigned *ret)
{
    unsigned v = 0;

    if (len == 0 || len > 5)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -EINVAL;
        v = v * 10 + (unsigned)(s[i] - '0');
    }
    if (v > UINT16_MAX)
        return -EINVAL;
    *ret = v;
    return 0;
}

/* What the printed address begins with: the name that the user gave, or one of this machine. */
static void put_shown(struct listeners *listeners)
{
    char name[256];
    const char *host = *listeners->host ? listeners->host : "127.0.0.1";
    bool brackets;

    if (listeners->is_any && gethostname(name, sizeof name) == 0) {
        name[sizeof name - 1] = '\0';
        host = name;
    }
    brackets = strchr(host, ':');
    snprintf(listeners->shown, sizeof listeners->shown, "%s%s%s:%u", brackets ? "[" : "", host,
             brackets ? "]" : "", listeners->port);
}

/* What WHERE names; NULL: nothing. -EINVAL with ERROR. */
static int parse(const char *where, struct host_port *ret_parts, unsigned *ret_port,
                 struct error *error)
{
    struct host_port parts = {0};
    unsigned port = 0;

    /* A number alone is a port; getaddrinfo() would read an address. */
    if (where && where[strspn(where, "0123456789")] != '\0' &&
        (host_port_parse(where, strlen(where), &parts) < 0 ||
         parts.host_len >= sizeof((struct listeners *)NULL)->host ||
         (parts.port && parse_port(parts.port, parts.port_len, &port) < 0)))
        return error_set(
            error, -EINVAL, NULL,
            "invalid address '%s' (examples: 8080, 192.0.2.1:8080, [2001:db8::1]:8080)", where);
    if (where && !parts.host && parse_port(where, strlen(where), &port) < 0)
        return error_set(error, -EINVAL, NULL, "invalid port '%s' (example: 8080)", where);
    *ret_parts = parts;
    *ret_port = port;
    return 0;
}

int listeners_check(const char *where, struct error *error)
{
    struct host_port parts;
    unsigned port;

    return parse(where, &parts, &port, error);
}

int listeners_open(const char *where, struct listeners *ret, struct error *error)
{
    struct listeners listeners = {0};
    struct host_port parts;
    unsigned port = 0;
    int r = parse(where, &parts, &port, error);

    if (r < 0)
        return r;
    if (parts.host && parts.host_len > 0) {
        memcpy(listeners.host, parts.host, parts.host_len);
        r = open_host(where, port, &listeners, error);
    } else {
        r = open_loopback(port, &listeners);
    }
    if (r < 0) {
        listeners_close(&listeners);
        if (r == -EADDRINUSE)
            return error_set(error, r, NULL,
                             "port %u is in use; without --listen, strata chooses a free one",
                             port);
        return error_set(error, r, NULL, "cannot listen on '%s': %s", where ? where : "127.0.0.1",
                         error_text(r));
    }
    put_shown(&listeners);
    *ret = listeners;
    return 0;
}

void listeners_close(struct listeners *listeners)
{
    for (unsigned i = 0; i < listeners->n; i++)
        if (listeners->fds[i] >= 0)
            close(listeners->fds[i]);
    listeners->n = 0;
}
