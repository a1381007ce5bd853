/* SPDX-License-Identifier: MIT */
#pragma once

/* A file for lines of text from any thread and any context, signal handlers included. A line is written by one system
 * call, without waiting, SIGPIPE or SIGXFSZ. It is dropped if the descriptor no longer refers to the file and the file
 * cannot be opened again. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/process/file.h"

struct text_file {
    /* Written by the thread that holds `busy`. A reader that sees a mixture of two values treats the descriptor as
     * lost. */
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

/* Opens PATH, which is copied, and closes the file that was open. Negative errno: nothing has changed. One thread at a
 * time, not from signal handlers. */
int text_file_open(struct text_file *file, const char *path, enum file_mode mode);
/* The same for a PATH that is never freed. Any context. */
int text_file_open_literal(struct text_file *file, const char *path, enum file_mode mode);
/* Uses the file that the program has open as FD now. */
int text_file_share(struct text_file *file, int fd);

/* Writes as much as the file accepts now. Returns the number of bytes, or a negative errno; -EAGAIN: nothing can be
 * written now. */
ssize_t text_file_write(struct text_file *file, const char *text, size_t len);
/* True if it is open and the descriptor still refers to the file. */
bool text_file_is_open(const struct text_file *file);
/* Removes the last N bytes, which must just have been written, of a regular file to which no other process has appended
 * since. Returns false if that is impossible. */
bool text_file_cut(const struct text_file *file, size_t n);
/* Up to this many bytes are written completely or not at all. */
size_t text_file_whole(const struct text_file *file);
/* Waits up to MS milliseconds until the file may accept more. */
void text_file_wait(struct text_file *file, unsigned ms);
