/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether the files of a trace directory have grown, so that reading them again is worth it. Not thread-safe. */

#include <stdbool.h>

/* What the files of a directory were when they were looked at last. */
struct watch_growth;

/* DIR is copied. -ENOMEM. */
int watch_growth_new(const char *dir, struct watch_growth **ret);
void watch_growth_free(struct watch_growth *growth);

/* True if a file of events has changed since the last call, or it is the first one, or it cannot be said. Costs a stat() for
 * each file. */
bool watch_growth_check(struct watch_growth *growth);
