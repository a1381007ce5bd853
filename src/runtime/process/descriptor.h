/* SPDX-License-Identifier: MIT */
#pragma once

/* Descriptors that the library keeps in a program that does not know about them. A program that becomes a daemon closes
 * all descriptors and opens files under their numbers. So each use of a kept descriptor first checks that it still
 * refers to the file that was opened. Kept descriptors have high numbers, which few programs reach, and are closed by
 * exec().
 *
 * All functions may be called in signal handlers. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

enum descriptor_kind {
    DESCRIPTOR_PLAIN,  /* writes do not wait for a reader */
    DESCRIPTOR_PIPE,   /* a pipe or a terminal */
    DESCRIPTOR_SOCKET, /* a connection */
};

struct descriptor {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
    enum descriptor_kind kind;
    /* the program shares its open file description, so its flags must not be changed */
    bool shared;
};

#define DESCRIPTOR_NONE \
    {                   \
        .fd = -1        \
    }

/* Takes ownership of FD, moved to a high number; closes it on failure. Negative errno. */
int descriptor_take(struct descriptor *ret, int fd);
/* Shares FD, standard error, with the program under its present number. Negative errno: it is closed. */
int descriptor_share(struct descriptor *ret, int fd);
bool descriptor_is_ours(const struct descriptor *descriptor);
/* Closes the descriptor if it is still ours. Idempotent. */
void descriptor_close(struct descriptor *descriptor);

/* Writes as much as the file accepts now, without waiting or SIGPIPE. The caller has checked that the descriptor is
 * still ours. Returns the number of bytes, or a negative errno; -EAGAIN: nothing can be written now. */
ssize_t descriptor_write(const struct descriptor *descriptor, const struct iovec *pieces,
                         unsigned n);
/* Waits up to MS milliseconds until the file may accept more. */
void descriptor_wait(const struct descriptor *descriptor, unsigned ms);
