/* SPDX-License-Identifier: MIT */
#pragma once

/* Lines below a table, broken at spaces where the terminal's width ends. */

#include "base/text.h"

/* Puts LINES, each ended by a newline, in OUT, and empties it. A line with more than WIDTH characters is broken; what follows is
 * indented: below the text after a number, an em or a dash, and otherwise two more than the line. Commands, as "  strata ...", stay whole,
 * so that they can be copied. WIDTH 0: all lines stay as they are. */
void wrap_lines(struct text *out, struct text *lines, unsigned width);
