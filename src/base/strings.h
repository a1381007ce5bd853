/* SPDX-License-Identifier: MIT */
#pragma once

/* A list of borrowed strings: words of argv, patterns of a caller. */

#include "base/error.h"

struct strings {
    const char **items;
    unsigned n;
};

/* Frees the list, not the strings. */
void strings_done(struct strings *strings);
/* Adds S, which is borrowed. -ENOMEM. */
int strings_add(struct strings *strings, const char *s);
/* Adds the elements of the comma-separated VALUE, which is borrowed and cut in place. -EINVAL with
 * ERROR->what: an element is empty; -ENOMEM. */
int strings_split(struct strings *strings, char *value, struct error *error);
