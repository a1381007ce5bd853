/* SPDX-License-Identifier: MIT */
#pragma once

/* C string literals and format macros side by side, as a format is written:
 *
 *     "addr 0x%" PRIx64 " size %u"
 *
 * and what they mean to a compiler. Macros mean what they mean on 64-bit Linux with glibc. */

#include <stdbool.h>
#include <stddef.h>

struct c_literal {
    size_t len;      /* bytes of the meaning */
    size_t n_pieces; /* strings and macros */
    /* The first macro of a name that is not known here, NULL: none. The meaning is then not
     * complete. */
    const char *unknown_macro;
    size_t unknown_macro_len;
};

/* Reads pieces from *P on, up to END or the first comma outside the quotes, into BUF, which has room
 * for END - *P + 1 bytes and is ended by a NUL; no meaning is longer than its source. Leaves *P
 * behind the last piece. NULL, or what is wrong, with *P at the place. */
const char *c_literal_parse(const char **p, const char *end, char *buf,
                            struct c_literal *ret_literal);

/* The same pieces, S up to behind the last one, for a compiler: one blank between any two, as "a"PRIx64
 * is something else in C++ (a literal with a suffix), every piece itself byte for byte. Into BUF, which
 * has room for 2 * LEN bytes; returns the length, no NUL is put. Only of what c_literal_parse() took. */
size_t c_literal_normalise(const char *s, size_t len, char *buf);

/* Where in the source at S, which was taken too, byte OFFSET of its meaning comes from; the end of the
 * last piece for the end of the meaning. */
const char *c_literal_place(const char *s, const char *end, size_t offset);

/* The macro of <inttypes.h> that was meant by the word of LEN bytes at S into BUF, which has room for
 * C_MACRO_MAX bytes; false: none is near. */
#define C_MACRO_MAX 16
bool c_literal_near_macro(const char *s, size_t len, char *buf);
