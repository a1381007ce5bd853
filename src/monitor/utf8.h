/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one character of TEXT, of N > 0 bytes. Returns how many bytes it has; *RET_CODE is -1 when they
 * are no character: then it is as many as belong together. */
size_t utf8_read(const char *text, size_t n, int32_t *ret_code);
/* Writes a character; returns how many bytes it has. */
size_t utf8_write(uint32_t code, char ret[4]);
/* Whether it is a character: neither a surrogate nor one of those that never will be one. */
bool utf8_is_character(uint32_t code);
