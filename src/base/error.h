/* SPDX-License-Identifier: MIT */
#pragma once

/* The message that belongs to a negative errno: what is wrong, where, and what to do.
 *
 * A library function that can fail for a reason worth reporting takes a `struct error *`, fills it and
 * returns the errno; cmd/ or cli/ prints it. An error holds no resource and is not thread-safe. */

#include <stdarg.h>
#include <stdint.h>

#include "base/macro.h"

#define ERROR_NO_OFFSET UINT64_MAX

struct error {
    int code;        /* negative errno; 0: empty */
    uint64_t offset; /* bytes from the start of the input, or ERROR_NO_OFFSET */
    uint32_t line;   /* line of a text, from 1, or 0 */
    char path[256];  /* the input's name; may be empty */
    char what[384];  /* what is wrong and what to do; no newline */
};

/* Fills ERROR (may be NULL) and returns ERR, so that `return error_at(…)` works. The first error wins:
 * an error that is already filled does not change. */
int error_at(struct error *error, int err, const char *path, uint64_t offset, const char *format,
             ...) _printf_(5, 6) _cold_;
int error_on_line(struct error *error, int err, const char *path, uint32_t line, const char *format,
                  ...) _printf_(5, 6) _cold_;
/* The same without an offset; PATH "" or NULL: without an input. */
int error_set(struct error *error, int err, const char *path, const char *format, ...)
    _printf_(4, 5) _cold_;
/* The same for a function that takes arguments of printf() itself. OFFSET may be ERROR_NO_OFFSET, LINE 0. */
int error_put(struct error *error, int err, const char *path, uint64_t offset, uint32_t line,
              const char *format, va_list args) _cold_;

/* Writes "PATH: offset N: WHAT", "PATH:LINE: WHAT", "PATH: WHAT" or "WHAT" to BUF, always ended by a
 * NUL. */
void error_print(const struct error *error, char *buf, size_t size);

/* Text of the errno ERROR: "out of memory", or the text of strerror(). */
const char *error_text(int error);

/* True if this process lacks memory or descriptors. ERROR then says nothing about the input, which may exist. */
static inline bool error_is_shortage(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* The same, or a disk error. */
static inline bool error_is_local(int error)
{
    return error_is_shortage(error) || error == -EIO;
}

/* Empties ERROR, which may be NULL. */
void error_clear(struct error *error);
