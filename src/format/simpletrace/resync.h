/* SPDX-License-Identifier: MIT */
#pragma once

/* Continues after damage: finds the next place in a simpletrace file where a record could begin. Only for the
 * reader. */

#include "base/input.h"
#include "format/simpletrace/ids.h"

/* Skips at least one byte of IN, up to a place where a record of a known event with the right size could begin, at most
 * an hour before or after LAST (ns; TIME_UNKNOWN: any time). Adds the skipped bytes to *SKIPPED, even if nothing was
 * found. Returns 1: found; 0: the end of the file; negative errno with ERROR. */
int simpletrace_resync(struct input *in, const struct simpletrace_ids *ids, int64_t last,
                       uint64_t *skipped, struct error *error);
