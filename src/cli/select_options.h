/* SPDX-License-Identifier: MIT */
#pragma once

/* The options that fill a struct select_options: -e, --from, --until, --limit, --cpu, --pid,
 * --vcpu, --layer. */

#include "cli/options.h"
#include "event/select.h"

/* As a group of options (cli/options.h). */
extern const struct option select_option_table[];
/* Those of them that keep or leave out events of all CPUs, threads and vCPUs. */
extern const struct option select_whole_option_table[];
