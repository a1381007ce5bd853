/* SPDX-License-Identifier: MIT */
#pragma once

/* Where the agent of a guest is reached, and connections to there. None of it waits. */

#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"

enum guest_endpoint_kind {
    ENDPOINT_PORT,  /* the host's end of a virtio-serial port: a socket, or PATH.in and PATH.out */
    ENDPOINT_TCP,   /* HOST:PORT, [HOST]:PORT */
    ENDPOINT_VSOCK, /* CID or CID:PORT */
    ENDPOINT_VIRTIO_TRACE, /* a directory: record/agent/virtio_trace.h */
    ENDPOINT_FD,           /* a connection that is there, the only one */
};

/* The port on which the agent listens where none is given, of TCP and vsock. */
#define GUEST_PORT 4727

struct guest_endpoint {
    enum guest_endpoint_kind kind;
    const char *text; /* as the user gave it, without the name; borrowed */
    struct sockaddr_storage address;
    socklen_t address_len; /* 0: not looked up yet */
    int fd;                /* of ENDPOINT_FD, a socket; -1: it was handed out */
};

/* Not of ENDPOINT_VIRTIO_TRACE and ENDPOINT_FD. -EINVAL with ERROR. TCP looks the host up, which may take a while. */
int guest_endpoint_parse(enum guest_endpoint_kind kind, const char *text,
                         struct guest_endpoint *ret_place, struct error *error);

/* A connection that is made, or is being made: then *RET_PENDING, and ret_fds[0] becomes writable, and
 * guest_endpoint_made() tells how it went. *RET_N descriptors, which do not block: one for both ways, or one to
 * read from and one to write to. -ENOENT, -ECONNREFUSED: nobody is there (yet).
 * -ENOTCONN: of ENDPOINT_FD, nobody will be there any more. */
int guest_endpoint_connect(struct guest_endpoint *place, int ret_fds[2], unsigned *ret_n,
                           bool *ret_pending, struct error *error);
/* 0, -errno. */
int guest_endpoint_made(int fd);

/* Whose socket it is that a port led to: QEMU's own, unless somebody else made it for QEMU. 0: not known. */
pid_t guest_endpoint_peer(const struct guest_endpoint *place, int fd);

/* Makes the FIFOs PATH.in and PATH.out where they are missing. */
int guest_endpoint_make_fifos(const char *path, struct error *error);
