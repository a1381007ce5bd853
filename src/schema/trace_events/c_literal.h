/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses adjacent C string literals and format macros, the form of a format:
 *
 *     "addr 0x%" PRIx64 " size %u"
 *
 * and determines their meaning to a compiler. Macros have their values on 64-bit Linux with glibc. */

#include <stdbool.h>
#include <stddef.h>

struct c_literal {
    size_t len;      /* bytes of the meaning */
    size_t n_pieces; /* strings and macros */
    /* The first macro with an unknown name; NULL: none. If there is one, the meaning is incomplete. */
    const char *unknown_macro;
    size_t unknown_macro_len;
};

/* Parses pieces from *P up to END or the first comma outside quotes into BUF, and appends a NUL. BUF must have room for
 * END - *P + 1 bytes, because no meaning is longer than its source. Advances *P past the last piece. Returns NULL; on
 * an error, says what is wrong, with *P at the position. */
const char *c_literal_parse(const char **p, const char *end, char *buf,
                            struct c_literal *ret_literal);

/* Writes the pieces of S, which c_literal_parse() has accepted, for a compiler: separated by one blank,
 * because "a"PRIx64 is a literal with a suffix in C++; each piece is unchanged. BUF has room for 2 *
 * LEN bytes. Returns the length; no NUL is written. */
size_t c_literal_normalise(const char *s, size_t len, char *buf);

/* The position in the source S, which c_literal_parse() has accepted, of byte OFFSET of its meaning;
 * the end of the last piece for the end of the meaning. */
const char *c_literal_place(const char *s, const char *end, size_t offset);

/* Suggests a macro of <inttypes.h> for the LEN bytes at S, in BUF with room for C_MACRO_MAX bytes. Returns false if
 * none is similar. */
#define C_MACRO_MAX 16
bool c_literal_near_macro(const char *s, size_t len, char *buf);
