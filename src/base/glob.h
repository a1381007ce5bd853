/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Whether NAME matches PATTERN, in which `*` stands for any run of characters and `?` for one; there
 * are no classes and no escapes. Linear in both for the patterns that people write, quadratic at
 * worst. */
bool glob_match(const char *pattern, const char *name);
/* Whether PATTERN holds a wildcard. */
bool glob_is_pattern(const char *pattern);
