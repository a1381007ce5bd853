/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds out if the files of a trace directory have grown, so that reading them again is worth it. Not thread-safe. */

#include <stdbool.h>

/* The state of the files when they were last checked. */
struct live_growth;

/* Copies DIR. -ENOMEM. */
int live_growth_new(const char *dir, struct live_growth **ret);
void live_growth_free(struct live_growth *growth);

/* True if a file of events has changed since the last call, on the first call, and if it is unknown. Costs a stat() per
 * file. */
bool live_growth_check(struct live_growth *growth);
