/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers over time as one line of text: "▁▂▅█". */

#include "base/text.h"

/* Puts a character for each of N values, whose heights are relative to the largest one. 0 is a blank; LOST, if it is
 * not NULL, says which values are not known, or not known to be whole: "·".
 * printable_put() makes ASCII of it. */
void sparkline_put(struct text *text, const uint64_t *values, const bool *lost, unsigned n);
