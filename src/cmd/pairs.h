/* SPDX-License-Identifier: MIT */
#pragma once

/* The rules of spans that a verb works with: built-in ones by name, those of --pair and of --pairs. */

#include "analysis/span_rule.h"
#include "base/strings.h"
#include "event/catalogue.h"

struct pairs {
    struct arena arena;
    struct span_rule_list rules;
    unsigned n_builtin; /* of the rules, the first ones, which were named */
    bool uses_all;      /* nothing was named: all built-in ones */
};

void pairs_done(struct pairs *pairs);

/* True if a built-in rule has this name. */
bool pairs_is_builtin(const char *name);

/* Reads the N built-in rules called NAMES, then the texts of RULES, then FILES; without any of these, all built-in
 * rules. A negative errno with ERROR. */
int pairs_read(struct pairs *pairs, char *const *names, int n, const struct strings *rules,
               const struct strings *files, struct error *error);

/* Prints which events and fields CATALOGUE lacks. Complete only after the trace was read: many readers know their
 * events only then. An exit status. HAS_SPANS: there were spans, or ends of spans. */
int pairs_check(const struct pairs *pairs, const struct catalogue *catalogue, bool has_spans);
