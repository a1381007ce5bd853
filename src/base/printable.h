/* SPDX-License-Identifier: MIT */
#pragma once

/* Text that a terminal shows and does not obey. These do not pass:
 *  - control characters: C0, DEL, and C1, which some terminals obey as UTF-8, too (0xc2 0x9b is CSI);
 *  - characters that change the order of the text or cannot be seen: right-to-left marks, line separators,
 *    zero-width characters, private use;
 *  - bytes that are not UTF-8.
 * In their place stands \xNN for a byte, \uNNNN or \UNNNNNNNN for a character.
 *
 * Names and strings pass text_put_safe() where they are put into a line. Whatever the program prints passes the
 * filter of its output (text_open_output()) as well, which also sees what pieces make together. */

#include "base/text.h"

enum {
    PRINTABLE_LINES = 1, /* line ends (\n, \r\n) and tabs pass */
    PRINTABLE_ASCII = 2, /* only ASCII passes */
    PRINTABLE_COLOR = 4, /* the program's own colours pass: ESC [ DIGITS m */
};

/* The longest input that printable_step() waits for the end of. */
#define PRINTABLE_TAIL_MAX 8

bool printable_is_safe(uint32_t character);

/* One step over S, LEFT bytes, not 0. Returns how many bytes it takes and stores what stands for them in BUF: a
 * character as it is or its escape, *RET_LEN bytes. 0, unless LAST: it may be the start of something longer. */
#define PRINTABLE_STEP_MAX 12
size_t printable_step(const char *s, size_t left, unsigned flags, bool last, char *buf,
                      size_t *ret_len);

/* How many bytes at the start of S pass as they are, at least. */
size_t printable_span(const char *s, size_t len, unsigned flags);

/* Puts what stands for S. Returns how many bytes it took: all of them if LAST. */
size_t printable_put(struct text *text, const char *s, size_t len, unsigned flags, bool last);

/* S for the middle of a line: line ends and tabs are escaped, too. */
void text_put_safe(struct text *text, const char *s, size_t len);
void text_put_safe_str(struct text *text, const char *s);
/* What FORMAT makes, put so: for names in tables. */
void text_printf_safe(struct text *text, const char *format, ...) _printf_(2, 3);
