/* SPDX-License-Identifier: MIT */
#pragma once

/* Wildcards as in base/glob.h, which this library does not link. */

#include <stdbool.h>

/* True if NAME matches PATTERN, in which `*` matches any characters and `?` any one. */
bool pattern_match(const char *pattern, const char *name);
/* True if TEXT contains `*` or `?`. */
bool pattern_is_glob(const char *text);
