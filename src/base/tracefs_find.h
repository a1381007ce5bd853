/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds this machine's tracefs. */

#include <stdbool.h>
#include <stddef.h>

/* Opens tracefs by O_PATH, at a usual place or else at any mount of it, and puts the path into RET_PATH. The caller closes the
 * descriptor. -EACCES: tracefs is at *RET_SHUT, a usual place that this process may not enter. -ENOENT: tracefs is not
 * mounted. */
int tracefs_find(char *ret_path, size_t size, const char **ret_shut);
/* Mounts tracefs detached from any directory tree (Linux 5.2, as root), so that only the descriptor refers to it. The caller
 * closes the descriptor. -ENOSYS; -EPERM; -ENODEV: this kernel has no tracefs. */
int tracefs_mount_detached(void);
/* Opens PATH by O_PATH if tracefs is mounted there. The caller closes the descriptor. -ENOENT: it is not mounted there. */
int tracefs_open_mount(const char *path);

#define TRACEFS_USUAL "/sys/kernel/tracing"
