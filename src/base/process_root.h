/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of a process that may have other ones at the same paths: in a container, or after chroot(2). Symbolic links of such a
 * process are followed as it follows them, never to a file outside of its root directory. */

#include <stdbool.h>
#include <sys/types.h>

/* Whether process PID has another root directory or mount namespace than this one. False if that cannot be seen. */
bool process_root_differs(pid_t pid);
/* Whether its mount namespace is another one. */
bool process_root_has_mounts(pid_t pid);
/* Opens PATH as the process does. A relative one is of its working directory, and leads no further up. -errno. */
int process_root_open(pid_t pid, const char *path, int flags);
/* A path without symbolic links by which this process reaches PATH, absolute; allocated. If PATH is not there: as it is,
 * below the root directory of the process. NULL: out of memory. */
char *process_root_path(pid_t pid, const char *path);
/* PATH, as /proc shows it to this process, as process PID names it: its end. */
const char *process_root_inside(pid_t pid, const char *path);
/* Gives this process, which has one thread, the root directory and the mount namespace of process PID, and its user, which must not
 * be trusted: for PID of root, a user that owns nothing. No program that it executes gains rights. -errno: only a part of that may be
 * done. */
int process_root_enter(pid_t pid);
