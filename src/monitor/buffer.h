/* SPDX-License-Identifier: MIT */
#pragma once

/* A growing buffer of bytes. When memory runs out, it is `broken` and stays unchanged. Its owner checks this once at
 * the end, and ends the session. */

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t len;
    size_t size;
    bool broken;
};

void buffer_put(struct buffer *buffer, const void *bytes, size_t n);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends the bytes, with U+FFFD for bytes that are not UTF-8. */
void buffer_put_clean(struct buffer *buffer, const char *bytes, size_t n);
/* Removes N bytes at the beginning. */
void buffer_drop(struct buffer *buffer, size_t n);
void buffer_done(struct buffer *buffer);
