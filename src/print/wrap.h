/* SPDX-License-Identifier: MIT */
#pragma once

/* Breaks lines below a table at spaces, to fit the terminal's width. */

#include "base/text.h"

/* Puts LINES, each ended by a newline, to OUT, and empties LINES. A line with more than WIDTH characters is broken. Its
 * continuation is indented to the text after a number, an em or a dash, otherwise by two more than the line. Commands
 * ("  strata ...") are not broken, so that they can be copied. WIDTH 0: breaks nothing. */
void wrap_lines(struct text *out, struct text *lines, unsigned width);
