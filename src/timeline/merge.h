/* SPDX-License-Identifier: MIT */
#pragma once

/* Merges several sources into one, by time. */

#include "event/source.h"

/* Merges N ordered sources whose times have the same clock. Takes ownership of the sources; copies the array. Items
 * with equal times: the item of the earlier input goes first. An input that fails counts as ended; its error is
 * returned after all items of the others. Nothing is read before the first run is requested. With N = 1, returns the
 * source itself. -ENOMEM: the inputs are also freed. */
int merge_open(struct source **inputs, unsigned n, struct source **ret_source);
/* The latest time that an input has returned so far; INT64_MIN: none, or SOURCE does not merge. */
int64_t merge_newest(const struct source *source);
