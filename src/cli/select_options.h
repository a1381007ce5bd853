/* SPDX-License-Identifier: MIT */
#pragma once

/* The options that fill a struct select_options: -e, --from, --to, --cpu, --pid, --vcpu, --layer,
 * --limit. */

#include "cli/options.h"
#include "event/select.h"

/* As a group of options (cli/options.h). */
extern const struct option select_option_table[];
/* The same with --until for --to, where --to means something else. */
extern const struct option select_until_option_table[];
