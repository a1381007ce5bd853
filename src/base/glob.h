/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* True if NAME matches PATTERN, in which `*` matches any characters and `?` any one; no classes, no
 * escapes. Linear for usual patterns, quadratic at worst. */
bool glob_match(const char *pattern, const char *name);
/* The part of NAME, *RET_LEN bytes, that the `*` of PATTERN matches. PATTERN has at most one `*` and no `?`. For a PATTERN
 * without `*` that equals NAME, and for "A|B" if one of the names equals NAME, this is the empty end of NAME. NULL: PATTERN
 * does not match. */
const char *glob_match_star(const char *pattern, const char *name, size_t *ret_len);
/* The end of NAME, a name of PATTERN, "A|B", after the bytes with which all names of PATTERN begin. */
const char *glob_own_end(const char *pattern, const char *name);
/* A copy of PATTERN in ARENA, with the LEN bytes at STAR instead of each `*`; without a `*`, PATTERN itself. NULL: memory
 * is out. */
const char *glob_fill_star(struct arena *arena, const char *pattern, const char *star, size_t len);
/* True if PATTERN contains a wildcard. */
bool glob_is_pattern(const char *pattern);
