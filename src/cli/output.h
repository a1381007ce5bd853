/* SPDX-License-Identifier: MIT */
#pragma once

/* The output of the program. Everything that a verb prints passes through these functions, cli_message() or
 * cli_error(), and so through the filter of base/printable.h. */

#include <stdio.h>

#include "base/printable.h"

enum output_kind {
    OUTPUT_TEXT,       /* for people: ASCII only if the locale is not UTF-8 */
    OUTPUT_COLOR_TEXT, /* the same with colours */
    OUTPUT_DATA,       /* for programs (JSON, CSV): always UTF-8 */
    OUTPUT_RAW,        /* byte by byte like another tool; filtered only on a terminal */
};

/* Opens standard output. -ENOMEM. */
int output_open(struct text *text, enum output_kind kind, size_t size);

/* Returns PRINTABLE_ASCII if the locale of the environment is not UTF-8, otherwise 0. */
unsigned output_locale(void);

/* The limit of characters in a table's line on standard output: COLUMNS of the environment, or the width of the
 * terminal; 0: no limit. */
unsigned output_line_width(void);

/* Writes TEXT to FILE, standard output or standard error; line ends are allowed. */
void output_put(FILE *file, const char *text, size_t len);

/* Writes "TEXT\n" to FILE, without line ends in TEXT. */
void output_line(FILE *file, const char *format, ...) _printf_(2, 3);
void output_vline(FILE *file, const char *before, const char *format, va_list args);

/* True if FD is a terminal on which colours are wanted (NO_COLOR, TERM=dumb). */
bool output_has_color(int fd);
