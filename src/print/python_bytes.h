/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes bytes as Python 3 does: b'text\x00', b"it's". */

#include <stdint.h>

#include "base/text.h"

/* Writes at P, where 4 * LEN + 16 bytes must be free. Returns the end. */
char *python_bytes(char *p, const uint8_t *s, uint32_t len);

/* The same for any length. */
void python_bytes_put(struct text *text, const uint8_t *s, size_t len);
