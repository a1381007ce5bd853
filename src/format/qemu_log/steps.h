/* SPDX-License-Identifier: MIT */
#pragma once

/* A compiled pattern: written by format/qemu_log/pattern.c, executed by format/qemu_log/match.c. */

#include "format/qemu_log/match.h"

#include "event/spec.h"

enum step_kind {
    STEP_LITERAL,
    STEP_UNSIGNED, /* decimal, zeros up to `min_digits` */
    STEP_SIGNED,   /* "%d" */
    STEP_HEX,      /* zeros up to `min_digits` */
    STEP_HEX_UPPER,
    STEP_POINTER, /* "%p" */
    STEP_CHAR,
    STEP_LOOSE, /* any other number: read leniently, formatted again, compared */
    STEP_STRING,
};

#define NO_FIELD UINT16_MAX

struct step {
    uint8_t kind;
    uint8_t min_digits;
    uint8_t size;   /* bytes that the conversion reads */
    uint8_t c_size; /* bytes of the declared type */
    bool is_signed; /* the declared type */
    bool is_bool;
    bool shrinks; /* the next step may begin with a digit, so fewer digits may be right */
    bool plain;   /* STEP_STRING: no width, no precision */
    uint16_t field;
    uint16_t width_field; /* field that gets the value of "*", or NO_FIELD */
    uint16_t precision_field;
    uint32_t len; /* STEP_LITERAL */
    const char *literal;
    uint64_t head; /* the literal's first 8 bytes, and a mask of the bytes that count */
    uint64_t head_mask;
    struct spec spec;
};

struct log_pattern {
    uint16_t n_steps;
    uint16_t n_taken; /* the first fields, which the format shows */
    bool multiline;
    const struct field *fields;
    struct step steps[];
};
