/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* True if NAME matches PATTERN, in which `*` matches any characters and `?` any one; no classes, no
 * escapes. Linear for usual patterns, quadratic at worst. */
bool glob_match(const char *pattern, const char *name);
/* True if PATTERN contains a wildcard. */
bool glob_is_pattern(const char *pattern);
