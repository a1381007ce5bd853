/* SPDX-License-Identifier: MIT */
#pragma once

/* When a host says something at a virtio-serial port.
 *
 * Whoever polls such a port is woken not only by that but each time that the host has taken something, which in a flood
 * of pages is hundreds of times a second for nothing. By SIGIO the kernel tells only of what has come and of a host
 * that opens or closes its end (send_sigio_to_port() in Linux's virtio_console.c, 2.6.37 to 6.x).
 *
 * Belongs to one thread, which has SIGIO blocked from arrivals_init() on: all below is to be called in it. */

#include <stdbool.h>

struct arrivals {
    int fd; /* to be polled for POLLIN; -1: there is none */
};

/* 0 or -errno. */
int arrivals_init(struct arrivals *arrivals);
void arrivals_done(struct arrivals *arrivals);

/* From now on arrivals at the port FD, until it is closed, make ARRIVALS->fd readable. What has come before does not.
 * False: FD is no such port, and is to be polled itself. */
bool arrivals_watch(struct arrivals *arrivals, int fd);

/* ARRIVALS->fd is no longer readable. What comes before this returns is to be looked for behind it. */
void arrivals_clear(struct arrivals *arrivals);
