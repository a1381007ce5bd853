/* SPDX-License-Identifier: MIT */
#pragma once

/* One printf conversion, taken apart: the piece that compiling a format, turning a log line back
 * into values, and the kernel's print formats share. */

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
    bool width_star, precision_star;         /* taken from the arguments */
    bool has_precision;
    uint16_t width;
    uint16_t precision;
    enum spec_length length;
    char conversion; /* d i u o x X c s p e f g … ; '%' for "%%" */
};

/* Takes apart the conversion at P (which points at the '%'). Returns the character behind it, or
 * NULL when it is not one (the text ends, or an unknown letter). */
const char *spec_parse(const char *p, struct spec *ret_spec);

/* Bytes of the argument: 1, 2, 4 or 8. Strings and pointers: 8. */
unsigned spec_size(const struct spec *spec);
