/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* True if NAME matches PATTERN, in which `*` matches any characters and `?` any one; no classes, no
 * escapes. Linear for usual patterns, quadratic at worst. */
bool glob_match(const char *pattern, const char *name);
/* What the `*` of PATTERN, which has one at most and no `?`, stands for in NAME: a part of NAME, of *RET_LEN bytes. Of a
 * pattern without one that equals NAME, the empty end of NAME; the same of "A|B", names without `*`, where one equals NAME.
 * NULL: PATTERN does not match. */
const char *glob_match_star(const char *pattern, const char *name, size_t *ret_len);
/* The end of NAME, one of the names in PATTERN, "A|B": what follows the bytes with which all of these begin. */
const char *glob_own_end(const char *pattern, const char *name);
/* PATTERN with the LEN bytes at STAR in the place of each `*`, in ARENA; without a `*`, PATTERN itself. NULL: out of
 * memory. */
const char *glob_fill_star(struct arena *arena, const char *pattern, const char *star, size_t len);
/* True if PATTERN contains a wildcard. */
bool glob_is_pattern(const char *pattern);
