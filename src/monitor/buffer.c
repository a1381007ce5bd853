/* SPDX-License-Identifier: MIT */
#include "monitor/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/utf8.h"

static bool reserve(struct buffer *buffer, size_t n)
{
    size_t size = buffer->size ? buffer->size : 256;
    char *bytes;

    if (buffer->broken)
        return false;
    if (n <= buffer->size - buffer->len)
        return true;
    while (size - buffer->len < n) {
        if (size > SIZE_MAX / 4) {
            buffer->broken = true;
            return false;
        }
        size *= 2;
    }
    bytes = realloc(buffer->bytes, size);
    if (!bytes) {
        buffer->broken = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->size = size;
    return true;
}

void buffer_put(struct buffer *buffer, const void *bytes, size_t n)
{
    if (n == 0 || !reserve(buffer, n))
        return;
    memcpy(buffer->bytes + buffer->len, bytes, n);
    buffer->len += n;
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_put(buffer, text, strlen(text));
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !reserve(buffer, (size_t)n + 1)) {
        buffer->broken = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buffer->bytes + buffer->len, (size_t)n + 1, format, args);
    va_end(args);
    buffer->len += (size_t)n;
}

void buffer_put_clean(struct buffer *buffer, const char *bytes, size_t n)
{
    while (n) {
        int32_t code;
        size_t used = qemu_utf8_read(bytes, n, &code);

        if (code < 0)
            buffer_put(buffer, "\xef\xbf\xbd", 3);
        else
            buffer_put(buffer, bytes, used);
        bytes += used;
        n -= used;
    }
}

void buffer_drop(struct buffer *buffer, size_t n)
{
    buffer->len -= n;
    if (n && buffer->len)
        memmove(buffer->bytes, buffer->bytes + n, buffer->len);
}

void buffer_done(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
