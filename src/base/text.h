/* SPDX-License-Identifier: MIT */
#pragma once

/* Output text: a large buffer with hand-written number formatting and no printf.
 *
 * A text either grows (memory) or drains to a file descriptor when it is full. Each `text_put_…` makes
 * room by itself. The hot path of a report reserves once for several pieces with text_room() and then
 * writes through the `char *`-returning functions of base/number.h.
 *
 * A write error is kept in `error` (negative errno). From then on everything that is put is discarded, so one check at the
 * end suffices. Not thread-safe; another thread may take over a text that has no error. */

#include <string.h>

#include "base/macro.h"

struct text {
    char *start;
    char *next; /* where the next byte goes; start <= next <= end */
    char *end;
    int fd;           /* where a full buffer is written; -1: memory */
    int error;        /* the first failure: -EPIPE, -ENOSPC, -ENOMEM, … */
    uint64_t drained; /* bytes that have left the buffer */
    bool filtered;    /* output is filtered (base/printable.h) */
    bool
        is_scratch; /* memory is out, and the buffer is scratch space of the thread that noticed it */
    uint8_t passes; /* PRINTABLE_... */
};

/* A text that drains into FD in pieces of about SIZE bytes. -ENOMEM. */
int text_open_fd(struct text *text, int fd, size_t size);
/* The same for output that people read: characters that a terminal would obey are escaped
 * (base/printable.h). PASSES: PRINTABLE_ASCII, PRINTABLE_COLOR. text_flush() also writes an incomplete
 * character at the end. */
int text_open_output(struct text *text, int fd, size_t size, unsigned passes);
/* Filters from now on; for a text with a descriptor. */
void text_filter(struct text *text, unsigned passes);
/* A text in memory, which grows. Allocates only when something is put. */
#define TEXT_IN_MEMORY ((struct text){.fd = -1})
/* Frees the buffer; drains nothing. */
void text_done(struct text *text);

/* Writes the buffer to the descriptor. Returns text->error. */
int text_flush(struct text *text);

/* The same, but keeps an incomplete character at the end until the rest is put. */
void text_drain(struct text *text);

/* The slow half of text_room(). */
char *text_make_room(struct text *text, size_t size);

/* Returns room for at least SIZE bytes; the caller writes and then sets text->next after them. Never
 * NULL for SIZE up to TEXT_ROOM_MAX: after an error it is scratch space. */
#define TEXT_ROOM_MAX 4096
static inline char *text_room(struct text *text, size_t size)
{
    if (likely((size_t)(text->end - text->next) >= size))
        return text->next;
    return text_make_room(text, size);
}

/* Puts LEN bytes, any length. */
void text_put(struct text *text, const char *s, size_t len);

static inline void text_put_str(struct text *text, const char *s)
{
    text_put(text, s, strlen(s));
}

static inline void text_put_char(struct text *text, char c)
{
    *text_room(text, 1) = c;
    text->next++;
}

/* Puts a string literal, whose length is known at compile time. */
#define text_put_literal(text, s) text_put((text), "" s, sizeof(s) - 1)

/* Copies LEN bytes in whole units: one or two stores for a short literal. S and the room at P must be up to a unit
 * longer; the next text overwrites the bytes after LEN. */
#define TEXT_UNIT 16
static inline char *text_copy_units(char *p, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i += TEXT_UNIT)
        memcpy(p + i, s + i, TEXT_UNIT);
    return p + len;
}

void text_put_u64(struct text *text, uint64_t v);
void text_put_i64(struct text *text, int64_t v);
/* Lower-case hexadecimal without a prefix. */
void text_put_hex(struct text *text, uint64_t v);
/* See number_double(). */
void text_put_double(struct text *text, double v);
/* For rare output: headings, summaries. */
void text_printf(struct text *text, const char *format, ...) _printf_(2, 3);

static inline size_t text_len(const struct text *text)
{
    return (size_t)(text->next - text->start);
}

/* Bytes put since it was opened. */
static inline uint64_t text_total(const struct text *text)
{
    return text->drained + text_len(text);
}

/* A size for people: "950 B", "1.2 MB"; BUF of 16 bytes or more. Returns BUF. */
const char *bytes_text(char *buf, size_t size, uint64_t bytes);
