/* SPDX-License-Identifier: MIT */
#pragma once

/* QEMU's dialect of JSON, which jansson's parser cannot read: strings in single quotes, messages
 * without a separator, and error replies in QEMU's words. The values are jansson's. */

#include <jansson.h>

#include "monitor/json_tokens.h"

/* Returns the value of a message's tokens. NULL: they are not a value, and WHAT says why. Integers outside of int64_t
 * become reals. */
json_t *json_parse(const struct tokens *tokens, struct buffer *what);
