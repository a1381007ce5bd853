/* SPDX-License-Identifier: MIT */
#include "agent/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/ports.h"
#include "base/address.h"

/* "HOST:PORT"; HOST may be in brackets. */
static bool parse_tcp(const char *text, struct endpoint *endpoint)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&endpoint->address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&endpoint->address;
    struct host_port parts;
    uint32_t port[2];
    char host[128];

    if (host_port_parse(text, strlen(text), &parts) < 0 || !parts.port ||
        number_pair_parse(parts.port, port) != 1 || port[0] == 0 || port[0] > UINT16_MAX ||
        parts.host_len >= sizeof host)
        return false;
    memcpy(host, parts.host, parts.host_len);
    host[parts.host_len] = '\0';
    if (strcmp(host, "*") == 0 && endpoint->kind == ENDPOINT_LISTEN)
        memcpy(host, "::", 3);
    if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port[0]);
        endpoint->address_size = sizeof *in;
    } else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)port[0]);
        endpoint->address_size = sizeof *in6;
    } else {
        return false;
    }
    endpoint->is_network = true;
    return true;
}

static bool parse_unix(const char *text, struct endpoint *endpoint)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)&endpoint->address;

    endpoint->address_size = sizeof *un;
    return unix_address(text, un) >= 0;
}

static bool parse_vsock(const char *text, struct endpoint *endpoint)
{
    struct sockaddr_vm *vm = (struct sockaddr_vm *)(void *)&endpoint->address;
    bool is_listening = endpoint->kind == ENDPOINT_LISTEN;
    uint32_t numbers[2] = {0};

    if (number_pair_parse(text, numbers) != (is_listening ? 1 : 2))
        return false;
    vm->svm_family = AF_VSOCK;
    vm->svm_cid = is_listening ? VMADDR_CID_ANY : numbers[0];
    vm->svm_port = is_listening ? numbers[0] : numbers[1];
    endpoint->address_size = sizeof *vm;
    /* Any program of the host can connect, and with vsock's loopback any program of the guest. */
    endpoint->is_network = true;
    return true;
}

int endpoint_parse(const char *text, enum endpoint_kind kind, struct endpoint *ret_endpoint,
                   struct error *error)
{
    static const struct {
        const char *prefix;
        bool (*parse)(const char *text, struct endpoint *endpoint);
    } families[] = {{"tcp:", parse_tcp}, {"unix:", parse_unix}, {"vsock:", parse_vsock}};
    struct endpoint endpoint = {.kind = kind, .listen_fd = -1};

    if ((size_t)snprintf(endpoint.name, sizeof endpoint.name, "%s", text) < sizeof endpoint.name)
        for (unsigned i = 0; i < ARRAY_SIZE(families); i++) {
            size_t len = strlen(families[i].prefix);

            if (strncmp(text, families[i].prefix, len) == 0 &&
                families[i].parse(text + len, &endpoint)) {
                *ret_endpoint = endpoint;
                return 0;
            }
        }
    return error_set(error, -EINVAL, "",
                     "invalid address '%s' to %s (examples: tcp:192.0.2.1:4727, unix:PATH, "
                     "vsock:%sPORT)",
                     text, kind == ENDPOINT_LISTEN ? "listen at" : "connect to",
                     kind == ENDPOINT_LISTEN ? "" : "CID:");
}

void endpoint_port(const char *dir, const char *name, struct endpoint *ret_endpoint)
{
    *ret_endpoint = (struct endpoint){.kind = ENDPOINT_PORT, .dir = dir, .listen_fd = -1};
    snprintf(ret_endpoint->name, sizeof ret_endpoint->name, "%s", name);
}

int endpoint_fd(int fd, struct endpoint *ret_endpoint, struct error *error)
{
    struct endpoint endpoint = {.kind = ENDPOINT_FD, .listen_fd = -1, .given_fd = fd};
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
        return error_set(error, -EBADF, "", "descriptor %d is not a connection: %s", fd,
                         flags < 0 ? strerror(errno) : "not a socket");
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return error_set(error, -errno, "", "descriptor %d: %s", fd, strerror(errno));
    snprintf(endpoint.name, sizeof endpoint.name, "descriptor %d", fd);
    *ret_endpoint = endpoint;
    return 0;
}

static int listen_at(struct endpoint *endpoint)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&endpoint->address;
    struct stat st;
    int on = 1, off = 0, fd, r;

    fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (endpoint->is_network)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (endpoint->address.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    /* Removes the socket that an earlier agent left. */
    if (endpoint->address.ss_family == AF_UNIX && lstat(un->sun_path, &st) == 0 &&
        S_ISSOCK(st.st_mode)) {
        int other;

        if (port_open(un->sun_path, &other) >= 0) {
            close(other);
            close(fd);
            return -EADDRINUSE;
        }
        unlink(un->sun_path);
    }
    /* The socket's mode becomes the file's mode. */
    if ((endpoint->address.ss_family == AF_UNIX && fchmod(fd, 0600) < 0) ||
        bind(fd, (const struct sockaddr *)&endpoint->address, endpoint->address_size) < 0 ||
        listen(fd, 4) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    endpoint->listen_fd = fd;
    return 0;
}

int endpoint_open(struct endpoint *endpoint, struct error *error)
{
    char path[512];
    int r = 0;

    if (endpoint->kind == ENDPOINT_PORT) {
        r = port_find(endpoint->dir, endpoint->name, path, sizeof path);
        if (r < 0)
            return error_set(error, r, endpoint->name, "%s",
                             r == -ENOENT ? "no such virtio-serial port" : strerror(-r));
    } else if (endpoint->kind == ENDPOINT_LISTEN) {
        r = listen_at(endpoint);
        if (r < 0)
            return error_set(error, r, endpoint->name, "cannot listen there: %s", strerror(-r));
    }
    return 0;
}

void endpoint_done(struct endpoint *endpoint)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&endpoint->address;

    if (endpoint->kind == ENDPOINT_FD && endpoint->given_fd >= 0)
        close(endpoint->given_fd);
    endpoint->given_fd = -1;
    if (endpoint->listen_fd < 0)
        return;
    /* Unlink before closing, or the next agent could take the file for a stale one while it creates its
     * own. */
    if (endpoint->address.ss_family == AF_UNIX)
        unlink(un->sun_path);
    close(endpoint->listen_fd);
    endpoint->listen_fd = -1;
}

/* Makes TCP detect a host that vanished (keepalive). */
static void watch_over(const struct endpoint *endpoint, int fd)
{
    int on = 1, idle = 5, interval = 2, count = 3;

    if (!endpoint->is_network || endpoint->address.ss_family == AF_VSOCK)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static int connect_to(const struct endpoint *endpoint, int *ret_fd)
{
    int fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0;

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&endpoint->address, endpoint->address_size) < 0) {
        error = errno;
        /* Wait briefly: the agent may have to end meanwhile. */
        if (error == EINPROGRESS) {
            error = ETIMEDOUT;
            if (poll(&wait, 1, 500) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
                error = errno;
        }
    }
    if (error) {
        close(fd);
        return -error;
    }
    *ret_fd = fd;
    return 0;
}

int endpoint_accept(struct endpoint *endpoint, int *ret_fd)
{
    char path[512];
    int fd = -1, r;

    switch (endpoint->kind) {
    case ENDPOINT_PORT:
        r = port_find(endpoint->dir, endpoint->name, path, sizeof path);
        return r < 0 ? r : port_open(path, ret_fd);
    case ENDPOINT_FD:
        if (endpoint->given_fd < 0)
            return -ENOTCONN;
        *ret_fd = endpoint->given_fd;
        endpoint->given_fd = -1;
        return 0;
    case ENDPOINT_CONNECT:
        r = connect_to(endpoint, &fd);
        if (r < 0)
            return r;
        break;
    default:
        fd = accept4(endpoint->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
    }
    watch_over(endpoint, fd);
    *ret_fd = fd;
    return 0;
}
