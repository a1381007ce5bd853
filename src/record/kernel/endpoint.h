/* SPDX-License-Identifier: MIT */
#pragma once

/* The address of a guest's agent, and connections to it. No function waits, but guest_endpoint_parse() for a host's name. */

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"

enum guest_endpoint_kind {
    ENDPOINT_PORT,  /* the host's end of a virtio-serial port: a socket, or PATH.in and PATH.out */
    ENDPOINT_TCP,   /* HOST:PORT, [HOST]:PORT */
    ENDPOINT_VSOCK, /* CID or CID:PORT */
    ENDPOINT_VIRTIO_TRACE, /* a directory: record/kernel/virtio_trace.h */
    ENDPOINT_FD,           /* a descriptor that is connected */
};

/* The default port of TCP and vsock. */
#define GUEST_PORT 4727

struct guest_endpoint {
    enum guest_endpoint_kind kind;
    const char *text; /* as the user gave it, without the guest's name; borrowed */
    struct sockaddr_storage address;
    socklen_t address_len; /* 0: not looked up yet */
    int fd;                /* of ENDPOINT_FD, a socket; -1 after it was used */
    ino_t inode;           /* of the socket of the last connection to a port; 0: none */
    char bound[109];       /* the name that its server gave to the socket, which may be relative */
};

/* Of PORT, TCP or VSOCK. -EINVAL with ERROR. Of TCP it resolves the host's name. */
int guest_endpoint_parse(enum guest_endpoint_kind kind, const char *text,
                         struct guest_endpoint *ret_endpoint, struct error *error);

/* Connects. *RET_N descriptors, which do not block: one for both ways, or one to read from and one to write to. *RET_PENDING:
 * the connection is not complete; when ret_fds[0] is writable, guest_endpoint_result() has the result. -ENOENT, -ECONNREFUSED:
 * no agent listens (yet). -ENOTCONN: the only connection of ENDPOINT_FD was used. */
int guest_endpoint_connect(struct guest_endpoint *endpoint, int ret_fds[2], unsigned *ret_n,
                           bool *ret_pending, struct error *error);
/* 0, -errno. */
int guest_endpoint_result(int fd);

/* Whether the socket of a port serves another client, and lets the last connection wait: QEMU serves one. False if it is not known,
 * as where the socket was bound by another path. */
bool guest_endpoint_is_taken(const struct guest_endpoint *endpoint);

/* The process that made the socket of a port: QEMU, unless another program made it for QEMU. 0: not known. */
pid_t guest_endpoint_peer(const struct guest_endpoint *endpoint, int fd);

/* The CID of a vsock endpoint; 0: another kind. */
uint32_t guest_endpoint_cid(const struct guest_endpoint *endpoint);

/* Makes the FIFOs PATH.in and PATH.out where they are missing. */
int guest_endpoint_make_fifos(const char *path, struct error *error);
