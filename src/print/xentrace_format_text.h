/* SPDX-License-Identifier: MIT */
#pragma once

/* A line of xentrace_format: one record's values through a rule for Python's % operator over a
 * dictionary, with all that this operator does: %(name)d i u o x X e E f F g G c r s a, flags - + blank
 * # 0, width, precision, and its errors.
 *
 * A rule is compiled once into a list of operations. What Python finds wrong in a rule it finds when
 * it comes to that place for a record, so the error is an operation, too. */

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
    /* The tsc where the rules were compiled for seconds (else 0); v[VALUE_TSC] is then its whole
     * number, unless it is negative. */
    double seconds;
};

struct xentrace_rule;

/* SECONDS: %(tsc)… is xentrace_values.seconds, a float. FORMAT must live as long as the rule.
 * -ENOMEM. */
int xentrace_rule_compile(struct arena *arena, const char *format, size_t len, bool seconds,
                          const struct xentrace_rule **ret_rule);

/* The record's line with its newline. Where Python's % raises TypeError, xentrace_format prints the
 * rule as it stands and the dictionary on a line each, and so does this. Where it raises anything
 * else, nothing is put and -EINVAL comes back with ERROR. */
int xentrace_rule_put(const struct xentrace_rule *rule, const struct xentrace_values *values,
                      struct text *text, struct error *error);
