/* SPDX-License-Identifier: MIT */
#pragma once

/* The rules of spans in the options --pair and --pairs, and in $XDG_CONFIG_HOME/strata/pairs. */

#include "analysis/spans/span_rules_user.h"
#include "cli/select_options.h"

/* Reads the user's file, if it exists. A negative errno with ERROR. */
int span_rules_init(struct span_rules_user *pairs, struct error *error);

/* Prints a usage error of VERB if one of RULES, texts of --pair, is malformed. EXIT_SUCCESS, EXIT_USAGE,
 * EXIT_FAILURE. */
int span_rules_check_syntax(const char *verb, const struct strings *rules);

/* Prints which events and fields CATALOGUE lacks. Call after reading the trace. SELECT: what was left out of the trace.
 * HAS_SPANS: there were spans, or ends of spans. An exit status. */
int span_rules_check(const struct span_rules_user *pairs, const struct catalogue *catalogue,
                     const struct select_options *select, bool has_spans);
