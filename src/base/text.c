/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "base/printable.h"

/* Target of what is put after memory is out; never read. */
static _Thread_local char scratch[TEXT_ROOM_MAX];

int text_open_fd(struct text *text, int fd, size_t size)
{
    /* text_room() promises TEXT_ROOM_MAX after a drain, whatever the size asked for. */
    size = MAX(size, (size_t)TEXT_ROOM_MAX);
    /* What a filter leaves in the buffer must not reduce that. */
    size += PRINTABLE_TAIL_MAX;
    *text = (struct text){.fd = fd};
    text->start = malloc(size);
    if (!text->start)
        return -ENOMEM;
    text->next = text->start;
    text->end = text->start + size;
    return 0;
}

void text_filter(struct text *text, unsigned passes)
{
    text->filtered = true;
    text->passes = (uint8_t)(passes | PRINTABLE_LINES);
}

int text_open_output(struct text *text, int fd, size_t size, unsigned passes)
{
    int r = text_open_fd(text, fd, size);

    text_filter(text, passes);
    return r;
}

void text_done(struct text *text)
{
    if (!text->is_scratch)
        free(text->start);
    *text = TEXT_IN_MEMORY;
}

static void write_all(struct text *text, const char *p, size_t len)
{
    while (len > 0 && !text->error) {
        ssize_t n = write(text->fd, p, len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            text->error = -errno;
            return;
        }
        p += n;
        len -= (size_t)n;
    }
}

/* Writes the buffer with escapes. Returns how many bytes were consumed: all if LAST. */
static size_t write_filtered(struct text *text, bool last)
{
    size_t len = text_len(text);
    struct text safe = TEXT_IN_MEMORY;
    size_t n = printable_span(text->start, len, text->passes);

    if (n == len) {
        write_all(text, text->start, len);
        return len;
    }
    n = printable_put(&safe, text->start, len, text->passes, last);
    if (safe.error)
        text->error = text->error ? text->error : safe.error;
    else if (safe.start)
        write_all(text, safe.start, text_len(&safe));
    text_done(&safe);
    return n;
}

static void drain(struct text *text, bool last)
{
    size_t len = text_len(text), n = len;

    if (text->filtered)
        n = write_filtered(text, last);
    else
        write_all(text, text->start, len);
    memmove(text->start, text->start + n, len - n);
    text->drained += n;
    text->next = text->start + (len - n);
}

void text_drain(struct text *text)
{
    if (text->fd >= 0 && text->start)
        drain(text, false);
}

int text_flush(struct text *text)
{
    if (text->fd >= 0 && text->start)
        drain(text, true);
    return text->error;
}

/* Of a text in memory: there may be hundreds of thousands of them. */
#define MEMORY_MIN 256

static int grow(struct text *text, size_t size)
{
    size_t len = text_len(text);
    size_t capacity = MAX((size_t)(text->end - text->start) * 2, (size_t)MEMORY_MIN);
    char *bigger;

    while (capacity - len < size)
        capacity *= 2;
    bigger = realloc(text->start, capacity);
    if (!bigger)
        return -ENOMEM;
    text->start = bigger;
    text->next = bigger + len;
    text->end = bigger + capacity;
    return 0;
}

char *text_make_room(struct text *text, size_t size)
{
    if (text->fd >= 0 && size <= (size_t)(text->end - text->start)) {
        drain(text, false);
        return text->next;
    }
    if (!text->is_scratch && text->fd < 0) {
        if (grow(text, size) == 0)
            return text->next;
        free(text->start);
    }
    text->error = text->error ? text->error : -ENOMEM;
    text->is_scratch = true;
    text->start = text->next = scratch;
    text->end = scratch + sizeof scratch;
    return text->next;
}

void text_put(struct text *text, const char *s, size_t len)
{
    while (len > TEXT_ROOM_MAX) {
        memcpy(text_room(text, TEXT_ROOM_MAX), s, TEXT_ROOM_MAX);
        text->next += TEXT_ROOM_MAX;
        s += TEXT_ROOM_MAX;
        len -= TEXT_ROOM_MAX;
    }
    if (len > 0) {
        memcpy(text_room(text, len), s, len);
        text->next += len;
    }
}

void text_put_u64(struct text *text, uint64_t v)
{
    text->next = number_dec(text_room(text, NUMBER_MAX), v);
}

void text_put_i64(struct text *text, int64_t v)
{
    text->next = number_sdec(text_room(text, NUMBER_MAX), v);
}

void text_put_hex(struct text *text, uint64_t v)
{
    text->next = number_hex(text_room(text, NUMBER_MAX), v);
}

void text_put_double(struct text *text, double v)
{
    text->next = number_double(text_room(text, NUMBER_MAX), v);
}

void text_printf(struct text *text, const char *format, ...)
{
    char buf[1024];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    if (n > 0)
        text_put(text, buf, MIN((size_t)n, sizeof buf - 1));
}

const char *bytes_text(char *buf, size_t size, uint64_t bytes)
{
    static const char units[] = "kMGTPE";
    double v = (double)bytes / 1000;
    unsigned unit = 0;

    if (bytes < 1000) {
        snprintf(buf, size, "%u B", (unsigned)bytes);
        return buf;
    }
    for (; v >= 999.95 && units[unit + 1]; unit++)
        v /= 1000;
    snprintf(buf, size, "%.1f %cB", v, units[unit]);
    return buf;
}
