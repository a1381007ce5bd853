/* SPDX-License-Identifier: MIT */
#pragma once

/* What went wrong, where, in words: the companion of a negative errno.
 *
 * A library function that can fail for a reason worth telling takes a `struct error *`, fills it and
 * returns the errno; whoever talks to the user prints it. An error holds no resource and is not
 * thread-safe. */

#include <stdint.h>

#include "base/macro.h"

#define ERROR_NO_OFFSET UINT64_MAX

struct error {
    int code;        /* negative errno, 0: nothing went wrong */
    uint64_t offset; /* bytes from the start of the input, or ERROR_NO_OFFSET */
    uint32_t line;   /* line of a text, from 1, or 0 */
    char path[256];  /* the input's name, may be empty */
    char what[384];  /* what is wrong and what to do; no newline */
};

/* Fills ERROR (may be NULL) and returns ERR, so that `return error_at(…)` reads well. The first
 * error wins: one that is already filled is left as it is. */
int error_at(struct error *error, int err, const char *path, uint64_t offset, const char *format,
             ...) _printf_(5, 6) _cold_;
int error_on_line(struct error *error, int err, const char *path, uint32_t line, const char *format,
                  ...) _printf_(5, 6) _cold_;
/* Without a place in the input; "" or NULL for PATH: without an input. */
int error_set(struct error *error, int err, const char *path, const char *format, ...)
    _printf_(4, 5) _cold_;

/* "PATH: offset N: WHAT", "PATH:LINE: WHAT", "PATH: WHAT" or "WHAT" into BUF, always ended by a NUL.
 */
void error_print(const struct error *error, char *buf, size_t size);

/* What ERROR is, in words: "out of memory", and what strerror() says of others. */
const char *error_text(int error);

/* Whether ERROR is this process's lack of memory or descriptors, and says nothing of the input: what could not be
 * had because of it is not missing. */
static inline bool error_is_shortage(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* The same, or a disk that cannot be read. */
static inline bool error_is_local(int error)
{
    return error_is_shortage(error) || error == -EIO;
}

/* Makes ERROR empty again. */
void error_clear(struct error *error);
