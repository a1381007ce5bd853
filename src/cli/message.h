/* SPDX-License-Identifier: MIT */
#pragma once

/* What commands print on standard error, and the statuses that they exit with. */

#include "base/error.h"

/* Exit statuses besides EXIT_SUCCESS and EXIT_FAILURE. */
enum {
    EXIT_USAGE = 2,
    EXIT_LOSSES = 3, /* --strict, and something was lost */
};

/* TEXT and a newline on standard error, as output_line() has it. */
void cli_message(const char *format, ...) _printf_(1, 2);
/* "  strata VERB PATH", with PATH as a shell reads it. */
void cli_print_command(const char *verb, const char *path);
/* Prints "strata: TEXT" to standard error with output_line(); the second prints an error. */
void cli_error(const char *format, ...) _printf_(1, 2);
/* As cli_error(), of what is no error of the command: the journal shows another priority. */
void cli_warning(const char *format, ...) _printf_(1, 2);
void cli_print_error(const struct error *error);
/* Prints ERROR, or the text of the negative errno ERR if ERROR is empty; returns EXIT_FAILURE. */
int cli_print_failure(struct error *error, int err);
/* Prints that memory is out; returns EXIT_FAILURE. */
int cli_no_memory(void);
/* Prints the error of writing to standard output; ends by SIGPIPE without a message if the reader has
 * gone. Returns EXIT_FAILURE. */
int cli_output_error(int error);
/* "strata VERB: TEXT", and where to find help; returns EXIT_USAGE. */
int cli_usage_error(const char *verb, const char *format, ...) _printf_(2, 3);
