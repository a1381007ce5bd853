/* SPDX-License-Identifier: MIT */
#pragma once

/* When a host says something at a virtio-serial port.
 *
 * Whoever polls such a port is woken not only by that but each time that the host has taken something, which in a flood
 * of pages is hundreds of times a second for nothing. By SIGIO the kernel tells only of what has come and of a host
 * that opens or closes its end (send_sigio_to_port() in Linux's virtio_console.c, 2.6.37 to 6.x).
 *
 * Belongs to one thread, which has SIGIO blocked from port_sigio_init() on: all below is to be called in it. */

#include <stdbool.h>

struct port_sigio {
    int fd; /* to be polled for POLLIN; -1: there is none */
};

/* 0 or -errno. */
int port_sigio_init(struct port_sigio *sigio);
void port_sigio_done(struct port_sigio *sigio);

/* From now on arrivals at the port FD, until it is closed, make ARRIVALS->fd readable. What has come before does not.
 * False: FD is no such port, and is to be polled itself. */
bool port_sigio_watch(struct port_sigio *sigio, int fd);

/* ARRIVALS->fd is no longer readable. What comes before this returns is to be looked for behind it. */
void port_sigio_clear(struct port_sigio *sigio);
