/* SPDX-License-Identifier: MIT */
#pragma once

/* Waits for data at a virtio-serial port by SIGIO.
 *
 * poll(2) on such a port also returns each time the host has read something: hundreds of needless
 * wakeups a second in a flood of pages. The kernel sends SIGIO only when data arrives and when the host
 * opens or closes its end (send_sigio_to_port() in Linux's virtio_console.c, 2.6.37 to 6.x).
 *
 * All functions must be called in the one thread that called port_sigio_init(), which blocks SIGIO
 * there. */

#include <stdbool.h>

struct port_sigio {
    int fd; /* poll it for POLLIN; -1: not available */
};

/* 0 or -errno. */
int port_sigio_init(struct port_sigio *sigio);
void port_sigio_done(struct port_sigio *sigio);

/* Makes SIGIO->fd readable when data arrives at the port FD from now on, until FD is closed; data that
 * arrived before does not count. Returns false if FD is not a virtio-serial port: poll FD itself. */
bool port_sigio_watch(struct port_sigio *sigio, int fd);

/* Makes SIGIO->fd unreadable. Data that arrives before this returns is not signalled again: read the
 * port afterwards. */
void port_sigio_clear(struct port_sigio *sigio);
