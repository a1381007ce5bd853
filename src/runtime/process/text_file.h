/* SPDX-License-Identifier: MIT */
#pragma once

/* A file for lines of text from any thread and any context, signal handlers included. A line is written
 * by one system call, without waiting, SIGPIPE or SIGXFSZ, and is dropped if the descriptor is no longer the
 * file's and the file cannot be opened again. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/process/file.h"

struct text_file {
    /* Written by the thread that has `busy`; a reader that sees a mixture of two values treats the
     * descriptor as lost. */
    atomic_int fd; /* -1: none */
    atomic_ullong device, inode;
    atomic_int kind;
    atomic_bool shared;
    _Atomic(const char *) path; /* to open it again; NULL: not possible. Never freed */
    atomic_int mode;            /* enum file_mode */
    atomic_flag busy;
};

#define TEXT_FILE_NONE                      \
    {                                       \
        .fd = -1, .busy = ATOMIC_FLAG_INIT, \
    }

/* Opens PATH; what was open is closed. PATH is copied. Negative errno, and then all is as it was. One
 * thread at a time, not from signal handlers. */
int text_file_open(struct text_file *file, const char *path, enum file_mode mode);
/* The same for a PATH that is never freed. Any context. */
int text_file_open_literal(struct text_file *file, const char *path, enum file_mode mode);
/* The file is what the program has open as FD now. */
int text_file_share(struct text_file *file, int fd);

/* Writes what the file accepts now. Returns the number of bytes; negative errno, -EAGAIN: none now. */
ssize_t text_file_write(struct text_file *file, const char *text, size_t len);
/* Whether it is open, and the descriptor still the file's. */
bool text_file_is_open(const struct text_file *file);
/* Removes the last N bytes, which were just written, of a regular file to which no other process has
 * appended since. False: not possible. */
bool text_file_cut(const struct text_file *file, size_t n);
/* Up to this many bytes are written as a whole or not at all. */
size_t text_file_whole(const struct text_file *file);
/* Waits up to MS milliseconds until it may accept more. */
void text_file_wait(struct text_file *file, unsigned ms);
