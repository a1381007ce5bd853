/* SPDX-License-Identifier: MIT */
#pragma once

/* Bytes as Python 3 writes them: b'text\x00', b"it's". */

#include <stdint.h>

#include "base/text.h"

/* Writes at P, where 4 * LEN + 16 bytes must be free, and returns the end. */
char *python_bytes(char *p, const uint8_t *s, uint32_t len);

/* Of any length. */
void python_bytes_put(struct text *text, const uint8_t *s, size_t len);
