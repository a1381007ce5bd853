/* SPDX-License-Identifier: MIT */
#pragma once

/* Where text leaves the program. Everything that a verb prints passes here, or through cli_message() and
 * cli_error(), and thereby the filter of base/printable.h. */

#include <stdio.h>

#include "base/printable.h"

enum output_kind {
    OUTPUT_TEXT,       /* for people: ASCII only if the locale is not UTF-8 */
    OUTPUT_COLOR_TEXT, /* the same with colours */
    OUTPUT_DATA,       /* for programs (JSON, CSV): always UTF-8 */
    OUTPUT_RAW, /* byte by byte as another tool writes it; only a terminal gets it filtered */
};

/* Opens standard output. -ENOMEM. */
int output_open(struct text *text, enum output_kind kind, size_t size);

/* PRINTABLE_ASCII where the locale of the environment is not UTF-8, or 0. */
unsigned output_locale(void);

/* How many characters a line of a table on standard output may have: COLUMNS of the environment, or the width of the terminal;
 * 0: any number. */
unsigned output_line_width(void);

/* Writes TEXT to FILE, standard output or standard error; line ends are allowed. */
void output_put(FILE *file, const char *text, size_t len);

/* "TEXT\n" in FILE; line ends in TEXT do not pass. */
void output_line(FILE *file, const char *format, ...) _printf_(2, 3);
void output_vline(FILE *file, const char *before, const char *format, va_list args);

/* Whether FD is a terminal on which colours are wanted (NO_COLOR, TERM=dumb). */
bool output_has_color(int fd);
