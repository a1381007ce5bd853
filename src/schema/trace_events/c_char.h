/* SPDX-License-Identifier: MIT */
#pragma once

/* Character classes of C source, independent of the locale. */

#include <stdbool.h>
#include <stdint.h>

enum c_char_kind {
    C_CHAR_BLANK = 1 << 0, /* within a line */
    C_CHAR_WORD = 1 << 1,  /* of names and numbers */
    C_CHAR_PLAIN = 1 << 2, /* in a literal stands for itself */
};

extern const uint8_t c_char_kinds[256];

static inline bool c_char_is_blank(char c)
{
    return c_char_kinds[(uint8_t)c] & C_CHAR_BLANK;
}

static inline bool c_char_is_word(char c)
{
    return c_char_kinds[(uint8_t)c] & C_CHAR_WORD;
}

static inline bool c_char_is_plain(char c)
{
    return c_char_kinds[(uint8_t)c] & C_CHAR_PLAIN;
}
