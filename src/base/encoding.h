/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts in UTF-16, UTF-32 and ISO 8859-1. */

#include "base/text.h"

/* How characters of a text are stored. */
enum encoding {
    ENCODING_UTF_8,
    ENCODING_UTF_16_LE,
    ENCODING_UTF_16_BE,
    ENCODING_UTF_32_LE,
    ENCODING_UTF_32_BE,
    ENCODING_LATIN_1,
};

/* The bytes of S, of N, before its first NUL character, or all whole characters of them. */
size_t encoded_length(enum encoding encoding, const char *s, size_t n);
/* Puts LEN bytes as UTF-8; what is no character becomes U+FFFD, but in what is UTF-8 already. */
void encoded_put(enum encoding encoding, const char *s, size_t len, struct text *text);
/* How many bytes the smallest character takes. */
unsigned encoding_unit(enum encoding encoding);
