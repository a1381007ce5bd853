/* SPDX-License-Identifier: MIT */
#pragma once

/* Continuing after damage: finds the next place of a simpletrace file where a record could begin. For the reader
 * alone. */

#include "base/input.h"
#include "format/simpletrace/ids.h"

/* Leaves out at least one byte of IN, and all before a place where a known event's record of the right size could
 * begin, not more than an hour before or after LAST (ns; TIME_UNKNOWN: at any time). Adds what it left out to
 * *SKIPPED (bytes), also when it found nothing. 1: found; 0: the end of the file; negative: ERROR says why. */
int simpletrace_resync(struct input *in, const struct simpletrace_ids *ids, int64_t last,
                       uint64_t *skipped, struct error *error);
