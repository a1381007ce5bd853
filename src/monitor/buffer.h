/* SPDX-License-Identifier: MIT */
#pragma once

/* Bytes that grow. When memory runs out the buffer is broken: it stays as it is, and whoever owns it
 * looks once at the end (`broken`) and gives up the session. */

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
/* The bytes as they are where they are UTF-8, U+FFFD for what is not. */
void buffer_put_clean(struct buffer *buffer, const char *bytes, size_t n);
/* Takes N bytes away at the beginning. */
void buffer_drop(struct buffer *buffer, size_t n);
void buffer_done(struct buffer *buffer);
