/* SPDX-License-Identifier: MIT */
#pragma once

/* The address of a guest's agent, and connections to it. No function waits, except guest_endpoint_parse(), which
 * resolves host names. */

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"

enum guest_endpoint_kind {
    ENDPOINT_PORT,  /* the host's end of a virtio-serial port: a socket, or PATH.in and PATH.out */
    ENDPOINT_TCP,   /* HOST:PORT, [HOST]:PORT */
    ENDPOINT_VSOCK, /* CID or CID:PORT */
    ENDPOINT_VIRTIO_TRACE, /* a directory: record/kernel/virtio_trace.h */
    ENDPOINT_FD,           /* a connected descriptor */
};

/* The default port of TCP and vsock. */
#define GUEST_PORT 4727

struct guest_endpoint {
    enum guest_endpoint_kind kind;
    const char *text; /* as the user gave it, without the guest's name; borrowed */
    struct sockaddr_storage address;
    socklen_t address_len; /* 0: the name is not resolved yet */
    int fd;                /* of ENDPOINT_FD: the socket; -1 after it was used */
    ino_t inode;     /* of the socket to which the last connection to a port was made; 0: none */
    char bound[109]; /* the path that its server bound the socket to, which may be relative */
};

/* KIND is PORT, TCP or VSOCK. Resolves the host name of a TCP address. -EINVAL with ERROR. */
int guest_endpoint_parse(enum guest_endpoint_kind kind, const char *text,
                         struct guest_endpoint *ret_endpoint, struct error *error);

/* Connects. *RET_N non-blocking descriptors: one for both directions, or one to read from and one to write to.
 * *RET_PENDING: the connection is not complete; when ret_fds[0] is writable, guest_endpoint_result() returns the
 * result. -ENOENT, -ECONNREFUSED: no agent listens (yet). -ENOTCONN: the only connection of ENDPOINT_FD was used. */
int guest_endpoint_connect(struct guest_endpoint *endpoint, int ret_fds[2], unsigned *ret_n,
                           bool *ret_pending, struct error *error);
/* Returns 0 or -errno. */
int guest_endpoint_result(int fd);

/* True if the socket of a port serves another client, so that the last connection waits. QEMU serves one client at a
 * time. False if unknown, for example if the socket was bound by another path. */
bool guest_endpoint_is_taken(const struct guest_endpoint *endpoint);

/* The process that created the socket of a port: QEMU, unless another program created it for QEMU. 0: unknown. */
pid_t guest_endpoint_peer(const struct guest_endpoint *endpoint, int fd);

/* The CID of a vsock endpoint; 0: another kind. */
uint32_t guest_endpoint_cid(const struct guest_endpoint *endpoint);

/* Creates the FIFOs PATH.in and PATH.out if they are missing. */
int guest_endpoint_make_fifos(const char *path, struct error *error);
