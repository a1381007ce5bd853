/* SPDX-License-Identifier: MIT */
#pragma once

/* The environment of a trace. */

#include "base/arena.h"
#include "format/ctf/type.h"

/* Stores the value of KEY in M if the reader knows KEY. The value is TEXT, or NUMBER if TEXT is NULL. -ENOMEM. */
int ctf_environment_set(struct ctf_metadata *m, struct arena *arena, const char *key,
                        const char *text, int64_t number);
