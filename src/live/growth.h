/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether the files of a trace directory have grown, so that reading them again is worth it. Not thread-safe. */

#include <stdbool.h>

/* What the files of a directory were when they were looked at last. */
struct live_growth;

/* DIR is copied. -ENOMEM. */
int live_growth_new(const char *dir, struct live_growth **ret);
void live_growth_free(struct live_growth *growth);

/* True if a file of events has changed since the last call, or it is the first one, or it cannot be said. Costs a stat() for
 * each file. */
bool live_growth_check(struct live_growth *growth);
