/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of a compiled rule: xentrace_rule.c makes it, xentrace_format_text.c runs it. */

#include "print/xentrace_format_text.h"

/* Python has no limit; a file of formats needs none of this size. */
#define WIDTH_MAX 1000000
#define PRECISION_MAX 1000
/* A 64-bit number with sign and prefix (octal: 22 digits), a double with PRECISION_MAX digits. */
#define BODY_MAX (PRECISION_MAX + 400)
/* A line that is surely no longer than this is written without looking for room in between. */
#define FAST_MAX 2048
/* Literals are copied in pieces of this size; what is copied too much is written over. */
#define COPY 16

extern const char *const xentrace_value_names[VALUES];

/* What a rule consists of. */
enum xentrace_op_kind {
    OP_LITERAL,
    OP_DEC,    /* %Nd, %0Nd of what is not negative (seconds: as their whole number) */
    OP_SDEC,   /* the same of reltsc */
    OP_HEX,    /* %Nx, %0Nx of what is never negative and no float */
    OP_NUMBER, /* any other number, slowly */
    OP_STRING, /* %s, %r, %a of a value */
    OP_CHAR,   /* %c */
    OP_DICT,   /* %s of the dictionary itself */
    OP_STAR,   /* a width or precision of *: a value that must not be too large */
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
    const char *s; /* a literal, padded to a multiple of COPY; what the error is */
};

struct xentrace_rule {
    const char *format;
    size_t len;
    bool seconds;
    bool checks;   /* OP_CHAR or OP_STAR, whose values can be out of range */
    uint8_t error; /* 0, or the op_kind that it always comes to */
    uint32_t max;  /* bytes of the longest line, when fast */
    bool fast;     /* only literals, OP_DEC, OP_SDEC and OP_HEX */
    unsigned n_ops;
    const struct xentrace_op *ops;
};
