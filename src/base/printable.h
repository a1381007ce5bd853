/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes text safe for a terminal. These are replaced:
 *   - control characters: C0, DEL, and C1, which some terminals also obey as UTF-8 (0xc2 0x9b is CSI);
 *   - characters that change the order of the text or are invisible: right-to-left marks, line separators,
 *     zero-width characters, private use;
 *   - bytes that are not UTF-8.
 * A byte becomes \xNN, a character \uNNNN or \UNNNNNNNN. If only ASCII is allowed, each character of the program's own
 * output has a replacement: "+-", "...", the levels of a sparkline.
 *
 * text_put_safe() is for names and strings that are put into a line. All output of the program also
 * passes the filter of text_open_output(), which sees sequences that several pieces form together. */

#include "base/text.h"

enum {
    PRINTABLE_LINES = 1, /* line ends (\n, \r\n) and tabs are allowed */
    PRINTABLE_ASCII = 2, /* only ASCII is allowed */
    PRINTABLE_COLOR = 4, /* the program's own colours are allowed: ESC [ DIGITS m */
};

/* The longest input whose end printable_step() must see. */
#define PRINTABLE_TAIL_MAX 8

bool printable_is_safe(uint32_t character);

/* Handles one character or byte at S, LEFT bytes (not 0). Returns how many bytes it consumed and writes
 * the character or its escape, *RET_LEN bytes, to BUF. Returns 0, unless LAST, if S may be the start of
 * something longer. */
#define PRINTABLE_STEP_MAX 12
size_t printable_step(const char *s, size_t left, unsigned flags, bool last, char *buf,
                      size_t *ret_len);

/* At least this many bytes at the start of S are allowed as they are. */
size_t printable_span(const char *s, size_t len, unsigned flags);

/* Puts S with escapes. Returns how many bytes were consumed: all if LAST. */
size_t printable_put(struct text *text, const char *s, size_t len, unsigned flags, bool last);

/* The number of characters, not bytes, that printable_put() makes of S. */
size_t printable_characters(const char *s, size_t len, unsigned flags);

/* Puts S within a line: line ends and tabs are escaped too. */
void text_put_safe(struct text *text, const char *s, size_t len);
void text_put_safe_str(struct text *text, const char *s);
/* Formats and puts the result with text_put_safe(): for names in tables. */
void text_printf_safe(struct text *text, const char *format, ...) _printf_(2, 3);
