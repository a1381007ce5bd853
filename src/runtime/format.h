/* SPDX-License-Identifier: MIT */
#pragma once

/* printf's conversions of integers, characters, strings and pointers, without allocation, lock or locale, so that a
 * signal handler may use them, and fast, because a log may have millions of lines. The text is the same as by glibc's
 * printf. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Text in a fixed buffer. What does not fit is dropped and sets `cut`. */
struct line {
    char *at;
    char *end;
    bool cut;
};

static inline void line_put(struct line *line, const char *text, size_t len)
{
    if (len > (size_t)(line->end - line->at)) {
        len = (size_t)(line->end - line->at);
        line->cut = true;
    }
    memcpy(line->at, text, len);
    line->at += len;
}

void line_put_decimal(struct line *line, uint64_t value);
/* Writes the last N_DIGITS digits, with leading zeros. */
void line_put_digits(struct line *line, uint64_t value, unsigned n_digits);

enum conversion_flag {
    FLAG_MINUS = 1,
    FLAG_PLUS = 2,
    FLAG_SPACE = 4,
    FLAG_ALT = 8,
    FLAG_ZERO = 16,
};

#define FROM_ARGUMENT (-2) /* a width or precision of `*` */

struct conversion {
    char kind;    /* one of d u x X o c s p % */
    uint8_t size; /* of the integer, by the length modifier: 1, 2, 4 or 8 */
    uint8_t flags;
    bool plain;    /* neither flags nor width nor precision */
    int width;     /* -1: none, or FROM_ARGUMENT */
    int precision; /* likewise */
};

/* Parses the conversion after the '%' at P. Returns its end, or NULL: not supported. */
const char *conversion_parse(const char *p, struct conversion *ret);

/* Write one argument. Widths and precisions are resolved; a negative width means FLAG_MINUS, a negative
 * precision none. */
void line_put_integer(struct line *line, const struct conversion *conversion, uint64_t value);
void line_put_pointer(struct line *line, const struct conversion *conversion, uint64_t value);
void line_put_string(struct line *line, const struct conversion *conversion, const char *text,
                     size_t len);

/* Writes the whole FORMAT. If it has an unsupported conversion, vsnprintf() writes all of it. */
void line_vprintf(struct line *line, const char *format, va_list args);
