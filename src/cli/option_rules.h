/* SPDX-License-Identifier: MIT */
#pragma once

/* Checks which other options an option requires and excludes, by their declarations (cli/options.h). */

#include "cli/options.h"

/* Checks the N given options in this order. -EINVAL with ERROR: the first option without a required option or with an
 * excluded option. */
int option_rules_check(const struct given_option *given, unsigned n, struct error *error);
