/* SPDX-License-Identifier: MIT */
#pragma once

/* Output of the virtio-trace protocol: raw pages to a port per CPU, or to standard output for all CPUs.
 *
 * The stream is whole pages without anything in between; a program that reads it finds the start of a
 * page only by counting. So a started page is finished before the next one, however often the port is
 * full in between; and if the host closes its end, the interrupted page is sent again from its start to
 * the next program that opens it. */

#include "agent/reader.h"

/* Used by the sender thread, and by a CPU's reader for its own pages; both hold `lock`. */
struct raw_port {
    pthread_mutex_t lock;
    char name[64];   /* the port's name; also for messages */
    const char *dir; /* of ports; see port_find() */
    int fd;          /* -1: not open now */
    bool is_stdout;
    bool is_socket;
    /* writes may block: write at most PIPE_BUF bytes, and only when poll(2) allows it */
    bool may_block;
    bool is_full;    /* until poll(2) says otherwise */
    bool can_splice; /* see agent/splice.h */
    bool error_reported;
    /* standard output: -errno after which no write is possible; 0: usable */
    int dead;
    /* CLOCK_MONOTONIC, ms: the host has closed its end; try again at this time */
    int64_t parked_until;
    struct reader *current; /* whose page is being written */
    size_t offset;          /* bytes of it that are written */
    uint64_t pages_sent;
};

/* Opens the port NAME. */
int raw_port_open_port(struct raw_port *raw_port, const char *dir, const char *name);
int raw_port_open_stdout(struct raw_port *raw_port);
void raw_port_done(struct raw_port *raw_port);

/* Writes pages from READER's queue until it is empty or the port is full, at most once around the
 * queue. Must not be called for another reader while a page is half written (`offset`). Returns 1:
 * something was written; 0: nothing, because the queue is empty, `is_full` or `parked_until`. */
int raw_port_send(struct raw_port *raw_port, struct reader *reader, const struct agent_log *log,
                  int64_t now);
/* Splices the N_PAGES that are in READER's pipe; READER's queue is empty. Returns true if all were
 * sent, or the rest was moved to the queue; false if they are still in the pipe. */
bool raw_port_splice(struct raw_port *raw_port, struct reader *reader, unsigned n_pages,
                     int64_t now);
/* Handles REVENTS of poll(2) on `fd`. */
void raw_port_polled(struct raw_port *raw_port, short revents, const struct agent_log *log,
                     int64_t now);
