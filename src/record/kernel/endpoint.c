/* SPDX-License-Identifier: MIT */
#include "record/kernel/endpoint.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <linux/vm_sockets.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/fd.h"
#include "base/macro.h"

static int parse_tcp(const char *text, struct guest_endpoint *endpoint, struct error *error)
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
    memcpy(&endpoint->address, found->ai_addr, found->ai_addrlen);
    endpoint->address_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int parse_vsock(const char *text, struct guest_endpoint *endpoint, struct error *error)
{
    struct sockaddr_vm *address = (struct sockaddr_vm *)&endpoint->address;
    uint32_t numbers[2] = {0, GUEST_PORT};

    if (number_pair_parse(text, numbers) < 0)
        return error_set(error, -EINVAL, text, "invalid address (examples: CID, CID:PORT)");
    *address =
        (struct sockaddr_vm){.svm_family = AF_VSOCK, .svm_port = numbers[1], .svm_cid = numbers[0]};
    endpoint->address_len = sizeof *address;
    return 0;
}

static int parse_port(const char *text, struct guest_endpoint *endpoint, struct error *error)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&endpoint->address;

    /* A FIFO's name is longer: PATH.out. */
    if (strlen(text) + 5 > sizeof address->sun_path)
        return error_set(error, -ENAMETOOLONG, text, "too long for the name of a socket");
    endpoint->address_len = sizeof *address;
    return unix_address(text, address) < 0
               ? error_set(error, -EINVAL, text, "not the path of a socket")
               : 0;
}

int guest_endpoint_parse(enum guest_endpoint_kind kind, const char *text,
                         struct guest_endpoint *ret_endpoint, struct error *error)
{
    struct guest_endpoint endpoint = {.kind = kind, .text = text};
    int r = kind == ENDPOINT_TCP     ? parse_tcp(text, &endpoint, error)
            : kind == ENDPOINT_VSOCK ? parse_vsock(text, &endpoint, error)
                                     : parse_port(text, &endpoint, error);

    if (r >= 0)
        *ret_endpoint = endpoint;
    return r;
}

static bool is_fifo(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Opens the FIFOs to read and write: so neither end waits for the other, nor sees an end of file when the other closes. */
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
    /* For fewer wake-ups; not needed. */
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

static void note_bound(struct guest_endpoint *endpoint, int fd)
{
    struct sockaddr_un peer = {0};
    socklen_t len = sizeof peer;

    endpoint->bound[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.sun_family == AF_UNIX)
        snprintf(endpoint->bound, sizeof endpoint->bound, "%.*s", (int)sizeof peer.sun_path,
                 peer.sun_path);
}

int guest_endpoint_connect(struct guest_endpoint *endpoint, int ret_fds[2], unsigned *ret_n,
                           bool *ret_pending, struct error *error)
{
    struct stat st;
    int r = 0;
    int fd;

    if (endpoint->kind == ENDPOINT_PORT && has_fifos(endpoint->text)) {
        int fds[2] = {-1, -1};

        r = open_fifos(endpoint->text, fds);
        if (r < 0)
            return error_set(error, r, endpoint->text, "cannot open its FIFOs: %s", strerror(-r));
        ret_fds[0] = fds[0];
        ret_fds[1] = fds[1];
        *ret_n = 2;
        *ret_pending = false;
        return 0;
    }
    if (endpoint->kind == ENDPOINT_FD) {
        if (endpoint->fd < 0)
            return error_set(error, -ENOTCONN, endpoint->text, "the connection was closed");
        if (fcntl(endpoint->fd, F_SETFL, O_NONBLOCK) < 0)
            return error_set(error, -errno, endpoint->text, "cannot use the connection: %s",
                             strerror(errno));
        ret_fds[0] = endpoint->fd;
        endpoint->fd = -1;
        *ret_n = 1;
        *ret_pending = false;
        return 0;
    }
    fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(error, -errno, endpoint->text, "cannot make a socket: %s",
                         strerror(errno));
    if (connect(fd, (const struct sockaddr *)&endpoint->address, endpoint->address_len) < 0)
        r = -errno;
    if (r < 0 && r != -EINPROGRESS) {
        close(fd);
        return error_set(error, r, endpoint->text, "cannot connect: %s", strerror(-r));
    }
    if (endpoint->kind == ENDPOINT_PORT && fstat(fd, &st) == 0) {
        endpoint->inode = st.st_ino;
        note_bound(endpoint, fd);
    }
    ret_fds[0] = fd;
    *ret_n = 1;
    *ret_pending = r == -EINPROGRESS;
    return 0;
}

int guest_endpoint_result(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

pid_t guest_endpoint_peer(const struct guest_endpoint *endpoint, int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;

    if (endpoint->kind != ENDPOINT_PORT || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return 0;
    return MAX(peer.pid, 0);
}

uint32_t guest_endpoint_cid(const struct guest_endpoint *endpoint)
{
    const struct sockaddr_vm *address = (const struct sockaddr_vm *)&endpoint->address;

    return endpoint->kind == ENDPOINT_VSOCK ? address->svm_cid : 0;
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

/* Whether the socket of number INODE, which is connected, waits for its connection to be accepted: the kernel's diagnosis of it has
 * no other end. */
static bool is_waiting(ino_t inode)
{
    struct {
        struct nlmsghdr head;
        struct unix_diag_req unix;
    } request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .unix = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)inode,
                 .udiag_show = UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    _Alignas(struct nlmsghdr) char answer[1024];
    _cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    const size_t first = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
    struct nlmsghdr head;
    ssize_t n;

    if (fd < 0 || send(fd, &request, sizeof request, 0) < 0)
        return false;
    n = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    if (n < (ssize_t)sizeof head)
        return false;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    for (size_t at = first; at + sizeof(struct nlattr) + sizeof(uint32_t) <= (size_t)n;) {
        struct nlattr attribute;
        uint32_t peer;

        memcpy(&attribute, answer + at, sizeof attribute);
        memcpy(&peer, answer + at + sizeof attribute, sizeof peer);
        if (attribute.nla_type == UNIX_DIAG_PEER)
            return peer == 0;
        at += (MAX((size_t)attribute.nla_len, sizeof attribute) + 3) & ~(size_t)3;
    }
    return false;
}

bool guest_endpoint_is_taken(const struct guest_endpoint *endpoint)
{
    _cleanup_(fclosep) FILE *file =
        endpoint->kind == ENDPOINT_PORT && endpoint->inode != 0 && is_waiting(endpoint->inode)
            ? fopen("/proc/net/unix", "re")
            : NULL;
    bool is_served = false;
    char line[512];

    /* "Num RefCount Protocol Flags Type St Inode Path". A connection that was not accepted yet has no inode. */
    while (file && !is_served && fgets(line, sizeof line, file)) {
        unsigned long inode;
        unsigned flags, state;
        int path = 0;

        line[strcspn(line, "\n")] = '\0';
        is_served =
            sscanf(line, "%*s %*s %*s %x %*s %x %lu %n", &flags, &state, &inode, &path) == 3 &&
            path > 0 && flags == 0 && inode != 0 && strcmp(line + path, endpoint->bound) == 0;
    }
    return is_served;
}
