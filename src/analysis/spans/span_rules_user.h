/* SPDX-License-Identifier: MIT */
#pragma once

/* The rules of spans that a user selects: by name, from the built-in rules and the user's own file; as a text; or all
 * rules of a file. */

#include "analysis/spans/span_rule.h"
#include "base/strings.h"
#include "event/catalogue.h"

struct span_rules_user {
    struct arena arena;
    struct span_rule_list rules;
    struct span_rule_list own; /* in the user's file */
    unsigned n_builtin;        /* the first rules are this many built-in ones, which were named */
    bool uses_all;             /* none was named: all built-in rules and the user's are used */
};

void span_rules_user_done(struct span_rules_user *pairs);

/* Reads the user's file PATH, if it exists. PATH may be NULL. A negative errno with ERROR. */
int span_rules_user_init(struct span_rules_user *pairs, const char *path, struct error *error);

/* True if a built-in rule, or a rule in the user's file, has this name. */
bool span_rules_user_has_name(const struct span_rules_user *pairs, const char *name);

/* Reads the N rules called NAMES, then the texts of RULES, then FILES; without any of these, all built-in rules. A
 * negative errno with ERROR. */
int span_rules_user_read(struct span_rules_user *pairs, char *const *names, int n,
                         const struct strings *rules, const struct strings *files,
                         struct error *error);

/* True if rule number RULE, or a built-in rule with the same name, has its events in CATALOGUE. Otherwise ERROR says
 * which event or field is missing. Call after reading the trace, because many readers know their events only then. */
bool span_rules_user_has_events(const struct span_rules_user *pairs, unsigned rule,
                                const struct catalogue *catalogue, struct error *error);
