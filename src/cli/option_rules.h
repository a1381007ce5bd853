/* SPDX-License-Identifier: MIT */
#pragma once

/* What options require and exclude, by their declarations (cli/options.h), of all that were given. */

#include "cli/options.h"

/* Checks N options that were given, in this order. -EINVAL with ERROR: the first that lacks what it requires, or was given with what it excludes. */
int option_rules_check(const struct given_option *given, unsigned n, struct error *error);
