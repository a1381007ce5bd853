/* SPDX-License-Identifier: MIT */
#pragma once

/* The rules of spans that a verb works with: built-in ones and those of $XDG_CONFIG_HOME/strata/pairs by name, those of
 * --pair and of --pairs. */

#include "analysis/span_rule.h"
#include "base/strings.h"
#include "cli/select_options.h"
#include "event/catalogue.h"

struct pairs {
    struct arena arena;
    struct span_rule_list rules;
    struct span_rule_list own; /* of the user's file */
    unsigned n_builtin;        /* of the rules, the first ones, which were named */
    bool uses_all;             /* nothing was named: all built-in ones, and the user's */
};

void pairs_done(struct pairs *pairs);

/* Reads the user's file, if there is one. A negative errno with ERROR. */
int pairs_init(struct pairs *pairs, struct error *error);

/* True if a built-in rule, or one of the user's file, has this name. */
bool pairs_has_name(const struct pairs *pairs, const char *name);

/* Prints a usage error of VERB if one of RULES, texts of --pair, is malformed. EXIT_SUCCESS, EXIT_USAGE, EXIT_FAILURE. */
int pairs_check_syntax(const char *verb, const struct strings *rules);

/* Reads the N rules called NAMES, then the texts of RULES, then FILES; without any of these, all built-in
 * rules. A negative errno with ERROR. */
int pairs_read(struct pairs *pairs, char *const *names, int n, const struct strings *rules,
               const struct strings *files, struct error *error);

/* Prints which events and fields CATALOGUE lacks. Complete only after the trace was read: many readers know their
 * events only then. An exit status. SELECT: what was left out of it. HAS_SPANS: there were spans, or ends of spans. */
int pairs_check(const struct pairs *pairs, const struct catalogue *catalogue,
                const struct select_options *select, bool has_spans);
