/* SPDX-License-Identifier: MIT */
#pragma once

/* A file or a directory that is written under a temporary name beside its own, and renamed when it is complete: a
 * writer that fails leaves nothing, and may write over the file that it reads.
 *
 * SIGINT, SIGTERM and SIGHUP remove what is not complete before they end the program; signals that are ignored stay
 * so. One output at a time in a process; not thread-safe. */

#include <signal.h>

#include "base/error.h"
#include "base/text.h"

enum atomic_output_kind {
    ATOMIC_OUTPUT_STREAM, /* bytes from first to last, a pipe will do: `out` */
    ATOMIC_OUTPUT_FILE, /* a file that needs seeking, `fd`, empty; or made by its name, `temp_path` */
    ATOMIC_OUTPUT_DIRECTORY, /* `temp_path`, empty */
};

struct atomic_output {
    enum atomic_output_kind kind;
    const char *path; /* that it gets; borrowed; NULL: standard output */
    char *temp_path;  /* that it has until then; NULL: written in place (a pipe, a device) */
    bool (*may_replace)(const char *path);
    int fd;          /* -1: a directory */
    struct text out; /* ATOMIC_OUTPUT_STREAM */
};

/* PATH NULL or "-": standard output. MAY_REPLACE says whether an existing directory that is not empty may be replaced;
 * NULL: none may. With STOP, the first signal only stores its number there, and a second one ends the program. -EEXIST:
 * a directory that may not be replaced; other errnos; each with ERROR. */
int atomic_output_open(enum atomic_output_kind kind, const char *path,
                       bool (*may_replace)(const char *path), volatile sig_atomic_t *stop,
                       struct atomic_output *ret, struct error *error);

/* Gives the output its name. An errno with ERROR: it could not be written; -EPIPE without one: the reader of a pipe
 * went away. */
int atomic_output_commit(struct atomic_output *output, struct error *error);

/* Removes what was not committed, and restores the signals. */
void atomic_output_done(struct atomic_output *output);
