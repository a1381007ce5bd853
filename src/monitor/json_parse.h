/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "monitor/json_tokens.h"

/* The value that a message's tokens make; NULL: they make none, and WHAT tells why. Integers that do not
 * fit into 64 bits with a sign become reals. */
json_t *json_parse(const struct tokens *tokens, struct buffer *what);
