/* SPDX-License-Identifier: MIT */
#pragma once

/* A parsed printf conversion, for compiling formats, for parsing log lines back into values, and for the kernel's print
 * formats. */

#include <stdbool.h>
#include <stdint.h>

enum spec_length {
    LENGTH_INT,   /* none */
    LENGTH_CHAR,  /* hh */
    LENGTH_SHORT, /* h */
    LENGTH_LONG,  /* l, ll, j, z, t, q, L: 64 bits */
};

struct spec {
    bool left, plus, space, alternate, zero; /* - + space # 0 */
    bool width_star, precision_star;         /* from the arguments */
    bool has_precision;
    uint16_t width;
    uint16_t precision;
    enum spec_length length;
    char conversion; /* d i u o x X c s p e f g … ; '%' for "%%" */
};

/* Parses the conversion at P, which points at the '%'. Returns the position after it. NULL: the text ends, or the letter is
 * unknown. */
const char *spec_parse(const char *p, struct spec *ret_spec);

/* Size of the argument in bytes: 1, 2, 4 or 8. Strings and pointers: 8. */
unsigned spec_size(const struct spec *spec);
