/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints numbers over time as one line of text: "▁▂▅█". */

#include "base/text.h"

/* Puts a character for each of N values, with heights relative to the largest value. 0 is a blank. LOST (may be NULL)
 * marks values that are unknown or incomplete: "·". printable_put() converts it to ASCII. */
void sparkline_put(struct text *text, const uint64_t *values, const bool *lost, unsigned n);
