/* SPDX-License-Identifier: MIT */
#pragma once

/* The output of event/program.c and event/program_fields.c, and input of event/program_run.c: operations, each up to
 * TEXT_UNIT bytes of literal text and the conversion after it, if any.
 *
 * Plain conversions ("%d", "0x%x", "%s") have their own operations; conversions with flags, widths or precisions share
 * one that interprets the spec.
 *
 * Room is reserved once per segment: a run of operations whose output is bounded and fits in
 * TEXT_ROOM_MAX. A string ends a segment, because its length is known only from the event. */

#include "base/arena.h"
#include "base/text.h"
#include "event/class.h"
#include "event/spec.h"

enum op_kind {
    OP_LITERAL, /* no conversion */
    OP_UNSIGNED,
    OP_SIGNED,
    OP_HEX,
    OP_HEX_MINIMUM, /* zeros up to `minimum` digits: "%016x" */
    OP_POINTER,
    OP_STRING,
    OP_SPEC,
    OP_SPEC_STRING,
    OP_SPEC_FLOAT,
    OP_VALUE, /* as value_put(), or the value's name */
};

/* How an operation gets its value. */
enum op_load {
    /* Scalars at `offset`, which are there if the payload has `least_size` bytes. */
    LOAD_U64,
    LOAD_U64_SWAP,
    LOAD_U32,
    LOAD_I32,
    LOAD_U16,
    LOAD_U8,
    LOAD_BITS,   /* of a u32, without a sign */
    LOAD_SCALAR, /* any other */
    LOAD_VALUE,  /* by item_values() */
};

/* Load and kind as one, of what most operations are: one jump per operation. */
enum op_code {
    CODE_OTHER,
    CODE_LITERAL,
    CODE_UNSIGNED_U8,
    CODE_UNSIGNED_U16,
    CODE_UNSIGNED_U32,
    CODE_UNSIGNED_U64,
    CODE_UNSIGNED_U64_SWAP,
    CODE_UNSIGNED_BITS,
    CODE_SIGNED_I32,
    CODE_SIGNED_U64,
    CODE_HEX_U32,
    CODE_HEX_U64,
    CODE_HEX_MINIMUM_U64,
    CODE_NAMED,
};

/* 32 bytes, so that the operations of the classes that occur stay in the nearest cache. */
struct op {
    uint8_t code; /* set by program_finish() */
    uint8_t kind;
    uint8_t load;
    uint8_t minimum; /* LOAD_BITS: the lowest bit, instead */
    uint8_t
        unused_bits; /* of 64, above the size that the conversion reads; LOAD_BITS: above the bits */
    uint8_t literal_len;
    uint8_t n_stars; /* fields before `field` that give width and precision */
    uint8_t field;   /* its number */
    uint8_t spec;    /* of text_program's; OP_VALUE: of its names */
    uint16_t room;   /* not 0: a segment of this many bytes begins here */
    uint32_t offset;
    char literal[TEXT_UNIT];
};

/* What CODE_NAMED puts for small values of a field: as it is printed, so that it is copied at once. */
#define OP_NAME_MAX 31
#define OP_NAMES_MAX 256
struct op_name {
    uint8_t len; /* 0: it has none, or a longer one */
    char text[OP_NAME_MAX];
};

struct op_names {
    const struct op_name *names;
    uint32_t n;
};

struct text_program {
    const struct field *fields; /* of the class */
    const struct spec *specs;
    const struct op_names *names;
    uint32_t n_ops;
    uint32_t least_size; /* bytes of payload with all scalars that are loaded from it */
    bool needs_values;   /* some operation needs the values of all fields decoded first */
    bool needs_all;      /* an event that lacks the value of a field has another text */
    struct op ops[];
};

struct program_compiler {
    struct arena *arena;
    const struct event_class *class;
    struct op *ops; /* freed by program_finish() */
    unsigned n_ops;
    unsigned capacity;
    struct spec *specs; /* likewise */
    unsigned n_specs;
    struct op_names *names; /* likewise */
    unsigned n_names;
    unsigned field;          /* of the next conversion */
    char literal[TEXT_UNIT]; /* before it, so far */
    uint8_t literal_len;
};

/* Adds a conversion of field number FIELD by OP, after the literal text so far. -ENOMEM. */
int program_add_field(struct program_compiler *c, unsigned field, struct op op);
/* Adds literal text as it is. -ENOMEM. */
int program_add_literal(struct program_compiler *c, const char *s, size_t len);
/* Adds literal text of a trace by text_put_safe(). -ENOMEM. */
int program_add_text(struct program_compiler *c, const char *s, size_t len);
/* Makes the program of the added parts, unless R is negative. Returns R, or -ENOMEM. */
int program_finish(struct program_compiler *c, int r, bool needs_all,
                   const struct text_program **ret_program);
