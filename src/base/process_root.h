/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of a process that may see other files at the same paths: in a container, or after chroot(2). Symbolic links are
 * followed as the process follows them, and never to a file outside of its root directory. */

#include <stdbool.h>
#include <sys/types.h>

/* True if process PID has another root directory or mount namespace than this process. False if this is not visible. */
bool process_root_differs(pid_t pid);
/* True if process PID has another mount namespace. */
bool process_root_has_mounts(pid_t pid);
/* Opens PATH as the process does. A relative PATH starts at the working directory of the process, and cannot leave it. -errno. */
int process_root_open(pid_t pid, const char *path, int flags);
/* An absolute path without symbolic links by which this process reaches PATH; allocated. If PATH does not exist, it is put
 * unchanged below the root directory of the process. NULL: memory is out. */
char *process_root_path(pid_t pid, const char *path);
/* The end of PATH, as /proc shows it to this process, by which process PID names it. */
const char *process_root_inside(pid_t pid, const char *path);
/* Gives this process, which must have one thread, the root directory, the mount namespace and the user of process PID. If PID is
 * of root, it gets a user that owns nothing, because PID must not be trusted. Programs that it executes gain no rights.
 * -errno: a part of this may be done. */
int process_root_enter(pid_t pid);
