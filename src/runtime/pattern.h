/* SPDX-License-Identifier: MIT */
#pragma once

/* Wildcards, as base/glob.h has them: this library stands alone and links nothing of base/. */

#include <stdbool.h>

/* Whether NAME matches PATTERN, in which `*` stands for any characters and `?` for any one. */
bool pattern_match(const char *pattern, const char *name);
/* Whether it has either in it. */
bool pattern_is_glob(const char *text);
