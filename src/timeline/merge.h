/* SPDX-License-Identifier: MIT */
#pragma once

/* Several sources as one, by time. */

#include "event/source.h"

/* Merges N ordered sources whose times are of one clock. Takes ownership of the sources; copies the
 * array. Items with equal times: the earlier input goes first. An input that fails counts as ended; its
 * error is returned after all items of the others. Nothing is read before the first run is requested. With N = 1 returns the source itself. -ENOMEM (the
 * inputs are then freed too). */
int merge_open(struct source **inputs, unsigned n, struct source **ret_source);
/* The newest time that an input has lent so far; INT64_MIN: none has, or SOURCE does not merge. */
int64_t merge_newest(const struct source *source);
