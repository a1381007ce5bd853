/* SPDX-License-Identifier: MIT */
/* Why a QEMU does not answer on its socket. */
#include <stdio.h>

#include "base/proc.h"
#include "control/qmp.h"
#include "control/socket_process.h"

/* The process that listens on PATH, if a signal has stopped it; else 0. */
static pid_t find_stopped(const char *path)
{
    struct socket_process server;
    uint64_t start;
    char state;

    return socket_find_server(path, &server) > 0 && server.pid > 0 &&
                   proc_stat(server.pid, &start, &state) >= 0 && state == 'T'
               ? server.pid
               : 0;
}

const char *qmp_silence_text(const char *path, char *buf, size_t size)
{
    struct socket_process client;
    int r = socket_find_client(path, &client);
    pid_t stopped = find_stopped(path);

    if (stopped)
        snprintf(buf, size, "QEMU is stopped by a signal; continue it: kill -CONT %ld",
                 (long)stopped);
    else if (r < 0)
        snprintf(buf, size, "it may serve another client");
    else if (r == 0)
        snprintf(buf, size, "QEMU is busy, or stopped");
    else if (client.pid == 0)
        snprintf(buf, size, "it serves another client, a process of another user");
    else
        snprintf(buf, size, "it serves another client, process %ld (%s)", (long)client.pid,
                 client.name);
    return buf;
}
