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
/* "strata: TEXT" on standard error, as output_line() has it; the second with what an error says. */
void cli_error(const char *format, ...) _printf_(1, 2);
void cli_print_error(const struct error *error);
/* Tells that there is none; returns -ENOMEM. */
int cli_no_memory(void);
/* Tells of -errno from writing to standard output; quietly by SIGPIPE where a reader went away. Returns
 * EXIT_FAILURE. */
int cli_output_error(int error);
/* "strata VERB: TEXT", and where to find help; returns EXIT_USAGE. */
int cli_usage_error(const char *verb, const char *format, ...) _printf_(2, 3);
