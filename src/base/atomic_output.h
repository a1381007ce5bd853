/* SPDX-License-Identifier: MIT */
#pragma once

/* A file or directory that is written under a temporary name beside its final name, and renamed when it is complete. So a
 * failed write leaves no file, and the output may replace the file that is being read.
 *
 * The temporary name of a file is PATH.XXXXXX, of a directory PATH.XXXXXX/new. So a reader of all directories beside PATH,
 * by a pattern such as DIR/TABLE, finds neither an incomplete directory nor the leftover of a killed writer.
 *
 * SIGINT, SIGTERM and SIGHUP remove incomplete output before they end the program; ignored signals stay
 * ignored. One output at a time per process; not thread-safe. */

#include <signal.h>

#include "base/error.h"
#include "base/text.h"

enum atomic_output_kind {
    ATOMIC_OUTPUT_STREAM, /* written sequentially through `out`; a pipe is possible */
    /* needs seeking: empty file `fd`, or created by the caller as `temp_path` */
    ATOMIC_OUTPUT_FILE,
    ATOMIC_OUTPUT_DIRECTORY, /* empty directory `temp_path` */
};

struct atomic_output {
    enum atomic_output_kind kind;
    const char *path;  /* final name; borrowed; NULL: standard output */
    char *temp_path;   /* name until it is committed; NULL: written in place (a pipe, a device) */
    char *temp_parent; /* ATOMIC_OUTPUT_DIRECTORY: holds only temp_path; otherwise NULL */
    bool (*may_replace)(const char *path);
    int fd;          /* -1: a directory */
    struct text out; /* ATOMIC_OUTPUT_STREAM */
};

/* PATH NULL or "-": standard output. MAY_REPLACE says whether an existing directory that is not empty may be replaced;
 * NULL: never. With STOP, the first signal only stores its number there, and a second signal ends the program. -EEXIST:
 * a directory that may not be replaced; or another errno; each with ERROR. */
int atomic_output_open(enum atomic_output_kind kind, const char *path,
                       bool (*may_replace)(const char *path), volatile sig_atomic_t *stop,
                       struct atomic_output *ret, struct error *error);

/* Renames the output to its final name. An errno with ERROR: it could not be written; -EPIPE without
 * ERROR: the reader of a pipe has gone. */
int atomic_output_commit(struct atomic_output *output, struct error *error);

/* Removes uncommitted output, and restores the signals. */
void atomic_output_done(struct atomic_output *output);
