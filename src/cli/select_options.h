/* SPDX-License-Identifier: MIT */
#pragma once

/* The options that fill a struct select_options: -e, --from, --until, --limit, --cpu, --pid,
 * --vcpu, --layer. */

#include "base/text.h"
#include "cli/options.h"
#include "event/select.h"

/* As a group of options (cli/options.h). */
extern const struct cli_option select_option_table[];
/* Those of them that keep or leave out events of all CPUs, threads and vCPUs. */
extern const struct cli_option select_whole_option_table[];

/* Puts the names of those that are given, but not --limit: "--cpu, --pid"; "": none is. */
void select_options_put_given(const struct select_options *options, struct text *text);
/* The same of those that select rows (event/select.h). */
void select_options_put_rows(const struct select_options *options, struct text *text);
/* The same of those that limit what is read for rows. */
void select_options_put_read(const struct select_options *options, struct text *text);
