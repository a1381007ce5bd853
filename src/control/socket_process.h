/* SPDX-License-Identifier: MIT */
#pragma once

/* The processes at the ends of a UNIX socket, by the kernel's list of sockets (sock_diag(7)). Nothing is sent to them. */

#include <sys/types.h>

struct socket_process {
    pid_t pid;     /* 0: a process that this user may not look at */
    char name[64]; /* "": unknown */
};

/* Finds another process whose connection the server of the socket PATH has accepted. Returns 1 with *RET; 0: none;
 * -errno: the kernel does not list sockets. */
int socket_find_client(const char *path, struct socket_process *ret);
/* The same for the process that accepts connections to PATH. */
int socket_find_server(const char *path, struct socket_process *ret);
