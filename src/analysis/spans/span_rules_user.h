/* SPDX-License-Identifier: MIT */
#pragma once

/* The rules of spans that a user asks for: by name, built-in ones and those of the user's own file; as a text; and all of a file. */

#include "analysis/spans/span_rule.h"
#include "base/strings.h"
#include "event/catalogue.h"

struct span_rules_user {
    struct arena arena;
    struct span_rule_list rules;
    struct span_rule_list own; /* of the user's file */
    unsigned n_builtin;        /* of the rules, the first ones, which were named */
    bool uses_all;             /* nothing was named: all built-in ones, and the user's */
};

void span_rules_user_done(struct span_rules_user *pairs);

/* Reads the user's file PATH, if there is one; NULL: there is none. A negative errno with ERROR. */
int span_rules_user_init(struct span_rules_user *pairs, const char *path, struct error *error);

/* True if a built-in rule, or one of the user's file, has this name. */
bool span_rules_user_has_name(const struct span_rules_user *pairs, const char *name);

/* Reads the N rules called NAMES, then the texts of RULES, then FILES; without any of these, all built-in
 * rules. A negative errno with ERROR. */
int span_rules_user_read(struct span_rules_user *pairs, char *const *names, int n,
                         const struct strings *rules, const struct strings *files,
                         struct error *error);

/* Whether RULE, by its number, or a built-in one of the same name, has its events in CATALOGUE; else ERROR says which event or
 * field is missing. Complete only after the trace was read: many readers know their events only then. */
bool span_rules_user_has_events(const struct span_rules_user *pairs, unsigned rule,
                                const struct catalogue *catalogue, struct error *error);
