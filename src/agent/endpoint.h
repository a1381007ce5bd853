/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a host is met: a virtio-serial port, or an address.
 *
 *   tcp:HOST:PORT     a numeric address; [::1] in brackets. HOST may be * to listen everywhere
 *   unix:PATH         a socket in a file
 *   vsock:PORT        listening; vsock:CID:PORT connecting (the host is CID 2)
 *
 * Names of hosts are not looked up: a static program cannot without the C library's shared parts. */

#include <sys/socket.h>

#include "base/error.h"
#include "base/macro.h"

enum endpoint_kind {
    ENDPOINT_PORT,
    ENDPOINT_LISTEN,
    ENDPOINT_CONNECT,
    ENDPOINT_FD, /* a connection that whoever started us has made: the only one there will be */
};

struct endpoint {
    enum endpoint_kind kind;
    char name[256];  /* the address as it was given, or the port's name */
    const char *dir; /* of ports, as for port_find() */
    bool is_network; /* others can reach it: never without a key */
    struct sockaddr_storage address;
    socklen_t address_size;
    int listen_fd; /* -1: not listening */
    int given_fd;  /* of ENDPOINT_FD; -1: it was taken */
};

/* The address TEXT, to be listened at or connected to. */
int endpoint_parse(const char *text, enum endpoint_kind kind, struct endpoint *ret_endpoint,
                   struct error *error);
/* The port NAME. */
void endpoint_port(const char *dir, const char *name, struct endpoint *ret_endpoint);

/* The connection FD, which is taken over. -EBADF with ERROR: it is none. */
int endpoint_fd(int fd, struct endpoint *ret_endpoint, struct error *error);

/* Makes it ready: begins to listen; finds out whether the port exists (-ENOENT: it does not). */
int endpoint_open(struct endpoint *endpoint, struct error *error);
void endpoint_done(struct endpoint *endpoint);

/* A connection: a descriptor on which nothing blocks. -EAGAIN: not yet; with ENDPOINT_LISTEN poll(2) tells when.
 * -ENOTCONN: there will be none any more. */
int endpoint_accept(struct endpoint *endpoint, int *ret_fd);
