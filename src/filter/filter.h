/* SPDX-License-Identifier: MIT */
#pragma once

/* Conditions on the arguments of events. A condition is compiled from text to a program. A traced program runs it on
 * the events that it emits (runtime/control/filter_set.h), an analysis on the events that it reads
 * (analysis/condition.h).
 *
 *     lex.c      text to tokens
 *     parse.c    tokens to nodes in postfix order, by C's precedence, without knowledge of events
 *     compile.c  nodes and the fields of an event to a program
 *     verify.c   checks that a program accesses only what it may
 *     run.c      runs it
 *
 * libstrata links this layer. It needs only libc, and no header of base/ that has code in another file.
 *
 * strata-filter(5) describes the language. Integers have 64 bits. They are unsigned if they come from an argument of 64
 * unsigned bits, a pointer, or such values; otherwise they are signed. Arithmetic is as in C with an int of 64 bits,
 * except that a negative number is less than an unsigned one, and that every operation has a defined result. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strata/trace.h"

#define FILTER_TEXT_MAX 4096  /* bytes of a condition */
#define FILTER_STACK_MAX 32   /* values that wait for an operator */
#define FILTER_NESTING_MAX 32 /* parentheses and unary operators within each other */

struct filter_error {
    size_t column; /* bytes into the condition, from 1 */
    char text[200];
};

enum filter_operator {
    /* Binary operators in the order of precedence, the highest first. */
    OPERATOR_MULTIPLY,
    OPERATOR_DIVIDE,
    OPERATOR_MODULO,
    OPERATOR_ADD,
    OPERATOR_SUBTRACT,
    OPERATOR_SHIFT_LEFT,
    OPERATOR_SHIFT_RIGHT,
    OPERATOR_LESS, /* the relations are in the order of the instructions */
    OPERATOR_LESS_EQUAL,
    OPERATOR_GREATER,
    OPERATOR_GREATER_EQUAL,
    OPERATOR_EQUAL,
    OPERATOR_NOT_EQUAL,
    OPERATOR_BIT_AND,
    OPERATOR_BIT_XOR,
    OPERATOR_BIT_OR,
    OPERATOR_AND,
    OPERATOR_OR,
    /* Unary. */
    OPERATOR_NEGATE,
    OPERATOR_PLUS,
    OPERATOR_NOT,
    OPERATOR_BIT_NOT,
};

enum filter_node_kind {
    NODE_NUMBER,
    NODE_NAME,   /* name of an argument, or thread.name, thread.id */
    NODE_TEXT,   /* in quotes */
    NODE_UNARY,  /* operator on the value before */
    NODE_BRANCH, /* the left side of && or || ends here, and the right one begins */
    NODE_BINARY, /* operator on the two values before */
};

/* A node of the condition, in postfix order: operands first. */
struct filter_node {
    uint8_t kind;
    uint8_t op;
    bool is_unsigned; /* the number is unsigned */
    uint16_t column;
    uint16_t start; /* of a name: offset in the text; of a text: offset in the patterns */
    uint16_t len;   /* of a name */
    uint64_t value;
};

struct filter_condition {
    struct filter_error warning; /* column 0: none */
    unsigned n_nodes;
    const char *text; /* a copy */
    /* The texts in quotes, each ended by a NUL; a character after `\` has no special meaning. */
    const char *patterns;
    struct filter_node nodes[];
};

/* Parses a condition. The caller frees *RET. -EINVAL with ERROR; -ENOMEM. */
int filter_parse(const char *text, struct filter_condition **ret, struct filter_error *error);

/* ---- Programs ----
 *
 *      offset  size
 *           0     4  bytes of the whole
 *           4     2  C, constants
 *           6     2  I, instructions
 *           8     1  fields that it uses are below this number
 *           9     1  limit of values on its stack
 *          10     6  0
 *          16   8*C  constants
 *              4*I  instructions: 1 byte operation, 1 byte A, 2 bytes B
 *                   patterns, each ended by a NUL
 *                   0 up to a multiple of 8
 *
 * A program runs on a stack machine. It begins with an empty stack, jumps only forward, and ends with RETURN and one
 * value. The result is true if the value is not 0. Programs with the same bytes have the same effect. */

struct filter_instruction {
    uint8_t operation;
    uint8_t a;
    uint16_t b;
};

struct filter_program {
    uint32_t size;
    uint16_t n_constants;
    uint16_t n_instructions;
    uint8_t n_fields;
    uint8_t depth;
    uint8_t zero[6];
    uint64_t constants[];
};

/* The binary operations on l and r, each of 64 bits. A relation has an operation for each kind of operands: UU US SU SS
 * for unsigned and signed. */
#define FILTER_RELATION(X, NAME, op, us, su) \
    X(NAME##_UU, l op r)                     \
    X(NAME##_US, us)                         \
    X(NAME##_SU, su)                         \
    X(NAME##_SS, (int64_t)l op(int64_t) r)
#define FILTER_BINARY(X)                                                                       \
    X(MULTIPLY, l *r)                                                                          \
    X(ADD, l + r)                                                                              \
    X(SUBTRACT, l - r)                                                                         \
    X(SHIFT_LEFT, r < 64 ? l << r : 0)                                                         \
    X(SHIFT_RIGHT_U, r < 64 ? l >> r : 0)                                                      \
    X(SHIFT_RIGHT_S, (int64_t)l >> (r < 64 ? r : 63))                                          \
    X(BIT_AND, l &r)                                                                           \
    X(BIT_XOR, l ^ r)                                                                          \
    X(BIT_OR, l | r)                                                                           \
    FILTER_RELATION(X, LESS, <, (int64_t)r >= 0 && l < r, (int64_t)l < 0 || l < r)             \
    FILTER_RELATION(X, LESS_EQUAL, <=, (int64_t)r >= 0 && l <= r, (int64_t)l < 0 || l <= r)    \
    FILTER_RELATION(X, GREATER, >, (int64_t)r < 0 || l > r, (int64_t)l >= 0 && l > r)          \
    FILTER_RELATION(X, GREATER_EQUAL, >=, (int64_t)r < 0 || l >= r, (int64_t)l >= 0 && l >= r) \
    FILTER_RELATION(X, EQUAL, ==, (int64_t)r >= 0 && l == r, (int64_t)l >= 0 && l == r)        \
    FILTER_RELATION(X, NOT_EQUAL, !=, (int64_t)r < 0 || l != r, (int64_t)l < 0 || l != r)

#define FILTER_UNARY(X) \
    X(NEGATE, 0 - l)    \
    X(NOT, !l)          \
    X(BIT_NOT, ~l)      \
    X(TRUTH, l != 0)

enum filter_operation {
    OPERATION_RETURN,
    OPERATION_CONSTANT,     /* push constant B */
    OPERATION_LOAD_U,       /* push field A, of which the lower 64 - B bits are used */
    OPERATION_LOAD_S,       /* the same, sign-extended */
    OPERATION_THREAD,       /* push the thread's number */
    OPERATION_MATCH,        /* push whether the pattern at B matches the string of field A */
    OPERATION_MATCH_THREAD, /* … the thread's name */
    OPERATION_SAME,         /* push whether the strings of fields A and B are the same */
    OPERATION_AND,          /* if 0: keep it and continue at B; otherwise pop it */
    OPERATION_OR,           /* if not 0: replace it by 1 and continue at B; otherwise pop it */
    /* If the divisor is 0, the condition does not hold. */
    OPERATION_DIVIDE_U,
    OPERATION_DIVIDE_S,
    OPERATION_MODULO_U,
    OPERATION_MODULO_S,
#define X(name, value) OPERATION_##name,
    FILTER_UNARY(X) FILTER_BINARY(X)
#undef X
        OPERATIONS,
};

static inline const struct filter_instruction *
filter_instructions(const struct filter_program *program)
{
    return (const struct filter_instruction *)(program->constants + program->n_constants);
}

static inline const char *filter_patterns(const struct filter_program *program)
{
    return (const char *)(filter_instructions(program) + program->n_instructions);
}

/* Compiles CONDITION to a program for events with these fields. Fills *WARNING if a comparison always
 * has the same result (column 0: none does). -EINVAL with ERROR; -ENOMEM. Free it with free(). */
int filter_compile(const struct filter_condition *condition, const struct strata_field *fields,
                   unsigned n_fields, struct filter_program **ret, struct filter_error *error,
                   struct filter_error *warning);

/* True if the SIZE bytes are a program that may run on the arguments of events with these fields. */
bool filter_verify(const struct filter_program *program, size_t size,
                   const struct strata_field *fields, unsigned n_fields);

/* True if the condition holds. Of a string at most STRATA_STRING_MAX bytes are read. THREAD_NUMBER returns the
 * number of the calling thread; NULL: the condition does not name thread.id. Any thread, signal handlers too, if
 * THREAD_NUMBER may; only reading the thread's name makes a system call. */
bool filter_run(const struct filter_program *program, const uint64_t *values,
                uint32_t (*thread_number)(void));

/* Fills ERROR and returns -EINVAL. */
int filter_fail(struct filter_error *error, size_t column, const char *format, ...)
    STRATA_PRINTF(3, 4);
