/* SPDX-License-Identifier: MIT */
#pragma once

/* Strings that are written once and then named by a number. */

#include "base/arena.h"
#include "base/map.h"

#include <stdbool.h>

/* Longer ones have no number. */
#define INTERNED_LEN_MAX 256

/* Zeroed: empty. */
struct interned {
    struct arena arena;
    struct map numbers; /* each an entry */
    unsigned n;
};

/* The number of LEN bytes at S, from 1, and whether it is a new one. 0: it has none, as it is too long or there
 * are MAX; -ENOMEM. */
int interned_get(struct interned *interned, const char *s, size_t len, unsigned max, bool *ret_new);
void interned_done(struct interned *interned);
