/* SPDX-License-Identifier: MIT */
#pragma once

/* UTF-8, byte by byte. */

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at P; LEFT bytes, not 0, are left. Returns its length; 0: invalid (cut off, overlong, a
 * surrogate, beyond U+10FFFF). */
size_t utf8_decode(const char *p, size_t left, uint32_t *ret_character);

/* Encodes CHARACTER, up to 4 bytes, at BUF; returns the length. */
size_t utf8_encode(uint32_t character, char *buf);

/* The first byte of P that is not valid UTF-8, or NULL. */
const char *utf8_find_wrong(const char *p, size_t len);

struct text;

/* Puts LEN bytes of S; each invalid byte becomes U+FFFD. */
void utf8_put(struct text *text, const char *s, size_t len);
