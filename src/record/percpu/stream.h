/* SPDX-License-Identifier: MIT */
#pragma once

/* A recorder's output: a file that must not fill its disk, or a pipe whose reader may be slow. A piece
 * is written as a whole or not at all, except to a pipe. Not thread-safe. */

#include <sys/uio.h>

#include "base/clock_ns.h"
#include "base/error.h"
#include "record/stop_signals.h"

struct stream {
    int fd; /* borrowed */
    char path[256];
    bool regular;
    uint64_t written;
    uint64_t max;     /* bytes; 0: any number */
    uint64_t reserve; /* bytes to leave free on the disk; 0: no limit */
    uint64_t
        until; /* CLOCK_MONOTONIC ns: from then on a reader that does not read is not waited for
                       * longer than STREAM_TIMEOUT_NS; UINT64_MAX: never */
    struct stop_signals *signals; /* that end what waits for a pipe; NULL: none */
};

enum {
    STREAM_WRITTEN = 0,
    STREAM_MAX = 1,     /* not written: it would be more than `max` */
    STREAM_RESERVE = 2, /* not written: less than `reserve` would be free */
};

/* How long a reader may be stuck, when the end has come. */
#define STREAM_TIMEOUT_NS (2 * NSEC_PER_SEC)

/* Writes to FD from its current offset. */
int stream_init(struct stream *ret, int fd, const char *path, struct error *error);

/* One of STREAM_…; -ENOSPC, -EIO, -EPIPE and the like with ERROR; -ETIMEDOUT: a pipe's reader does not
 * read, and the end had come. PARTS are changed. */
int stream_write(struct stream *output, struct iovec *parts, unsigned n, struct error *error);
/* From now on the end has come. */
void stream_hurry(struct stream *output);
