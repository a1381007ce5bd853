/* SPDX-License-Identifier: MIT */
#pragma once

/* UTF-8, byte by byte. */

#include <stddef.h>
#include <stdint.h>

/* The bytes of the character at P, of which there are LEFT more than 0; 0: it is not one (cut off,
 * longer than need be, a surrogate, beyond U+10FFFF). */
size_t utf8_decode(const char *p, size_t left, uint32_t *ret_character);

/* The bytes of CHARACTER, up to 4, at BUF; their number. */
size_t utf8_encode(uint32_t character, char *buf);

/* The first byte of P that belongs to no character, or NULL. */
const char *utf8_find_wrong(const char *p, size_t len);

struct text;

/* Writes LEN bytes at S; for each that belongs to no character, U+FFFD. */
void utf8_put(struct text *text, const char *s, size_t len);
