/* SPDX-License-Identifier: MIT */
#pragma once

/* Where raw pages leave the guest by the old protocol: a port per CPU, or standard output for all.
 *
 * The stream is whole pages, one behind the other, and nothing around them; who reads it knows where a
 * page begins only by counting. So a page that was begun is finished before another is, however often
 * the port is full in between; and when the host has closed its end, the page that was being written is
 * sent again from its start to whoever opens it next. */

#include "agent/reader.h"

/* The sender uses it, and the reader of a CPU for its own pages: each holds `lock` meanwhile. */
struct raw_port {
    pthread_mutex_t lock;
    char name[64];   /* of the port; for messages too */
    const char *dir; /* of ports, as for port_find() */
    int fd;          /* -1: not open now */
    bool is_stdout;
    bool is_socket;
    bool is_careful; /* writes may block: only PIPE_BUF bytes, and only when poll(2) says so */
    bool is_full;    /* until poll(2) says otherwise */
    bool suits;      /* pages may be spliced there (agent/splice.h) */
    bool was_told;
    int dead;               /* standard output: why nothing can be written any more; 0: fine */
    int64_t parked_until;   /* CLOCK_MONOTONIC, ms: the host's end is closed, look again then */
    struct reader *current; /* whose page is being written */
    size_t offset;          /* how much of it was */
    uint64_t pages_sent;
};

/* The port NAME, which is opened. */
int raw_port_open_port(struct raw_port *raw_port, const char *dir, const char *name);
int raw_port_open_stdout(struct raw_port *raw_port);
void raw_port_done(struct raw_port *raw_port);

/* Writes pages of READER's queue until there are none or nothing more fits, once around. Must not be
 * called for another reader in the midst of a page (`offset`). 1: something was written; 0: nothing
 * was, `is_full` or `parked_until` say why. */
int raw_port_send(struct raw_port *raw_port, struct reader *reader, const struct agent_log *log,
                  int64_t now);
/* Splices N_PAGES, which are all that is in READER's pipe; the queue of READER is empty. True: they are out, or the rest of them
 * is in the queue. False: they are in the pipe. */
bool raw_port_pass(struct raw_port *raw_port, struct reader *reader, unsigned n_pages, int64_t now);
/* What poll(2) said about the descriptor. */
void raw_port_polled(struct raw_port *raw_port, short revents, const struct agent_log *log,
                     int64_t now);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t raw_port_now(void);
