/* SPDX-License-Identifier: MIT */
#include "record/agent/endpoint.h"

#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/macro.h"

static int parse_tcp(const char *text, struct guest_endpoint *place, struct error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct host_port parts;
    char host[256], port[16];
    int r;

    if (host_port_parse(text, strlen(text), &parts) < 0 || parts.host_len == 0 ||
        parts.host_len >= sizeof host || parts.port_len >= sizeof port)
        return error_set(error, -EINVAL, text, "invalid address (examples: HOST, HOST:PORT)");
    memcpy(host, parts.host, parts.host_len);
    host[parts.host_len] = '\0';
    snprintf(port, sizeof port, "%d", GUEST_PORT);
    if (parts.port)
        snprintf(port, sizeof port, "%s", parts.port);
    r = getaddrinfo(host, port, &hints, &found);
    if (r != 0 || !found)
        return error_set(error, -EINVAL, text, "cannot resolve the address: %s", gai_strerror(r));
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->address_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int parse_vsock(const char *text, struct guest_endpoint *place, struct error *error)
{
    struct sockaddr_vm *address = (struct sockaddr_vm *)&place->address;
    uint32_t numbers[2] = {0, GUEST_PORT};

    if (number_pair_parse(text, numbers) < 0)
        return error_set(error, -EINVAL, text, "invalid address (examples: CID, CID:PORT)");
    *address =
        (struct sockaddr_vm){.svm_family = AF_VSOCK, .svm_port = numbers[1], .svm_cid = numbers[0]};
    place->address_len = sizeof *address;
    return 0;
}

static int parse_port(const char *text, struct guest_endpoint *place, struct error *error)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&place->address;

    /* A FIFO's name is longer: PATH.out. */
    if (strlen(text) + 5 > sizeof address->sun_path)
        return error_set(error, -ENAMETOOLONG, text, "too long for the name of a socket");
    place->address_len = sizeof *address;
    return unix_address(text, address) < 0
               ? error_set(error, -EINVAL, text, "not the path of a socket")
               : 0;
}

int guest_endpoint_parse(enum guest_endpoint_kind kind, const char *text,
                         struct guest_endpoint *ret_place, struct error *error)
{
    struct guest_endpoint place = {.kind = kind, .text = text};
    int r = kind == ENDPOINT_TCP     ? parse_tcp(text, &place, error)
            : kind == ENDPOINT_VSOCK ? parse_vsock(text, &place, error)
                                     : parse_port(text, &place, error);

    if (r >= 0)
        *ret_place = place;
    return r;
}

static bool is_fifo(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* FIFOs are opened to read and write: so neither end waits for the other, nor is cut off when the other
 * end is closed. */
static int open_fifos(const char *path, int fds[2])
{
    char name[300];

    snprintf(name, sizeof name, "%s.out", path);
    fds[0] = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fds[0] < 0)
        return -errno;
    snprintf(name, sizeof name, "%s.in", path);
    fds[1] = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fds[1] < 0) {
        int r = -errno;

        close(fds[0]);
        return r;
    }
    /* Fewer wake-ups; where it is not allowed, so be it. */
    (void)fcntl(fds[0], F_SETPIPE_SZ, 1 << 20);
    return 0;
}

static bool has_fifos(const char *path)
{
    char name[300];

    snprintf(name, sizeof name, "%s.out", path);
    if (!is_fifo(name))
        return false;
    snprintf(name, sizeof name, "%s.in", path);
    return is_fifo(name);
}

int guest_endpoint_connect(struct guest_endpoint *place, int ret_fds[2], unsigned *ret_n,
                           bool *ret_pending, struct error *error)
{
    int r = 0;
    int fd;

    if (place->kind == ENDPOINT_PORT && has_fifos(place->text)) {
        int fds[2];

        r = open_fifos(place->text, fds);
        if (r < 0)
            return error_set(error, r, place->text, "cannot open its FIFOs: %s", strerror(-r));
        ret_fds[0] = fds[0];
        ret_fds[1] = fds[1];
        *ret_n = 2;
        *ret_pending = false;
        return 0;
    }
    if (place->kind == ENDPOINT_FD) {
        if (place->fd < 0)
            return error_set(error, -ENOTCONN, place->text, "its connection is over");
        if (fcntl(place->fd, F_SETFL, O_NONBLOCK) < 0)
            return error_set(error, -errno, place->text, "cannot take the connection: %s",
                             strerror(errno));
        ret_fds[0] = place->fd;
        place->fd = -1;
        *ret_n = 1;
        *ret_pending = false;
        return 0;
    }
    fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(error, -errno, place->text, "cannot make a socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&place->address, place->address_len) < 0)
        r = -errno;
    if (r < 0 && r != -EINPROGRESS) {
        close(fd);
        return error_set(error, r, place->text, "cannot connect: %s", strerror(-r));
    }
    ret_fds[0] = fd;
    *ret_n = 1;
    *ret_pending = r == -EINPROGRESS;
    return 0;
}

int guest_endpoint_made(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

pid_t guest_endpoint_peer(const struct guest_endpoint *place, int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;

    if (place->kind != ENDPOINT_PORT || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return 0;
    return MAX(peer.pid, 0);
}

int guest_endpoint_make_fifos(const char *path, struct error *error)
{
    static const char *const ends[] = {"in", "out"};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        char name[300];

        snprintf(name, sizeof name, "%s.%s", path, ends[i]);
        if (mkfifo(name, 0600) < 0 && (errno != EEXIST || !is_fifo(name)))
            return error_set(error, -errno, name, "cannot make the FIFO: %s", strerror(errno));
    }
    return 0;
}
