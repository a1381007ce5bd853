/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts in UTF-16, UTF-32 and ISO 8859-1. */

#include "base/text.h"

/* How a text stores its characters. */
enum encoding {
    ENCODING_UTF_8,
    ENCODING_UTF_16_LE,
    ENCODING_UTF_16_BE,
    ENCODING_UTF_32_LE,
    ENCODING_UTF_32_BE,
    ENCODING_LATIN_1,
};

/* The number of bytes of S, N bytes, before its first NUL character, or else of all whole characters. */
size_t encoded_length(enum encoding encoding, const char *s, size_t n);
/* Puts LEN bytes as UTF-8. Invalid characters become U+FFFD, except in a text that is UTF-8 already. */
void encoded_put(enum encoding encoding, const char *s, size_t len, struct text *text);
/* The number of bytes of the smallest character. */
unsigned encoding_unit(enum encoding encoding);
