/* SPDX-License-Identifier: MIT */
#pragma once

/* Where this machine's tracefs is. */

#include <stdbool.h>
#include <stddef.h>

/* Opens tracefs, by O_PATH: where it is usually mounted, or else at any mount of it. -EACCES: it is at *RET_SHUT, one of the
 * usual places, which this process may not enter. -ENOENT: it is mounted nowhere. RET_PATH gets where it was found.
 * The caller closes the descriptor. */
int tracefs_find(char *ret_path, size_t size, const char **ret_shut);
/* Mounts tracefs detached from any directory tree (Linux 5.2, by root): only the descriptor refers to it. -ENOSYS, -EPERM;
 * -ENODEV: this kernel has none. The caller closes the descriptor. */
int tracefs_mount_detached(void);
/* Opens PATH, by O_PATH, if tracefs is mounted there. -ENOENT: it is not. The caller closes the descriptor. */
int tracefs_open_mount(const char *path);

#define TRACEFS_USUAL "/sys/kernel/tracing"
