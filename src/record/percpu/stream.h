/* SPDX-License-Identifier: MIT */
#pragma once

/* A recorder's output: a file that must not fill its disk, or a pipe whose reader may be slow. A piece is written
 * completely or not at all, except to a pipe. Not thread-safe. */

#include <sys/uio.h>

#include "base/clock_ns.h"
#include "base/error.h"
#include "record/stop_signals.h"

struct stream {
    int fd; /* borrowed */
    char path[256];
    bool regular;
    uint64_t written;
    uint64_t max;     /* bytes; 0: no limit */
    uint64_t reserve; /* bytes to leave free on the disk; 0: no limit */
    /* CLOCK_MONOTONIC, ns: after this time, a reader that does not read is waited for at most STREAM_TIMEOUT_NS;
     * UINT64_MAX: never. */
    uint64_t until;
    struct stop_signals *signals; /* they end a wait for a pipe; NULL: none */
};

enum {
    STREAM_WRITTEN = 0,
    STREAM_MAX = 1,     /* not written, because it would exceed `max` */
    STREAM_RESERVE = 2, /* not written, because less than `reserve` would be free */
};

/* How long a reader may be stuck after `until`. */
#define STREAM_TIMEOUT_NS (2 * NSEC_PER_SEC)

/* Writes to FD from its current offset. */
int stream_init(struct stream *ret, int fd, const char *path, struct error *error);

/* Returns one of STREAM_…, or a negative errno with ERROR (-ENOSPC, -EIO, -EPIPE). -ETIMEDOUT: the reader of a pipe
 * does not read, and `until` has passed. PARTS are changed. */
int stream_write(struct stream *output, struct iovec *parts, unsigned n, struct error *error);
/* Sets `until` to now. */
void stream_hurry(struct stream *output);
