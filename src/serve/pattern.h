/* SPDX-License-Identifier: MIT */
#pragma once

/* A regular expression (pcre2pattern(3)) from somebody who need not be trusted: its time and memory are limited. */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct pattern;

/* After libpcre2_load(). */

/* -EINVAL with ERROR: EXPRESSION is malformed or too long. */
int pattern_compile(const char *expression, struct pattern **ret, struct error *error);
/* Whether it matches somewhere in the LEN bytes at TEXT. -ETIMEDOUT: that takes too long to find out; -ENOMEM. */
int pattern_matches(const struct pattern *pattern, const char *text, size_t len);
void pattern_free(struct pattern *pattern);
