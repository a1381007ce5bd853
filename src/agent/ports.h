/* SPDX-License-Identifier: MIT */
#pragma once

/* Finding and opening virtio-serial ports.
 *
 * udev makes /dev/virtio-ports/NAME. Without it a port is /dev/vportXpY, and which one has a name stands
 * in /sys/class/virtio-ports/vportXpY/name. A directory given instead holds FIFOs or sockets of those names. */

#include <sys/types.h>

#include "base/macro.h"

/* The path of the port NAME. DIR: where ports are, NULL: see above. -ENOENT: there is none yet. */
int port_find(const char *dir, const char *name, char *ret_path, size_t size);

/* Opens it for both directions; nothing on it ever blocks. A listening UNIX socket is connected to.
 * -EBUSY: another process has it; -ECONNREFUSED: nobody listens at the socket; -EACCES, …. */
int port_open(const char *path, int *ret_fd);
