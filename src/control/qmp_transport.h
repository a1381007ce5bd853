/* SPDX-License-Identifier: MIT */
#pragma once

/* The transport of QMP's lines: a socket (qmp_socket.c), or the daemon that owns the monitor (libvirt_qmp.c). The QMP
 * client (qmp.h) is the same for both. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct qmp;

struct qmp_transport {
    const struct qmp_transport_ops *ops;
    int fd; /* descriptor to poll for reading; -1: none */
};

/* An operation sets ERROR if the error has its own text; other errors are reported by their errno. */
struct qmp_transport_ops {
    /* True: the monitor sends a greeting and expects qmp_capabilities. False: this is already done, and the monitor
     * sends no events. */
    bool greets;
    /* Sends all of TEXT, which is one object and a newline. */
    int (*send)(struct qmp_transport *transport, const char *text, size_t len, struct error *error);
    /* *RET is the next line, with a NUL in place of its newline, valid until the next call. Waits until
     * CLOCK_MONOTONIC reaches UNTIL_NS; 0: does not wait. -EAGAIN: no whole line has come. */
    int (*receive)(struct qmp_transport *transport, uint64_t until_ns, char **ret,
                   struct error *error);
    /* Ends a wait of another thread. */
    void (*shutdown)(struct qmp_transport *transport);
    void (*free)(struct qmp_transport *transport);
};

/* Takes ownership of TRANSPORT, even on failure. NAME is for messages. */
int qmp_open(struct qmp_transport *transport, const char *name, struct qmp **ret,
             struct error *error);
