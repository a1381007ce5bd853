/* SPDX-License-Identifier: MIT */
#pragma once

/* Finding and opening virtio-serial ports.
 *
 * udev creates /dev/virtio-ports/NAME. Without udev a port is /dev/vportXpY, and
 * /sys/class/virtio-ports/vportXpY/name holds its name. A directory that is given instead holds FIFOs
 * or sockets of those names. */

#include <sys/types.h>

#include "base/macro.h"

/* Finds the path of the port NAME. DIR: the directory of the ports; NULL: see above. -ENOENT: no such
 * port (yet). */
int port_find(const char *dir, const char *name, char *ret_path, size_t size);

/* Opens a port for reading and writing, non-blocking; connects to it if it is a listening UNIX socket.
 * -EBUSY: open in another process; -ECONNREFUSED: no process listens at the socket; or an errno of
 * open(2). */
int port_open(const char *path, int *ret_fd);
