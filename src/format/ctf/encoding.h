/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts in UTF-16 and UTF-32, which CTF 2 has. */

#include "base/text.h"
#include "format/ctf/type.h"

/* The bytes of S, of N, before its first NUL character, or all whole characters of them. */
size_t ctf_text_length(enum ctf_encoding encoding, const char *s, size_t n);
/* Puts LEN bytes as UTF-8; what is no character becomes U+FFFD. */
void ctf_text_convert(enum ctf_encoding encoding, const char *s, size_t len, struct text *text);
/* How many bytes the smallest character takes. */
unsigned ctf_text_unit(enum ctf_encoding encoding);

/* How the characters of TYPE, a string, array or sequence, are stored. */
static inline enum ctf_encoding ctf_encoding_of(const struct ctf_type *type)
{
    return type->element ? type->element->encoding : type->encoding;
}
