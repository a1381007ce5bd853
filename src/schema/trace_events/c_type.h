/* SPDX-License-Identifier: MIT */
#pragma once

/* The C types that an event's argument may have.
 *
 * Sizes are as on a 64-bit Linux host (LP64), on which the traces are recorded. The file formats store every scalar as
 * 64 bits anyway. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct c_type {
    uint8_t size; /* bytes: 1, 2, 4 or 8; 0: void */
    bool is_signed;
    bool is_bool;
    bool is_pointer; /* has a star; `size` is then 8 */
    bool is_string;  /* QEMU's backends store the characters; see below */
    bool unknown;    /* contains a word that is not a C type; assumed to be unsigned, 8 bytes */
    /* known words that are not a type of an argument: "unsigned size_t", "void" */
    bool invalid;
};

/* Parses the LEN bytes at S. `is_string` follows exactly the code of the simple backend, because it determines the
 * file's layout: the text begins with "const char *" or "char *" (the blank before the star may be missing) and has one
 * star. So `const  char *`, with two blanks, is a pointer. */
struct c_type c_type_parse(const char *s, size_t len);

/* Writes S with single blanks between words and before stars ("const char *", "void **") to BUF, which
 * has room for 2 * LEN + 1 bytes. */
void c_type_normalise(const char *s, size_t len, char *buf);

/* True if the LEN bytes at S are a word of which types consist. */
bool c_type_is_word(const char *s, size_t len);

/* Moves *P over blanks, and returns the length of the next word or star of a type; 0 at the end. */
size_t c_type_token(const char **p, const char *end);
