/* SPDX-License-Identifier: MIT */
#pragma once

/* The output of schema/kernel/text.c and input of schema/kernel/text_run.c: operations. Each is a piece of literal text
 * and the conversion after it. */

#include "event/spec.h"
#include "schema/kernel/expr.h"

enum kernel_op_kind {
    KOP_LITERAL, /* no conversion */
    /* Plain numbers. */
    KOP_SIGNED,
    KOP_UNSIGNED,
    KOP_HEX,
    KOP_HEX_MINIMUM, /* zeros up to `minimum` digits */
    /* Conversions that write more than NUMBER_MAX bytes, or an unknown number of bytes. */
    KOP_SPEC,
    KOP_SYMBOL,        /* %ps: a name */
    KOP_SYMBOL_OFFSET, /* %pS: name+0xoffset */
    KOP_POINTER,       /* %p */
    KOP_STRING,        /* %s */
    KOP_MAC,
    KOP_IPV4,
    KOP_IPV6,
    KOP_SOCKADDR,
    KOP_UUID,
    KOP_BYTES, /* %*ph */
    KOP_RAW,   /* " name=value", for a format that could not be parsed */
};

/* A number with the name that __print_flags() or __print_symbolic() gives it. */
struct kernel_name {
    int64_t v;
    const char *s;
    uint32_t len;
};

enum kernel_string_arg_kind {
    STRING_ARG_NOTHING,
    STRING_ARG_LITERAL,
    STRING_ARG_ADDRESS, /* a number of `size` bytes that points to one of the kernel's strings */
    STRING_ARG_ARRAY,   /* a string in `size` bytes at `offset`; size 0: up to the event's end */
    STRING_ARG_DYNAMIC, /* a string to which the word of `dynamic` points */
    STRING_ARG_FLAGS,   /* names of the bits of a */
    STRING_ARG_NAMED,   /* the name of a */
    STRING_ARG_HEX,     /* a bytes as "0a 0b" */
    STRING_ARG_NUMBERS, /* a numbers of b bytes each, as "{0x1,0x2}" */
    STRING_ARG_BITMASK,
    STRING_ARG_CPUMASK,
    STRING_ARG_CHOICE, /* a ? yes : no */
    STRING_ARG_SLOT,
    STRING_ARG_SYMBOL, /* the function at address a */
};

/* An argument of "%s". */
struct kernel_string_arg {
    uint8_t kind;
    /* STRING_ARG_HEX and STRING_ARG_NUMBERS: by `dynamic`, not at `offset`. */
    bool is_dynamic;
    uint32_t offset; /* STRING_ARG_SLOT: number of the slot */
    uint32_t size;
    struct kernel_dynamic dynamic;
    const struct kernel_expr *a, *b;
    const struct kernel_string_arg *yes, *no;
    const char *s; /* the literal, or the separator of names or bytes */
    uint32_t len;
    uint32_t n_names;
    const struct kernel_name *names;
};

struct kernel_op {
    /* The members for plain numbers. */
    uint8_t kind;
    uint8_t minimum;
    uint8_t unused_bits; /* of 64 bits, the bits above the size of the conversion */
    /* Size of the number at `offset`, in bytes, if it is within the event's smallest size. */
    uint8_t direct;
    uint16_t literal_len;
    bool last;    /* leave out a line break at its end */
    bool capital; /* the capital letter of two: %pI4 and %pi4, %pUL and %pUl */
    uint32_t offset;
    uint32_t size; /* KOP_SOCKADDR, KOP_RAW: of the field */
    const char *literal;
    const struct kernel_expr *value;
    /* The members for other conversions. */
    bool flag_c, flag_p;            /* %pI6c, %pISpc */
    bool reverse;                   /* bytes from the last to the first */
    bool is_dynamic;                /* KOP_SOCKADDR, KOP_BYTES: by `dynamic` */
    char separator;                 /* KOP_MAC, KOP_BYTES; '\0': none */
    uint32_t field_flags;           /* KOP_RAW: enum kernel_field_flag */
    const struct kernel_expr *star; /* a width or precision from the arguments, or NULL */
    const struct kernel_string_arg *string_arg;
    struct kernel_dynamic dynamic;
    struct spec spec;
};

/* Literals are stored in multiples of TEXT_UNIT and copied so. */
#define KERNEL_LITERAL_MAX 512

#define KERNEL_SLOTS_MAX 32

/* How an argument of a packed trace_printk() is stored. */
enum kernel_slot_kind {
    SLOT_NUMBER,  /* `size` bytes, aligned to the size, at most to 4 */
    SLOT_STRING,  /* up to a NUL */
    SLOT_POINTER, /* a number, or text that the kernel has formatted: "%pI4" */
};

struct kernel_slot_layout {
    uint8_t kind;
    uint8_t size;
    bool is_signed;
};

struct kernel_text {
    struct kernel_events *events;
    uint32_t least_size; /* of an event for which all `direct` are valid */
    uint32_t n_ops;
    bool swap;
    bool is_packed_event; /* a trace_printk(): the fields below are the offsets of its parts */
    bool is_stack;        /* item_value() of fields 0 and 1: number of addresses; the addresses */
    uint8_t ip_size, format_size;
    uint32_t ip_offset, format_offset, buf_offset;
    /* By field: the argument that shows it by a name, or NULL. NULL: no field has one. */
    const struct kernel_string_arg **names;
    unsigned n_slots;
    struct kernel_slot_layout slots[KERNEL_SLOTS_MAX];
    struct kernel_op ops[];
};
