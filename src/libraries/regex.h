/* SPDX-License-Identifier: MIT */
#pragma once

/* Regular expressions (pcre2pattern(3)) over strings of bytes. Their authors need not be trusted, because the time and
 * memory of a match are limited. */

#include <stddef.h>

#include "base/error.h"

struct regex;

/* A match: TEXT[from] to TEXT[to - 1]. A group without a match has from = to = 0. */
struct regex_range {
    size_t from, to;
};

/* Loads PCRE2 if it is not loaded; see libpcre2_load() for threads. -EINVAL with ERROR: EXPRESSION is malformed or too
 * long; -ELIBACC; -ENOMEM. */
int regex_compile(const char *expression, struct regex **ret, struct error *error);
/* The number of groups in parentheses. */
unsigned regex_groups(const struct regex *regex);
/* Returns whether REGEX matches anywhere in the LEN bytes at TEXT. RANGES (may be NULL) gets the first N_RANGES of: the
 * whole match, each group. -ETIMEDOUT: the limit of time was reached; -ENOMEM. Several threads must not use the same
 * REGEX at once. */
int regex_match(const struct regex *regex, const char *text, size_t len, struct regex_range *ranges,
                unsigned n_ranges);
void regex_free(struct regex *regex);
