/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers strings, so that each is written once and then represented by its number. */

#include "base/arena.h"
#include "base/map.h"

#include <stdbool.h>

/* Longer strings have no number. */
#define INTERNED_LEN_MAX 256

/* Zeros are an empty one. */
struct interned {
    struct arena arena;
    struct map numbers; /* struct entry */
    unsigned n;
};

/* Returns the number of LEN bytes at S, from 1, and whether it is new. 0 if it has none, because it is too long or
 * there are MAX; -ENOMEM. */
int interned_get(struct interned *interned, const char *s, size_t len, unsigned max, bool *ret_new);
void interned_done(struct interned *interned);
