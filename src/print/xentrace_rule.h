/* SPDX-License-Identifier: MIT */
#pragma once

/* Compiled rules: xentrace_rule.c makes them, xentrace_format_text.c executes them. */

#include "print/xentrace_format_text.h"

/* Python has no limit, but no file of formats needs more. */
#define WIDTH_MAX 1000000
#define PRECISION_MAX 1000
/* A 64-bit number with sign and prefix (octal: 22 digits), a double with PRECISION_MAX digits. */
#define BODY_MAX (PRECISION_MAX + 400)
/* If a line cannot be longer than this, it is written without checking for room in between. */
#define FAST_MAX 2048
/* Literals are copied in pieces of this size. What follows overwrites the excess. */
#define COPY 16

extern const char *const xentrace_value_names[VALUES];

/* The operations of a rule. */
enum xentrace_op_kind {
    OP_LITERAL,
    OP_DEC,    /* %Nd and %0Nd of a value that is not negative (with seconds: its integral part) */
    OP_SDEC,   /* the same for reltsc */
    OP_HEX,    /* %Nx and %0Nx of a value that is never negative and not a float */
    OP_NUMBER, /* any other number; slow */
    OP_STRING, /* %s, %r, %a of a value */
    OP_CHAR,   /* %c */
    OP_DICT,   /* %s of the dictionary itself */
    OP_STAR,   /* a width or precision given as *, whose value must not be too large */
    OP_TYPE_ERROR,
    OP_OTHER_ERROR,
};

struct xentrace_op {
    uint8_t kind;
    uint8_t value; /* enum xentrace_value */
    char conversion;
    char fill; /* ' ' or '0' */
    bool left, plus, blank, alternate;
    bool is_float; /* the value is */
    int precision; /* -1: none */
    uint32_t width;
    uint32_t len;  /* of a literal */
    const char *s; /* the literal, padded to a multiple of COPY, or the error */
};

struct xentrace_rule {
    const char *format;
    size_t len;
    bool seconds;
    bool checks;   /* has OP_CHAR or OP_STAR, whose values can be out of range */
    uint8_t error; /* 0, or the op_kind of the error in which it always ends */
    uint32_t max;  /* with `fast`: bytes of the longest line */
    bool fast;     /* only literals, OP_DEC, OP_SDEC and OP_HEX */
    unsigned n_ops;
    const struct xentrace_op *ops;
};
