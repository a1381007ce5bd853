/* SPDX-License-Identifier: MIT */
#pragma once

/* What was meant by a word that is not known. */

#include <stddef.h>

/* How many letters must be changed, put in, left out or swapped with their neighbour to make B of A.
 * Words of more than 63 bytes are far from everything: SIZE_MAX / 2. */
size_t suggest_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* The one of CANDIDATES (ended by NULL) that is nearest to WORD, if it is near enough to have been
 * meant: a letter of every three, two at most. Else NULL. */
const char *suggest_find(const char *word, size_t len, const char *const *candidates);

/* The same for a PATTERN that may have `*` and `?` in it: of one that has, the letters in front of the first wildcard
 * are compared with as many of each candidate. */
const char *suggest_pattern(const char *pattern, const char *const *candidates);
