/* SPDX-License-Identifier: MIT */
#pragma once

/* QEMU's dialect of JSON, which jansson's own parser cannot read: strings in single quotes, messages one after the other
 * without anything between them, and error replies that name what is wrong in QEMU's words. The values are jansson's. */

#include <jansson.h>

#include "monitor/json_tokens.h"

/* The value that a message's tokens make; NULL: they make none, and WHAT tells why. Integers that do not
 * fit into 64 bits with a sign become reals. */
json_t *json_parse(const struct tokens *tokens, struct buffer *what);
