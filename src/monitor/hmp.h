/* SPDX-License-Identifier: MIT */
#pragma once

/* The commands of the human monitor. */

#include <stdbool.h>

#include "monitor/buffer.h"

/* Does what LINE says, which it cuts into pieces. What there is to say goes behind OUT, lines ending in
 * '\n'. True: the session is to end. */
bool hmp_command(char *line, const char *name, struct buffer *out);

/* TEXT behind OUT as a terminal wants it, lines ending in "\r\n". */
void hmp_put_lines(struct buffer *out, const struct buffer *text);
