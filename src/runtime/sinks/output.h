/* SPDX-License-Identifier: MIT */
#pragma once

/* A file of whole records: a failed write leaves no partial record, and the lost records are counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "runtime/process/descriptor.h"

#define OUTPUT_WAIT_MS 20

struct output {
    char *path; /* absolute */
    struct descriptor file;
    bool regular; /* a partial write can be undone */
    bool parked;  /* closed to free its descriptor; the next write opens it again */
    bool stalled; /* its reader has not read for a long time (pass_may_wait()) */
    /* Whether to wait for the reader of a pipe; NULL: no. */
    bool (*may_wait)(bool *stalled, uint64_t *since);
    uint64_t length; /* bytes written, if `regular` */
};

#define OUTPUT_CLOSED            \
    {                            \
        .file = DESCRIPTOR_NONE, \
    }

/* Opens the absolute PATH (copied) and truncates it. -EBUSY: already open; else as file_open(). */
int output_open(struct output *output, const char *path);
/* Creates the file NAME in DIRECTORY, whose absolute path is PATH. */
int output_make(struct output *output, int directory, const char *path, const char *name);
bool output_is_open(const struct output *output);
/* Writes all pieces or nothing. Negative errno: the caller counts the loss. */
int output_write(struct output *output, const struct iovec *pieces, unsigned n);
/* Closes the descriptor until the next output_write(), which opens the file again. Returns false if there is no file or
 * it is not a regular file. */
bool output_park(struct output *output);
/* Closes the file if the descriptor is still ours. Idempotent. */
void output_done(struct output *output);

/* PATH as an absolute path, which the caller frees; NULL: out of memory. */
char *output_absolute(const char *path);
/* The same, with `%p` replaced by the process ID. */
char *output_path(const char *path);
