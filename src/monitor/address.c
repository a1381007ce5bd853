/* SPDX-License-Identifier: MIT */
#include "monitor/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"

#define BACKLOG 16

void address_done(struct address *address)
{
    free(address->path);
    free(address->host);
    free(address->port);
    *address = (struct address){0};
}

/* True if OPTION, N bytes, is an option that QEMU's users write after an address and that states what is always so
 * here. */
static bool is_known_option(const char *option, size_t n)
{
    static const char *const known[] = {"server",   "server=on", "nowait",
                                        "wait=off", "nodelay",   "nodelay=on"};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strlen(known[i]) == n && memcmp(known[i], option, n) == 0)
            return true;
    return false;
}

static bool check_options(const char *options)
{
    while (*options == ',') {
        size_t n = strcspn(options + 1, ",");

        if (!is_known_option(options + 1, n))
            return false;
        options += n + 1;
    }
    return *options == '\0';
}

static int parse_tcp(const char *text, size_t n, struct address *address)
{
    struct host_port parts;

    if (host_port_parse(text, n, &parts) < 0 || !parts.port)
        return -EINVAL;
    if (parts.host_len > 0) {
        address->host = strndup(parts.host, parts.host_len);
        if (!address->host)
            return -ENOMEM;
    }
    address->port = strndup(parts.port, parts.port_len);
    return address->port ? 0 : -ENOMEM;
}

int address_parse(const char *text, struct address *ret)
{
    struct address address = {0};
    const char *rest;
    size_t n;
    int r = -EINVAL;

    if (strcmp(text, "stdio") == 0) {
        *ret = (struct address){.kind = ADDRESS_STDIO};
        return 0;
    }
    rest = strchr(text, ':');
    if (!rest)
        return -EINVAL;
    rest++;
    n = strcspn(rest, ",");
    if (n == 0 || !check_options(rest + n))
        return -EINVAL;
    if (strncmp(text, "unix:", 5) == 0) {
        address.kind = ADDRESS_UNIX;
        address.path = strndup(rest, n);
        r = address.path ? 0 : -ENOMEM;
    } else if (strncmp(text, "tcp:", 4) == 0) {
        address.kind = ADDRESS_TCP;
        r = parse_tcp(rest, n, &address);
    }
    if (r < 0) {
        address_done(&address);
        return r;
    }
    *ret = address;
    return 0;
}

static int close_for(int fd, int r)
{
    close(fd);
    return r;
}

/* Removes a socket without a listener. */
static int remove_stale(const struct sockaddr_un *name)
{
    struct stat st;
    int fd;
    int r = 0;

    if (lstat(name->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)name, sizeof(*name)) == 0 || errno != ECONNREFUSED)
        r = -EADDRINUSE;
    else if (unlink(name->sun_path) < 0 && errno != ENOENT)
        r = -errno;
    return close_for(fd, r);
}

static int listen_unix(const char *path, int *ret)
{
    struct sockaddr_un name;
    int fd;
    int r = unix_address(path, &name);

    if (r < 0)
        return r;
    r = remove_stale(&name);
    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* Before there is anything to connect to: what is bound gets the socket's own mode. */
    if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
        return close_for(fd, -errno);
    if (listen(fd, BACKLOG) < 0) {
        r = -errno;
        unlink(path);
        return close_for(fd, r);
    }
    *ret = fd;
    return 0;
}

static int listen_at(const struct addrinfo *info, int *ret)
{
    static const int on = 1;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    info->ai_protocol);

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (info->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return close_for(fd, -errno);
    *ret = fd;
    return 0;
}

static int listen_tcp(const char *host, const char *port, int ret_sockets[ADDRESS_SOCKETS_MAX])
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *infos = NULL;
    int error = getaddrinfo(host, port, &hints, &infos); /* no host: the loopback addresses */
    int n = 0;
    int r = -ENXIO;

    if (error)
        return error == EAI_MEMORY ? -ENOMEM : error == EAI_SYSTEM ? -errno : -ENXIO;
    for (const struct addrinfo *info = infos; info && n < ADDRESS_SOCKETS_MAX;
         info = info->ai_next) {
        r = listen_at(info, &ret_sockets[n]);
        n += r >= 0;
        if (r == -EADDRINUSE) /* not half of it */
            break;
    }
    freeaddrinfo(infos);
    if (r == -EADDRINUSE) {
        while (n)
            close(ret_sockets[--n]);
        return r;
    }
    return n ? n : r;
}

int address_listen(const struct address *address, int ret_sockets[ADDRESS_SOCKETS_MAX])
{
    int r;

    if (address->kind == ADDRESS_TCP)
        return listen_tcp(address->host, address->port, ret_sockets);
    r = listen_unix(address->path, &ret_sockets[0]);
    return r < 0 ? r : 1;
}
