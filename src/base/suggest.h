/* SPDX-License-Identifier: MIT */
#pragma once

/* "Did you mean": finds the known word that is most similar to an unknown one. */

#include <stddef.h>

/* Edit distance: how many letters must be changed, inserted, deleted or swapped with their neighbour to
 * turn A into B. SIZE_MAX / 2 for words of more than 63 bytes. */
size_t suggest_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* The candidate most similar to WORD, if it is similar enough: at most a letter in three differs, and
 * at most two. Else NULL. CANDIDATES ends with NULL. */
const char *suggest_find(const char *word, size_t len, const char *const *candidates);

/* The same for a PATTERN with `*` and `?`: its letters before the first wildcard are compared with as
 * many of each candidate. If no candidate is similar, a candidate that contains these letters. */
const char *suggest_pattern(const char *pattern, const char *const *candidates);
