/* SPDX-License-Identifier: MIT */
#pragma once

/* The environment of a trace. */

#include "base/arena.h"
#include "format/ctf/type.h"

/* Keeps the value of KEY in M, if it is one that the reader knows: TEXT (NULL: it is none), or NUMBER where numbers are.
 * -ENOMEM. */
int ctf_environment_set(struct ctf_metadata *m, struct arena *arena, const char *key,
                        const char *text, int64_t number);
