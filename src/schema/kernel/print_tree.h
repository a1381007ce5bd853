/* SPDX-License-Identifier: MIT */
#pragma once

/* A print format as a tree: built by schema/kernel/print_parse.c, compiled by expr.c, string_arg.c and
 * text.c. Trees live in the parser's arena. */

#include <stddef.h>
#include <stdint.h>

struct kernel_field;

/* The numbers are the same as in messages of libtraceevent: "ARG TYPE NOT FIELD BUT 7". */
enum print_kind {
    PRINT_NOTHING = 0,
    PRINT_ATOM = 1,            /* text: a number, a string, words such as "unsigned int" */
    PRINT_FIELD = 2,           /* REC->field */
    PRINT_FLAGS = 3,           /* __print_flags(a, "text", names) */
    PRINT_SYMBOLIC = 4,        /* __print_symbolic(a, names) */
    PRINT_HEX = 5,             /* __print_hex(a, b) */
    PRINT_ARRAY = 6,           /* __print_array(a, b, c) */
    PRINT_CAST = 7,            /* (text)a */
    PRINT_STRING = 8,          /* __get_str(field) */
    PRINT_DYNAMIC_ARRAY = 10,  /* __get_dynamic_array(field) */
    PRINT_OPERATION = 11,      /* a op b; a NULL: of one operand; a ? b : c; a[b] */
    PRINT_BITMASK = 13,        /* __get_bitmask(field) */
    PRINT_DYNAMIC_LENGTH = 14, /* __get_dynamic_array_len(field) */
    PRINT_HEX_STRING = 15,     /* __print_hex_str(a, b) */
    PRINT_CPUMASK = 16,        /* __get_cpumask(field) */
};

enum kernel_operator {
    OPERATOR_NOT,    /* !b */
    OPERATOR_INVERT, /* ~b */
    OPERATOR_OR,
    OPERATOR_OR_BITS,
    OPERATOR_AND,
    OPERATOR_AND_BITS,
    OPERATOR_LESS,
    OPERATOR_LESS_EQUAL,
    OPERATOR_SHIFT_LEFT,
    OPERATOR_MORE,
    OPERATOR_MORE_EQUAL,
    OPERATOR_SHIFT_RIGHT,
    OPERATOR_EQUAL,
    OPERATOR_UNEQUAL,
    OPERATOR_MINUS,
    OPERATOR_PLUS,
    OPERATOR_DIVIDE,
    OPERATOR_MODULO,
    OPERATOR_TIMES,
    OPERATOR_XOR,
    OPERATOR_CONDITION,
    OPERATOR_INDEX,
};

struct print_node;

/* { value, "name" } */
struct print_name {
    const struct print_name *next;
    const struct print_node *value, *name; /* constants */
};

struct print_node {
    const struct print_node *next; /* the next argument of the print format */
    uint8_t kind;
    uint8_t op; /* enum kernel_operator */
    const char *text;
    const struct kernel_field *field;
    const struct print_node *a, *b, *c;
    const struct print_name *names;
};

/* A print format. */
struct print_tree {
    const char *format; /* with its escapes unchanged */
    const struct print_node *arguments;
};
