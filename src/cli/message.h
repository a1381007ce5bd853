/* SPDX-License-Identifier: MIT */
#pragma once

/* Messages of commands on standard error, and their exit statuses. */

#include "base/error.h"

/* Exit statuses besides EXIT_SUCCESS and EXIT_FAILURE. */
enum {
    EXIT_USAGE = 2,
    EXIT_LOSSES = 3, /* with --strict: events were lost */
};

/* Prints TEXT and a newline to standard error by output_line(). */
void cli_message(const char *format, ...) _printf_(1, 2);
/* Prints "  strata VERB PATH", with PATH quoted for a shell. */
void cli_print_command(const char *verb, const char *path);
/* Prints "strata: TEXT" to standard error with output_line(); the second prints an error. */
void cli_error(const char *format, ...) _printf_(1, 2);
/* As cli_error(), for a message that is not an error of the command; the journal shows another priority. */
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
