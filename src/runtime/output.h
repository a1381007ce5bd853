/* SPDX-License-Identifier: MIT */
#pragma once

/* A file that records are written to, in whole records: what cannot be written leaves no torn piece
 * behind, and is counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "runtime/descriptor.h"

#define OUTPUT_WAIT_MS 20

struct output {
    char *path; /* absolute */
    struct descriptor file;
    bool regular; /* what a failed write has left can be taken back */
    bool parked;  /* it has no descriptor, and comes back with the next write */
    bool stalled; /* its reader has not read for long (pass_may_wait()) */
    /* Whether to wait for the reader of a pipe; NULL: no. */
    bool (*may_wait)(bool *stalled, uint64_t *since);
    uint64_t length; /* of what we have written, when regular */
};

#define OUTPUT_CLOSED            \
    {                            \
        .file = DESCRIPTOR_NONE, \
    }

/* Opens the absolute PATH, which is copied; what was there is gone. -EBUSY: is open; else as file_open(). */
int output_open(struct output *output, const char *path);
/* Makes the file NAME in DIRECTORY, whose absolute path is PATH. */
int output_make(struct output *output, int directory, const char *path, const char *name);
bool output_is_open(const struct output *output);
/* Writes all of it, or nothing that stays. Negative errno, and then counts nothing by itself. */
int output_write(struct output *output, const struct iovec *pieces, unsigned n);
/* Gives the descriptor back until the next output_write(), which opens the file again. False: there is none, or
 * the file is not a regular one. */
bool output_park(struct output *output);
/* Closes it, if it is still ours. Idempotent. */
void output_done(struct output *output);

/* An absolute copy of PATH; NULL: no memory. */
char *output_absolute(const char *path);
/* The same, in which `%p` is the process's number. */
char *output_path(const char *path);
