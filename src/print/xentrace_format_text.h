/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes the lines of xentrace_format: a record's values by a rule for Python's % operator with a dictionary. Supports
 * all that this operator does: %(name)d i u o x X e E f F g G c r s a, flags - + blank # 0, width, precision, and its
 * errors.
 *
 * A rule is compiled once into a list of operations. Python finds an error in a rule when it reaches its place for a
 * record, so an error is an operation, too. */

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

/* In the order in which Python prints the dictionary. */
enum xentrace_value {
    VALUE_CPU,
    VALUE_TSC,
    VALUE_EVENT,
    VALUE_RELTSC,
    VALUE_1, /* … VALUE_1 + 6: the extra words */
    VALUES = VALUE_1 + 7,
};

struct xentrace_values {
    uint64_t v[VALUES];
    bool reltsc_negative; /* v[VALUE_RELTSC] is then its magnitude */
    /* The tsc, if rules were compiled for seconds, otherwise 0. Then v[VALUE_TSC] is its integral part, unless it is
     * negative. */
    double seconds;
};

struct xentrace_rule;

/* SECONDS: %(tsc)… is xentrace_values.seconds, a float. FORMAT must outlive the rule. -ENOMEM. */
int xentrace_rule_compile(struct arena *arena, const char *format, size_t len, bool seconds,
                          const struct xentrace_rule **ret_rule);

/* Puts the record's line with its newline. If Python's % would raise TypeError, puts the rule itself and the dictionary
 * on a line each, as xentrace_format does. If it would raise another error, puts nothing and returns -EINVAL with
 * ERROR. */
int xentrace_rule_put(const struct xentrace_rule *rule, const struct xentrace_values *values,
                      struct text *text, struct error *error);
