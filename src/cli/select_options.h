/* SPDX-License-Identifier: MIT */
#pragma once

/* The options that fill a struct select_options: -e, --from, --until, --limit, --cpu, --pid,
 * --vcpu, --layer. */

#include "base/text.h"
#include "cli/options.h"
#include "event/select.h"

/* As a group of options (cli/options.h). */
extern const struct cli_option select_option_table[];
/* Only the options that keep or leave out events of all CPUs, threads and vCPUs. */
extern const struct cli_option select_whole_option_table[];

/* Writes the names of the given options except --limit ("--cpu, --pid"); "": none. */
void select_options_put_given(const struct select_options *options, struct text *text);
/* The same for options that select rows (event/select.h). */
void select_options_put_rows(const struct select_options *options, struct text *text);
/* The same for options that limit the events read for rows. */
void select_options_put_read(const struct select_options *options, struct text *text);
