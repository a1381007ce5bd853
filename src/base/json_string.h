/* SPDX-License-Identifier: MIT */
#pragma once

/* Strings and floats of JSON (RFC 8259). */

#include "base/text.h"

/* Puts LEN bytes as a string in quotes. JSON is UTF-8: each byte that is not part of a well-formed
 * sequence becomes U+FFFD. Control characters of a terminal (base/printable.h) are written as \uNNNN. */
void json_put_string(struct text *text, const char *s, size_t len);
void json_put_str(struct text *text, const char *s);

/* The bytes at the start of S that surely need no escape in a JSON string: plain ASCII. */
size_t json_plain_length(const char *s, size_t len);

/* Puts the double with these BITS as a number. "Infinity", "-Infinity" and "NaN" are strings, because JSON has no such
 * numbers. */
void json_put_double(struct text *text, uint64_t bits);
