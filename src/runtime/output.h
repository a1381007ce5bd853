/* SPDX-License-Identifier: MIT */
#pragma once

/* A file that records are written to, in whole records: what cannot be written leaves no torn piece
 * behind, and is counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct output {
    char *path; /* absolute */
    int fd;     /* -1: not open */
    dev_t device;
    ino_t inode;
    bool regular;    /* what a failed write has left can be taken back */
    bool appending;  /* others write there too: nothing is ever taken back */
    uint64_t length; /* of what we have written, when regular */
};

#define OUTPUT_CLOSED \
    {                 \
        .fd = -1      \
    }

enum output_mode {
    OUTPUT_NEW,    /* what was there is gone */
    OUTPUT_APPEND, /* behind what is there */
};

/* Takes PATH, which is copied and made absolute. -EBUSY: is open. */
int output_open(struct output *output, const char *path, enum output_mode mode);
/* Writes all of it, or nothing that stays. Negative errno, and then counts nothing by itself. */
int output_write(struct output *output, const struct iovec *pieces, unsigned n);
/* Closes it, if it is still ours. Idempotent. */
void output_done(struct output *output);

/* An absolute copy of PATH in which `%p` is the process's number; NULL: no memory. */
char *output_path(const char *path);
