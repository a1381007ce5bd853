/* SPDX-License-Identifier: MIT */
#pragma once

/* Descriptors that the library keeps in a program which does not know them. A program that becomes a
 * daemon closes all descriptors, and opens files of its own under their numbers: each use of a kept one
 * asks first whether it is still the file that was opened. What is kept has a high number, which few
 * programs get to, and is closed by exec().
 *
 * All of this may be called in signal handlers. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

enum descriptor_kind {
    DESCRIPTOR_PLAIN,  /* a write to it does not wait for a reader */
    DESCRIPTOR_PIPE,   /* a pipe or a terminal */
    DESCRIPTOR_SOCKET, /* of a connection */
};

struct descriptor {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
    enum descriptor_kind kind;
    bool shared; /* its open file description is the program's: its flags are not ours to change */
};

#define DESCRIPTOR_NONE \
    {                   \
        .fd = -1        \
    }

/* Takes FD over, under a high number; it is closed when that fails. Negative errno. */
int descriptor_take(struct descriptor *ret, int fd);
/* FD is the program's, under the number that it has: standard error. Negative errno: it is closed. */
int descriptor_share(struct descriptor *ret, int fd);
bool descriptor_is_ours(const struct descriptor *descriptor);
/* Closes it, if it is still ours. Idempotent. */
void descriptor_close(struct descriptor *descriptor);

/* Writes as much as the file takes now. Neither waits for a reader nor raises SIGPIPE; the caller has
 * asked whether it is ours. Returns how many bytes; negative errno, -EAGAIN: none now. */
ssize_t descriptor_write(const struct descriptor *descriptor, const struct iovec *pieces,
                         unsigned n);
/* Waits until the file may take more, MS milliseconds at most. */
void descriptor_wait(const struct descriptor *descriptor, unsigned ms);
