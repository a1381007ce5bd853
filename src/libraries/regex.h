/* SPDX-License-Identifier: MIT */
#pragma once

/* Regular expressions (pcre2pattern(3)) over texts of bytes. Those who write them need not be trusted: the time and
 * memory that one takes are limited. */

#include <stddef.h>

#include "base/error.h"

struct regex;

/* What matched: TEXT[from] to TEXT[to - 1]. A group that took no part: from = to = 0. */
struct regex_range {
    size_t from, to;
};

/* Loads PCRE2 if it is not loaded; see libpcre2_load() for threads. -EINVAL with ERROR: EXPRESSION is malformed or too
 * long; -ELIBACC; -ENOMEM. */
int regex_compile(const char *expression, struct regex **ret, struct error *error);
/* How many groups in parentheses EXPRESSION has. */
unsigned regex_groups(const struct regex *regex);
/* Whether it matches somewhere in the LEN bytes at TEXT. RANGES, if not NULL, gets the N_RANGES first of: the whole
 * match, each group. -ETIMEDOUT: that takes too long to find out; -ENOMEM. Of one REGEX, not by several threads at
 * once. */
int regex_match(const struct regex *regex, const char *text, size_t len, struct regex_range *ranges,
                unsigned n_ranges);
void regex_free(struct regex *regex);
