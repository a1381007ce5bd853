/* SPDX-License-Identifier: MIT */
#pragma once

/* The commands of the human monitor. */

#include <stdbool.h>

#include "monitor/buffer.h"

/* Executes LINE, which is modified. Appends the output, lines ending in '\n', to OUT. Returns true if
 * the session must end. */
bool hmp_command(char *line, const char *name, struct buffer *out);

/* Appends TEXT to OUT with lines ending in "\r\n", as a terminal requires. */
void hmp_put_lines(struct buffer *out, const struct buffer *text);
