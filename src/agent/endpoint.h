/* SPDX-License-Identifier: MIT */
#pragma once

/* How the agent connects to a host: a virtio-serial port, or an address.
 *
 *   tcp:HOST:PORT     a numeric address, [::1] in brackets; HOST `*` listens on all addresses
 *   unix:PATH         a socket file
 *   vsock:PORT        to listen; vsock:CID:PORT to connect (the host is CID 2)
 *
 * Host names are not resolved, because a static program would need shared parts of the C library for this. */

#include <sys/socket.h>

#include "base/error.h"
#include "base/macro.h"

enum endpoint_kind {
    ENDPOINT_PORT,
    ENDPOINT_LISTEN,
    ENDPOINT_CONNECT,
    ENDPOINT_FD, /* a connected socket from the start of the agent; there will be no other */
};

struct endpoint {
    enum endpoint_kind kind;
    char name[256];  /* the address as given, or the port's name */
    const char *dir; /* directory of the ports; see port_find() */
    bool is_network; /* reachable from other machines; requires a key */
    struct sockaddr_storage address;
    socklen_t address_size;
    int listen_fd; /* -1: not listening */
    int given_fd;  /* of ENDPOINT_FD; -1: already returned by endpoint_accept() */
};

/* Parses the address TEXT, for listening or for connecting. */
int endpoint_parse(const char *text, enum endpoint_kind kind, struct endpoint *ret_endpoint,
                   struct error *error);
/* The virtio-serial port NAME. */
void endpoint_port(const char *dir, const char *name, struct endpoint *ret_endpoint);

/* Uses the connected socket FD, and takes ownership of it. -EBADF with ERROR: not a connected socket. */
int endpoint_fd(int fd, struct endpoint *ret_endpoint, struct error *error);

/* Starts listening, or checks that the port exists. -ENOENT: no such port. */
int endpoint_open(struct endpoint *endpoint, struct error *error);
void endpoint_done(struct endpoint *endpoint);

/* Returns a connection, non-blocking, which the caller owns. -EAGAIN: none yet (with ENDPOINT_LISTEN,
 * poll() for one); -ENOTCONN: none will come any more. */
int endpoint_accept(struct endpoint *endpoint, int *ret_fd);
